#include "logs/combined.hpp"

#include <algorithm>
#include <array>

#include "core/address.hpp"
#include "core/digits.hpp"

namespace weir::inline v0_1::logs {
namespace {

enum Number : std::size_t {
  client,
  ident,
  user,
  time,
  request,
  method,
  path,
  protocol,
  status,
  bytes,
  vhost,
  kAlways,  // of a line that has the shape; the others may be lacking
  referer = kAlways,
  agent,
  xff,
  kFixed  // then the further ones
};
constexpr std::array<std::string_view, kFixed> kNames = {"client", "ident",   "user",     "time",   "request",
                                                         "method", "path",    "protocol", "status", "bytes",
                                                         "vhost",  "referer", "agent",    "xff"};

// An address or the name of a host.
bool is_client(std::string_view text) {
  if (text.empty()) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return core::is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == ':' ||
           c == '-' || c == '_' || c == '%' || c == '[' || c == ']';
  });
}

// The first '[' that follows a space and begins a date: user names may have brackets too.
std::size_t time_bracket(std::string_view line) {
  for (std::size_t at = line.find('['); at != kNone; at = line.find('[', at + 1)) {
    if (at == 0 || line[at - 1] != ' ' || at + 5 >= line.size() || !core::is_digit(line[at + 1])) continue;
    if (line[at + 3] == '/' || line[at + 5] == '-') return at;
  }
  return kNone;
}

// A field after the agent: quoted, or a word. A null view when a quote is not closed.
std::string_view further(std::string_view& rest) {
  return rest[0] == '"' ? take_quoted(rest) : take_word(rest);
}

void skip_spaces(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
}

// Of "rt=0.25" or `ua="curl"` the name; empty for other words.
std::string_view name_in(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == kNone || equals == 0) return {};
  const std::string_view name = word.substr(0, equals);
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return core::is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
  });
  return plain ? name : std::string_view{};
}

constexpr std::string_view kUnclosed = "unclosed quote";

class Combined final : public Splitter {
 public:
  Combined(const std::vector<Slot>& slots, std::string_view sample)
      : names_(names_in(sample)), places_(slots, names_), found_(names_.size()) {
    request_parts_ = places_.wants(method) || places_.wants(path) || places_.wants(protocol);
  }

  std::string_view split(std::string_view line, std::span<std::string_view> values) override {
    const std::size_t bracket = time_bracket(line);
    if (bracket == kNone) return "there is no time in [brackets]";
    const std::size_t close = line.find(']', bracket);
    if (close == kNone) return "the bracket of the time is not closed";
    found_[time] = line.substr(bracket + 1, close - bracket - 1);
    if (const std::string_view fault = front(line.substr(0, bracket)); !fault.empty()) return fault;
    std::string_view rest = line.substr(close + 1);
    if (const std::string_view fault = back(rest); !fault.empty()) return fault;
    if (places_.end() > kAlways) {
      if (const std::string_view fault = tail(rest); !fault.empty()) return fault;
    }
    if (request_parts_) {
      const RequestLine parts = request_of(found_[request]);
      found_[method] = parts.method;
      found_[path] = parts.path;
      found_[protocol] = parts.protocol;
    }
    places_.fill(found_, values);
    return "";
  }

  std::vector<LineField> fields(std::string_view line) override {
    Combined all(every_field(line), line);
    std::vector<std::string_view> values(all.names_.size());
    std::vector<LineField> fields;
    if (!all.split(line, values).empty()) return fields;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].data() != nullptr) fields.push_back({all.names_[i], std::string(values[i])});
    }
    return fields;
  }

 private:
  static std::vector<Slot> every_field(std::string_view line) {
    std::vector<Slot> slots;
    for (const std::string& name : names_in(line)) slots.push_back({name, {name}, "", false});
    return slots;
  }

  // The names of a line's fields: those of every line, extra[0] and so on, and names that fields say.
  static std::vector<std::string> names_in(std::string_view line) {
    std::vector<std::string> names(kNames.begin(), kNames.end());
    std::vector<std::string> said;
    const std::size_t bracket = time_bracket(line);
    const std::size_t close = bracket == kNone ? kNone : line.find(']', bracket);
    if (close == kNone) return names;
    Combined shape;
    std::string_view rest = line.substr(close + 1);
    if (!shape.back(rest).empty()) return names;
    shape.referer_and_agent(rest);
    names[xff].clear();
    for (skip_spaces(rest); !rest.empty(); skip_spaces(rest)) {
      const std::string_view name = name_in(rest.substr(0, rest.find(' ')));
      if (rest.starts_with('"')) names[xff] = kNames[xff];
      if (further_field(rest).data() == nullptr) break;
      names.push_back("extra[" + std::to_string(names.size() - kFixed) + "]");
      said.emplace_back(name);
    }
    const std::size_t count = said.size();
    for (std::size_t i = 0; i < count; ++i) {
      // One that no field says is called as no field can be.
      names.push_back(said[i].empty() ? "" : said[i]);
    }
    return names;
  }

  // `name="value"` is one field.
  static std::string_view further_field(std::string_view& rest) {
    const std::size_t equals = rest.find_first_of("= \"");
    if (equals != kNone && equals > 0 && rest.substr(equals).starts_with("=\"")) {
      const std::string_view whole = rest;
      rest.remove_prefix(equals + 1);
      if (take_quoted(rest).data() == nullptr) return {};
      return whole.substr(0, whole.size() - rest.size());
    }
    return further(rest);
  }

  Combined() : places_({}, {}), found_(kFixed) {}

  // client ident user, or vhost client ident user.
  std::string_view front(std::string_view rest) {
    std::string_view first = take_word(rest);
    if (first.empty()) return "there is no client before the time";
    found_[vhost] = "-";
    std::string_view after_first = rest;
    const std::string_view second = take_word(after_first);
    // The second is mostly "-", which is soon told from an address.
    if (core::is_address(second) && !core::is_address(first) && is_client(first)) {
      found_[vhost] = first;
      first = second;
      rest = after_first;
    }
    if (!is_client(first)) return "the client is neither an address nor the name of a host";
    found_[client] = first;
    found_[ident] = take_word(rest);
    const std::size_t begin = rest.find_first_not_of(' ');
    if (begin == kNone) return "before the time are not a client, an identity and a user";
    found_[user] = rest.substr(begin, rest.find_last_not_of(' ') - begin + 1);
    // User names may have spaces. A syslog line or a container's looks alike, but for the dash.
    if (found_[ident] != "-" && found_[user].find(' ') != kNone)
      return "before the time are not a client, an identity and a user";
    return "";
  }

  // "request" status bytes. Moves `rest` past them.
  std::string_view back(std::string_view& rest) {
    skip_spaces(rest);
    if (!rest.starts_with('"')) return "no quoted request follows the time";
    found_[request] = take_quoted(rest);
    if (found_[request].data() == nullptr) return kUnclosed;
    found_[status] = take_word(rest);
    const std::string_view code = found_[status];
    if (code != "-" && (code.size() != 3 || !core::is_digit(code[0]) || !core::is_digit(code[1]) ||
                        !core::is_digit(code[2])))
      return "no status follows the request";
    found_[bytes] = take_word(rest);
    const std::string_view size = found_[bytes];
    if (size.empty() || (size != "-" && !std::all_of(size.begin(), size.end(), core::is_digit)))
      return "no number of bytes follows the status";
    return "";
  }

  // They are there if they are quoted.
  std::string_view referer_and_agent(std::string_view& rest) {
    found_[referer] = found_[agent] = {};
    for (const std::size_t field : {std::size_t{referer}, std::size_t{agent}}) {
      skip_spaces(rest);
      if (!rest.starts_with('"')) return "";
      found_[field] = take_quoted(rest);
      if (found_[field].data() == nullptr) return kUnclosed;
    }
    return "";
  }

  std::string_view tail(std::string_view rest) {
    if (const std::string_view fault = referer_and_agent(rest); !fault.empty()) return fault;
    if (places_.end() <= xff) return "";
    found_[xff] = {};
    const std::size_t count = (names_.size() - kFixed) / 2;
    for (std::size_t i = 0; i < count; ++i) {
      skip_spaces(rest);
      const bool in_quotes = rest.starts_with('"');
      const std::string_view value = rest.empty() ? std::string_view{} : further_field(rest);
      if (in_quotes && value.data() == nullptr) return kUnclosed;
      found_[kFixed + i] = value;
      if (in_quotes && found_[xff].data() == nullptr) found_[xff] = value;
      const std::string& name = names_[kFixed + count + i];
      std::string_view& named = found_[kFixed + count + i];
      named = {};
      if (name.empty() || !value.starts_with(name) || value.size() == name.size() ||
          value[name.size()] != '=')
        continue;
      named = value.substr(name.size() + 1);
      if (named.size() > 1 && named[0] == '"') named = named.substr(1, named.size() - 2);
    }
    return "";
  }

  std::vector<std::string> names_;
  Places places_;
  bool request_parts_ = false;
  std::vector<std::string_view> found_;
};

}  // namespace

bool fits_combined(std::string_view line) { return Combined({}, {}).split(line, {}).empty(); }

std::unique_ptr<Splitter> make_combined(const std::vector<Slot>& slots, std::string_view line) {
  return std::make_unique<Combined>(slots, line);
}

}  // namespace weir::logs
