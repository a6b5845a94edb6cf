#include "logs/columns.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "logs/known_names.hpp"

namespace weir::inline v0_1::logs {
namespace {

// One field of RFC 4180 and the separator after it, taken from the front of `rest`. A field of doubled quotes
// is written to `out`, which moves on.
bool next_cell(std::string_view& rest, char separator, std::string_view& value, bool& more, char*& out) {
  if (!rest.starts_with('"')) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    value = rest.substr(0, end);
    more = end < rest.size();
    rest.remove_prefix(end + (more ? 1 : 0));
    return true;
  }
  char* const begin = out;
  bool closed = false;
  std::size_t at = 1;
  for (; at < rest.size() && !closed; ++at) {
    if (rest[at] == '"') {
      closed = at + 1 >= rest.size() || rest[at + 1] != '"';
      if (closed) continue;
      ++at;
    }
    *out++ = rest[at];
  }
  if (!closed) return false;
  more = at < rest.size();
  if (more && rest[at] != separator) return false;
  rest.remove_prefix(at + (more ? 1 : 0));
  value = {begin, static_cast<std::size_t>(out - begin)};
  return true;
}

// Nothing when a quote is not closed.
std::optional<std::vector<std::string>> cells_of(std::string_view line, char separator) {
  std::vector<char> scratch(line.size() + 1);
  char* out = scratch.data();
  std::vector<std::string> cells;
  for (bool more = true; more;) {
    std::string_view cell;
    if (!next_cell(line, separator, cell, more, out)) return std::nullopt;
    cells.emplace_back(cell);
  }
  return cells;
}

bool names_a_time(std::string_view line, char separator) {
  if (line.find(separator) == std::string_view::npos || line.find('[') != std::string_view::npos)
    return false;
  const std::vector<std::string> times = names_of("time");
  const auto cells = cells_of(line, separator);
  return cells &&
         std::find_first_of(cells->begin(), cells->end(), times.begin(), times.end()) != cells->end();
}

std::vector<std::string> header_of(std::string_view line, char separator) {
  auto cells = cells_of(line, separator);
  if (!cells) throw std::runtime_error("the header line has an unclosed quote");
  return std::move(*cells);
}

class Columns final : public Splitter {
 public:
  Columns(const std::vector<Slot>& slots, char separator, std::string_view header)
      : separator_(separator),
        columns_(header_of(header, separator)),
        places_(slots, columns_),
        found_(columns_.size()) {}

  std::string_view split(std::string_view line, std::span<std::string_view> values) override {
    if (scratch_.size() < line.size()) scratch_.resize(line.size());
    char* out = scratch_.data();
    for (std::size_t column = 0; column < places_.end(); ++column) {
      bool more = false;
      if (!next_cell(line, separator_, found_[column], more, out))
        return "a quote is not closed, or is followed by something other than a separator";
      if (!more && column + 1 < places_.end()) return "the line has too few columns";
    }
    places_.fill(found_, values);
    return "";
  }

  std::vector<LineField> fields(std::string_view line) override {
    std::vector<LineField> fields;
    std::vector<char> scratch(line.size() + 1);
    char* out = scratch.data();
    bool more = true;
    for (std::size_t i = 0; i < columns_.size() && more; ++i) {
      std::string_view cell;
      if (!next_cell(line, separator_, cell, more, out)) break;
      fields.push_back({columns_[i], std::string(cell)});
    }
    add_request_parts(fields);
    return fields;
  }

  bool header() const override { return true; }

 private:
  char separator_;
  std::vector<std::string> columns_;
  Places places_;
  std::vector<std::string_view> found_;
  std::vector<char> scratch_;  // this line's fields that had doubled quotes
};

}  // namespace

bool has_columns(std::string_view line, char separator) {
  return line.find(separator) != std::string_view::npos && cells_of(line, separator).has_value();
}
bool is_csv_header(std::string_view line) { return names_a_time(line, ','); }
bool is_tsv_header(std::string_view line) { return names_a_time(line, '\t'); }

std::unique_ptr<Splitter> make_csv(const std::vector<Slot>& slots, std::string_view line) {
  return std::make_unique<Columns>(slots, ',', line);
}
std::unique_ptr<Splitter> make_tsv(const std::vector<Slot>& slots, std::string_view line) {
  return std::make_unique<Columns>(slots, '\t', line);
}

}  // namespace weir::logs
