#include "steering/override.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "core/number.hpp"
#include "core/utc_text.hpp"
#include "limits/lists.hpp"

namespace weir::inline v0_1::steering {
namespace {

using limits::Steer;

constexpr std::array<std::string_view, 5> kSteers = {"ban", "raise", "lower", "shadow_on", "shadow_off"};
// Above what bytes_of() allows: names and numbers come on top.
constexpr std::size_t kMostField = 4096;

void append_field(std::string& out, std::string_view text) {
  out += std::to_string(text.size());
  out += ':';
  out += text;
}
void append_field(std::string& out, std::int64_t number) { append_field(out, std::to_string(number)); }

// Fields one after the other; once one is wrong, all are.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  std::string text() {
    std::size_t size = 0;
    const auto read = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
    const auto digits = static_cast<std::size_t>(read.ptr - rest_.data());
    if (read.ec != std::errc{} || digits == rest_.size() || *read.ptr != ':' || size > kMostField ||
        rest_.size() - digits - 1 < size) {
      wrong_ = true;
      return {};
    }
    std::string found(rest_.substr(digits + 1, size));
    rest_.remove_prefix(digits + 1 + size);
    return found;
  }
  std::int64_t number() {
    const auto value = core::number_in<std::int64_t>(text());
    wrong_ = wrong_ || !value;
    return value.value_or(0);
  }
  // How many follow, each of them at least two bytes.
  std::size_t count() {
    const std::int64_t value = number();
    wrong_ = wrong_ || value < 0 || static_cast<std::size_t>(value) > rest_.size() / 2;
    return wrong_ ? 0 : static_cast<std::size_t>(value);
  }
  bool right_to_the_end() const { return !wrong_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool wrong_ = false;
};

// Without quotes, what follows a blank begins the next value when it has a '='.
bool needs_quotes(std::string_view value) {
  const std::size_t blank = value.find(' ');
  return value.starts_with('"') ||
         (blank != std::string_view::npos && value.find('=', blank) != std::string_view::npos);
}

std::string in_quotes(std::string_view value) {
  std::string text = "\"";
  for (const char each : value) {
    if (each == '"' || each == '\\') text += '\\';
    text += each;
  }
  return text + '"';
}

// A value in quotes that ends where a value ends; nothing, and all is left as it is: there is none.
std::optional<std::string> take_quoted(std::string_view& rest) {
  std::string value;
  for (std::size_t i = 1; rest.starts_with('"') && i < rest.size(); ++i) {
    if (rest[i] == '"') {
      if (i + 1 < rest.size() && rest[i + 1] != ' ') break;
      rest.remove_prefix(i + 1);
      return value;
    }
    if (rest[i] == '\\' && ++i == rest.size()) break;
    value += rest[i];
  }
  return std::nullopt;
}

// Up to a blank with a name and '=' after it.
std::string take_unquoted(std::string_view& rest) {
  std::size_t end = rest.find(' ');
  while (end != std::string_view::npos) {
    const std::size_t next = rest.find(' ', end + 1);
    if (rest.substr(end, next - end).find('=') != std::string_view::npos) break;
    end = next;
  }
  const std::string value(rest.substr(0, end));
  rest.remove_prefix(value.size());
  return value;
}

std::int64_t ns_of(limits::Time time) { return time.time_since_epoch().count(); }

}  // namespace

std::string_view name_of(Steer what) { return kSteers[static_cast<std::size_t>(what)]; }

std::optional<Steer> read_steer(std::string_view name) {
  const auto found = std::find(kSteers.begin(), kSteers.end(), name);
  if (found == kSteers.end()) return std::nullopt;
  return static_cast<Steer>(found - kSteers.begin());
}

std::string to_text(const Selector& when) {
  if (when.empty()) return "ALL";
  std::string text;
  for (const auto& [name, value] : when)
    text += (text.empty() ? "" : " ") + name + "=" + (needs_quotes(value) ? in_quotes(value) : value);
  return text;
}

Selector read_selector(std::string_view text) {
  Selector selector;
  for (std::size_t equals = text.find('='); equals != std::string_view::npos; equals = text.find('=')) {
    std::string name(text.substr(0, equals));
    text.remove_prefix(equals + 1);
    auto value = take_quoted(text);
    selector.emplace_back(std::move(name), value ? *std::move(value) : take_unquoted(text));
    text.remove_prefix(std::min<std::size_t>(text.size(), 1));  // the blank
  }
  return selector;
}

std::string described(const OperatorOverride& which) {
  std::string text(name_of(which.what));
  for (const std::string& each : which.rates) text += (&each == which.rates.data() ? " " : ", ") + each;
  return text + " until " + core::utc_ms_text(ns_of(which.until));
}

std::string words_of(Steer what, std::string_view limit_id, const Selector& when) {
  Selector sorted = when;
  std::sort(sorted.begin(), sorted.end());
  std::string words(name_of(what));
  append_field(words, limit_id);
  for (const auto& [name, value] : sorted) {
    append_field(words, name);
    append_field(words, value);
  }
  return words;
}

bool is_sought(const Selector& when) {
  limits::When conditions;
  for (const auto& [name, value] : when)
    conditions.push_back({name, {limits::read_entry(value, {}).entry}, {}, {}});
  return !limits::is_exact(conditions);
}

std::size_t bytes_of(const OperatorOverride& which) {
  std::size_t bytes = which.reason.size();
  for (const auto& [name, value] : which.when) bytes += name.size() + value.size() + 2;
  for (const std::string& each : which.rates) bytes += each.size() + 1;
  return bytes;
}

std::string encoded(const OperatorOverride& which) {
  std::string out;
  append_field(out, static_cast<std::int64_t>(which.number));
  append_field(out, name_of(which.what));
  append_field(out, which.limit);
  append_field(out, which.limit_id);
  append_field(out, static_cast<std::int64_t>(which.when.size()));
  for (const auto& [name, value] : which.when) {
    append_field(out, name);
    append_field(out, value);
  }
  append_field(out, static_cast<std::int64_t>(which.rates.size()));
  for (const std::string& each : which.rates) append_field(out, each);
  append_field(out, ns_of(which.until));
  append_field(out, which.reason);
  append_field(out, which.user);
  append_field(out, ns_of(which.set_at));
  return out;
}

std::optional<OperatorOverride> decoded(std::string_view bytes) {
  Fields fields(bytes);
  OperatorOverride read;
  const std::int64_t number = fields.number();
  const auto what = read_steer(fields.text());
  if (number <= 0 || !what) return std::nullopt;
  read.number = static_cast<std::uint64_t>(number);
  read.what = *what;
  read.limit = fields.text();
  read.limit_id = fields.text();
  for (std::size_t left = fields.count(); left > 0; --left) {
    std::string name = fields.text();
    read.when.emplace_back(std::move(name), fields.text());
  }
  for (std::size_t left = fields.count(); left > 0; --left) read.rates.push_back(fields.text());
  read.until = limits::Time(std::chrono::nanoseconds{fields.number()});
  read.reason = fields.text();
  read.user = fields.text();
  read.set_at = limits::Time(std::chrono::nanoseconds{fields.number()});
  if (!fields.right_to_the_end()) return std::nullopt;
  return read;
}

}  // namespace weir::steering
