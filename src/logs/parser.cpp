#include "logs/parser.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "core/path.hpp"
#include "logs/log_time.hpp"

namespace weir::logs {
namespace {

constexpr std::size_t kNone = ~std::size_t{0};

constexpr std::array<std::string_view, 9> kTimeNames = {
    "time", "timestamp", "@timestamp", "ts", "time_iso8601", "time_local", "msec", "date", "datetime"};
constexpr std::array<std::string_view, 9> kClientNames = {
    "client",     "ip",       "client_ip",         "remote_addr",
    "remote_ip",  "clientip", "request.remote_ip", "request.client_ip",
    "remote_host"};

// A key of several parts includes their lengths: "a" + "bc" is not "ab" + "c".
constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kLacking = 0xFFFFFFFF;  // the length of a part that the line lacks

std::size_t read_length(std::string_view key) {
  std::size_t size = 0;
  for (std::size_t byte = 0; byte < kLengthBytes; ++byte)
    size |= std::size_t{static_cast<unsigned char>(key[byte])} << (byte * 8);
  return size;
}

void append_length(std::size_t size, std::string& key) {
  for (int i = 0; i < 4; ++i) key += static_cast<char>(size >> (i * 8));
}

constexpr std::string_view kBadCost = "the cost is not a whole number below 2^63";

// Empty when the text is a cost.
std::string_view read_cost(std::string_view text, std::uint64_t& cost) {
  if (text == "-") {
    cost = 0;
    return "";
  }
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || value < 0) return kBadCost;
  cost = static_cast<std::uint64_t>(value);
  return "";
}

// What the formats share: numbered fields, some of which make the key; others hold the time and the cost.
class FieldParser : public Parser {
 protected:
  struct KeyPart {
    std::size_t field;
    bool address;
    core::Prefixes prefixes;
    bool path = false;
  };

  explicit FieldParser(const Wanted& wanted) : may_lack_(wanted.may_lack) {
    also_.resize(wanted.also.size());
  }

  // Where there is no such field, in a log that may lack it.
  static constexpr std::size_t kNoField = kNone;

  bool lacks(const KeyPart& part) const {
    if (part.field == kNoField) return true;
    const std::string_view value = values_[part.field];
    return value.empty() || value == "-";
  }

  // As a key has it.
  void append_value(const KeyPart& part, std::string& to) const {
    if (part.address) {
      core::append_address(values_[part.field], part.prefixes, to);
    } else if (part.path) {
      core::append_path(values_[part.field], core::OddPath::keep, to);
    } else {
      to += values_[part.field];
    }
  }

  void append_key(std::string& key) const {
    for (const KeyPart& part : key_) {
      if (may_lack_ && lacks(part)) {
        append_length(kLacking, key);
        continue;
      }
      const std::size_t begin = key.size();
      const bool several = key_.size() > 1 || may_lack_;
      if (several) append_length(0, key);
      append_value(part, key);
      if (!several) continue;
      std::string length;
      append_length(key.size() - begin - 4, length);
      key.replace(begin, 4, length);
    }
  }

  // A value that differs from what the line has is kept here until the next line.
  void collect_also() {
    also_text_.resize(also_parts_.size());
    for (std::size_t i = 0; i < also_parts_.size(); ++i) {
      const KeyPart& part = also_parts_[i];
      if (lacks(part)) {
        also_[i] = {};
      } else if (part.address || part.path) {
        also_text_[i].clear();
        append_value(part, also_text_[i]);
        also_[i] = also_text_[i];
      } else {
        also_[i] = values_[part.field];
      }
    }
  }

  bool may_lack_;
  // The values of the fields that are wanted.
  std::vector<std::string_view> values_;
  std::vector<KeyPart> key_;
  std::vector<KeyPart> also_parts_;
  std::size_t cost_ = kNone;

 private:
  std::vector<std::string> also_text_;
};

// ------------------------------------------------- The common and combined formats of Apache and nginx

class Combined final : public FieldParser {
 public:
  enum Field : std::size_t {
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
    referer,
    agent,
    vhost,
    kFields
  };
  static constexpr std::array<std::string_view, kFields> kNames = {
      "client",   "ident",  "user",  "time",    "request", "method", "path",
      "protocol", "status", "bytes", "referer", "agent",   "vhost"};

  explicit Combined(const Wanted& wanted) : FieldParser(wanted), times_(wanted.zone_s) {
    values_.resize(kFields);
    if (wanted.key.empty()) key_.push_back({client, true, wanted.prefixes, false});
    for (const Wanted::Part& part : wanted.key) {
      key_.push_back({part.field == "ip" ? std::size_t{client} : number_of(part), part.address, part.prefixes,
                      part.path});
    }
    if (!wanted.cost.empty()) cost_ = number(wanted.cost);
    if (!wanted.time.empty() && wanted.time != "time") {
      throw std::runtime_error(
          "time: a combined log has its time in [brackets]; use --format for another log");
    }
    for (const Wanted::Part& part : wanted.also)
      also_parts_.push_back({part.field == "ip" ? std::size_t{client} : find_any(part), part.address,
                             part.prefixes, part.path});
    for (const std::vector<KeyPart>* parts : {&key_, &also_parts_}) {
      for (const KeyPart& part : *parts) {
        if (part.field != kNoField) deepest_ = std::max(deepest_, depth(part.field));
      }
    }
    if (cost_ != kNone) deepest_ = std::max(deepest_, depth(cost_));
    static constexpr std::array<std::string_view, 6> kLast = {"time",  "request", "status",
                                                              "bytes", "referer", "agent"};
    ends_early_ = "the line ends before its " + std::string(kLast[static_cast<std::size_t>(deepest_)]);
  }

  std::string_view parse(std::string_view line, Record& record, std::string& key) override {
    const std::size_t bracket = time_bracket(line);
    if (bracket == kNone) return "there is no time in [brackets]";
    const std::size_t close = line.find(']', bracket);
    if (close == kNone) return "the bracket of the time is not closed";
    values_[time] = line.substr(bracket + 1, close - bracket - 1);
    if (const TimeFault fault = times_.read_clf(values_[time], record.ns)) return fault;
    if (const std::string_view fault = front(line.substr(0, bracket)); !fault.empty()) return fault;
    if (deepest_ > 0) {
      if (const std::string_view fault = back(line.substr(close + 1)); !fault.empty()) return fault;
    }
    record.cost = 1;
    if (cost_ != kNone) {
      if (const std::string_view fault = read_cost(values_[cost_], record.cost); !fault.empty()) return fault;
    }
    append_key(key);
    collect_also();
    return "";
  }
  const char* example() const override {
    return "192.0.2.1 - - [21/Nov/2026:05:49:47 +0000] \"GET / HTTP/1.1\" 200 512";
  }

 private:
  static std::size_t find(std::string_view name) {
    const auto found = std::find(kNames.begin(), kNames.end(), name);
    return found == kNames.end() ? kNoField : static_cast<std::size_t>(found - kNames.begin());
  }

  static std::size_t find_any(const Wanted::Part& part) {
    std::size_t found = find(part.field);
    for (std::size_t i = 0; found == kNoField && i < part.other_names.size(); ++i)
      found = find(part.other_names[i]);
    return found;
  }

  std::size_t number_of(const Wanted::Part& part) const {
    const std::size_t found = find_any(part);
    return found == kNoField && !may_lack_ ? number(part.field) : found;
  }

  static std::size_t number(std::string_view name) {
    if (const std::size_t found = find(name); found != kNoField) return found;
    std::string all;
    for (const std::string_view each : kNames) all += ", " + std::string(each);
    throw std::runtime_error("unknown field '" + std::string(name) + "'; a combined log has ip" + all +
                             " (use --format for another log)");
  }

  // How many of the fields after the time have to be parsed to reach this one.
  static int depth(std::size_t field) {
    switch (field) {
      case request:
      case method:
      case path:
      case protocol:
        return 1;
      case status:
        return 2;
      case bytes:
        return 3;
      case referer:
        return 4;
      case agent:
        return 5;
      default:
        return 0;
    }
  }

  // The first '[' that follows a space and begins a date: user names may have brackets too.
  static std::size_t time_bracket(std::string_view line) {
    for (std::size_t at = line.find('['); at != kNone; at = line.find('[', at + 1)) {
      if (at + 3 < line.size() && line[at + 3] == '/' && (at == 0 || line[at - 1] == ' ')) return at;
    }
    return kNone;
  }

  static std::string_view word(std::string_view& rest) {
    const std::size_t begin = std::min(rest.find_first_not_of(' '), rest.size());
    const std::size_t end = std::min(rest.find(' ', begin), rest.size());
    const std::string_view found = rest.substr(begin, end - begin);
    rest.remove_prefix(end);
    return found;
  }

  // client ident user, or vhost client ident user.
  std::string_view front(std::string_view rest) {
    std::string_view first = word(rest);
    if (first.empty()) return "there is no client before the time";
    values_[vhost] = "-";
    if (!core::is_address(first)) {
      std::string_view after_first = rest;
      const std::string_view second = word(after_first);
      if (core::is_address(second)) {
        values_[vhost] = first;
        first = second;
        rest = after_first;
      }
    }
    values_[client] = first;
    values_[ident] = word(rest);
    const std::size_t begin = rest.find_first_not_of(' ');
    const std::size_t end = rest.find_last_not_of(' ');
    values_[user] = begin == kNone ? "" : rest.substr(begin, end - begin + 1);  // user names may have spaces
    return "";
  }

  // "request" status bytes "referer" "agent".
  std::string_view back(std::string_view rest) {
    static constexpr std::array<Field, 5> kOrder = {request, status, bytes, referer, agent};
    for (int i = 0; i < deepest_; ++i) {
      const std::size_t begin = rest.find_first_not_of(' ');
      if (begin == kNone) return ends_early_;
      rest.remove_prefix(begin);
      std::string_view& value = values_[kOrder[static_cast<std::size_t>(i)]];
      if (rest[0] != '"') {
        value = word(rest);
        continue;
      }
      std::size_t end = 1;
      while (end < rest.size() && rest[end] != '"') end += rest[end] == '\\' ? 2U : 1U;
      if (end >= rest.size()) return "unclosed quote";
      value = rest.substr(1, end - 1);
      rest.remove_prefix(end + 1);
    }
    std::string_view line = values_[request];
    values_[method] = word(line);
    values_[path] = word(line);
    values_[protocol] = word(line);
    return "";
  }

  TimeReader times_;
  int deepest_ = 0;
  std::string ends_early_;
};

// ------------------------------------------------------------------- Named fields: JSON and columns

// Field 0 is the time, then the key's parts, the further ones, the cost. A field is the first present of
// several names.
class Named : public FieldParser {
 protected:
  explicit Named(const Wanted& wanted) : FieldParser(wanted), times_(wanted.zone_s) {
    if (wanted.time.empty()) {
      names_.emplace_back(kTimeNames.begin(), kTimeNames.end());
    } else {
      names_.push_back({wanted.time});
    }
    const std::vector<std::string> client(kClientNames.begin(), kClientNames.end());
    const auto add = [&](const Wanted::Part& part, std::vector<KeyPart>& to) {
      to.push_back({names_.size(), part.address, part.prefixes, part.path});
      std::vector<std::string> names{part.field};
      names.insert(names.end(), part.other_names.begin(), part.other_names.end());
      names_.push_back(part.field == "ip" ? client : names);
    };
    if (wanted.key.empty()) add({"ip", true, wanted.prefixes, {}, false}, key_);
    for (const Wanted::Part& part : wanted.key) add(part, key_);
    first_also_ = names_.size();
    for (const Wanted::Part& part : wanted.also) add(part, also_parts_);
    if (!wanted.cost.empty()) {
      cost_ = names_.size();
      names_.push_back({wanted.cost});
    }
    values_.resize(names_.size());
  }

  std::string_view finish(Record& record, std::string& key) {
    if (const TimeFault fault = times_.read(values_[0], record.ns)) return fault;
    record.cost = 1;
    if (cost_ != kNone) {
      if (const std::string_view fault = read_cost(values_[cost_], record.cost); !fault.empty()) return fault;
    }
    append_key(key);
    collect_also();
    return "";
  }

  static std::string missing(const std::vector<std::string>& names, std::string_view flag) {
    std::string text = "there is no field";
    for (const std::string& name : names) text += (&name == names.data() ? " " : ", ") + name;
    return text + " (" + std::string(flag) + " chooses another)";
  }
  // Whether a line is one without this field.
  bool may_lack(std::size_t field) const {
    const bool also = field >= first_also_ && field < first_also_ + also_parts_.size();
    return also || (may_lack_ && field != 0 && field != cost_);
  }
  std::string_view flag_of(std::size_t field) const {
    return field == 0 ? "--time" : field == cost_ ? "--cost" : "--key";
  }

  std::vector<std::vector<std::string>> names_;  // for each field; the first present one counts

 private:
  TimeReader times_;
  std::size_t first_also_ = 0;
};

class JsonLines final : public Named {
 public:
  explicit JsonLines(const Wanted& wanted) : Named(wanted), found_(names_.size()) {
    for (std::size_t field = 0; field < names_.size(); ++field)
      missing_.push_back(missing(names_[field], flag_of(field)));
  }

  std::string_view parse(std::string_view line, Record& record, std::string& key) override {
    using namespace simdjson;
    std::fill(found_.begin(), found_.end(), kNone);
    ondemand::document document;
    ondemand::object object;
    const padded_string_view padded(line.data(), line.size(), line.size() + SIMDJSON_PADDING);
    if (parser_.iterate(padded).get(document) != SUCCESS || document.get_object().get(object) != SUCCESS) {
      return "the line is not a JSON object";
    }
    if (!walk(object, "") || document.current_location().error() != OUT_OF_BOUNDS)
      return "the line is not a JSON object";
    for (std::size_t field = 0; field < names_.size(); ++field) {
      if (found_[field] != kNone) continue;
      if (!may_lack(field)) return missing_[field];
      values_[field] = {};
    }
    return finish(record, key);
  }
  const char* example() const override {
    return "{\"time\":\"2026-11-21T05:49:47Z\",\"client_ip\":\"192.0.2.1\"}";
  }

 private:
  // Visits every member, because names come in any order; descends only where a wanted name leads.
  bool walk(simdjson::ondemand::object& object, const std::string& prefix) {
    using namespace simdjson;
    for (auto member : object) {
      std::string_view name;
      ondemand::value value;
      if (member.unescaped_key().get(name) != SUCCESS || member.value().get(value) != SUCCESS) return false;
      ondemand::json_type type{};
      if (value.type().get(type) != SUCCESS) return false;
      const std::string path = prefix.empty() ? std::string(name) : prefix + std::string(name);
      if (type == ondemand::json_type::object && leads(path)) {
        ondemand::object inner;
        if (value.get_object().get(inner) != SUCCESS || !walk(inner, path + ".")) return false;
        continue;
      }
      if (!take(path, type, value)) return false;
    }
    return true;
  }

  bool leads(std::string_view path) const {
    for (const auto& names : names_) {
      for (const std::string_view name : names) {
        if (name.size() > path.size() && name[path.size()] == '.' && name.starts_with(path)) return true;
      }
    }
    return false;
  }

  bool take(std::string_view path, simdjson::ondemand::json_type type, simdjson::ondemand::value& value) {
    using namespace simdjson;
    std::optional<std::string_view> text;
    for (std::size_t field = 0; field < names_.size(); ++field) {
      const auto& names = names_[field];
      const auto rank = static_cast<std::size_t>(std::find(names.begin(), names.end(), path) - names.begin());
      if (rank == names.size() || (found_[field] != kNone && found_[field] <= rank)) continue;
      if (!text) {
        std::string_view got;
        if (type == ondemand::json_type::string) {
          if (value.get_string().get(got) != SUCCESS) return false;
        } else if (type == ondemand::json_type::number || type == ondemand::json_type::boolean) {
          got = value.raw_json_token();
          got = got.substr(0, got.find_last_not_of(" \t\r\n") + 1);
        } else {
          return true;  // null, an object or an array is not a name
        }
        text = got;
      }
      found_[field] = rank;
      values_[field] = *text;
    }
    return true;
  }

  simdjson::ondemand::parser parser_;
  std::vector<std::size_t> found_;  // under which of its names each field was found
  std::vector<std::string> missing_;
};

class Columns final : public Named {
 public:
  Columns(const Wanted& wanted, char separator, std::string_view header)
      : Named(wanted), separator_(separator) {
    std::vector<std::string> columns;
    scratch_.resize(header.size() + 1);
    std::size_t used = 0;
    for (std::string_view rest = header;;) {
      std::string_view name;
      bool more = false;
      if (!next(rest, name, more, used)) throw std::runtime_error("the header line has an unclosed quote");
      columns.emplace_back(name);
      if (!more) break;
    }
    where_.assign(columns.size(), {});
    for (std::size_t field = 0; field < names_.size(); ++field) {
      std::size_t at = columns.size();
      for (const std::string& name : names_[field]) {
        at = static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin());
        if (at < columns.size()) break;
      }
      if (at == columns.size() && may_lack(field)) continue;  // its value stays empty
      if (at == columns.size()) {
        std::string all;
        for (const std::string& column : columns) all += (all.empty() ? "" : ", ") + column;
        throw std::runtime_error(missing(names_[field], flag_of(field)) + "; the columns are " +
                                 all.substr(0, 400));
      }
      where_[at].push_back(field);
      last_ = std::max(last_, at);
    }
  }

  std::string_view parse(std::string_view line, Record& record, std::string& key) override {
    if (scratch_.size() < line.size()) scratch_.resize(line.size());
    std::size_t used = 0;
    for (std::size_t column = 0; column <= last_; ++column) {
      std::string_view value;
      bool more = false;
      if (!next(line, value, more, used))
        return "a quote is not closed, or is followed by something other than a separator";
      for (const std::size_t field : where_[column]) values_[field] = value;
      if (!more && column < last_) return "the line has too few columns";
    }
    return finish(record, key);
  }
  bool header() const override { return true; }
  const char* example() const override {
    return separator_ == ',' ? "2026-11-21T05:49:47Z,192.0.2.1 under a header such as time,ip"
                             : "2026-11-21T05:49:47Z<TAB>192.0.2.1 under a header such as time<TAB>ip";
  }

 private:
  // One field of RFC 4180 and the separator after it.
  bool next(std::string_view& rest, std::string_view& value, bool& more, std::size_t& used) {
    if (!rest.starts_with('"')) {
      const std::size_t end = std::min(rest.find(separator_), rest.size());
      value = rest.substr(0, end);
      more = end < rest.size();
      rest.remove_prefix(end + (more ? 1 : 0));
      return true;
    }
    char* const begin = scratch_.data() + used;
    char* out = begin;
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
    if (more && rest[at] != separator_) return false;
    rest.remove_prefix(at + (more ? 1 : 0));
    used += static_cast<std::size_t>(out - begin);
    value = {begin, static_cast<std::size_t>(out - begin)};
    return true;
  }

  char separator_;
  std::vector<std::vector<std::size_t>> where_;  // which fields each column holds
  std::size_t last_ = 0;
  std::vector<char> scratch_;  // this line's fields that had doubled quotes
};

bool parse_prefix(std::string_view text, int& bits) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, bits);
  return error == std::errc{} && rest == end && bits >= 0 && bits <= 128;
}

}  // namespace

void Wanted::set_key(std::string_view text) {
  key.clear();
  prefixes = {};
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view part = text.substr(begin, end - begin);
    begin = end + 1;
    Part made;
    if (part == "ip" || part.starts_with("ip/")) {
      made.address = true;
      part.remove_prefix(2);
      bool first = true;
      while (!part.empty()) {
        part.remove_prefix(1);
        const std::size_t slash = std::min(part.find('/'), part.size());
        int bits = 0;
        const bool number = parse_prefix(part.substr(0, slash), bits);
        part.remove_prefix(slash);
        const bool last = part.empty();
        const bool v4 = first && (!last || bits <= 32);
        if (!number || (v4 && bits > 32) || (!first && !last)) {
          throw std::runtime_error(
              "key: '" + std::string(text) +
              "': expected a number of bits after ip/: ip/64 for IPv6, ip/24 for IPv4, ip/24/64 for both");
        }
        (v4 ? made.prefixes.v4 : made.prefixes.v6) = bits;
        first = false;
      }
      made.field = "ip";
    } else {
      made.field = part;
    }
    if (made.field.empty()) {
      throw std::runtime_error("key: '" + std::string(text) +
                               "' is neither a field nor fields separated by commas");
    }
    key.push_back(made);
  }
}

Format Parser::guess(std::string_view first_line) {
  if (first_line.starts_with('{')) return Format::jsonl;
  if (first_line.find('\t') != std::string_view::npos) return Format::tsv;
  const bool comma = first_line.find(',') != std::string_view::npos;
  return comma && first_line.find('[') == std::string_view::npos ? Format::csv : Format::combined;
}

std::unique_ptr<Parser> Parser::make(Format format, const Wanted& wanted, std::string_view first_line) {
  switch (format) {
    case Format::combined:
      return std::make_unique<Combined>(wanted);
    case Format::jsonl:
      return std::make_unique<JsonLines>(wanted);
    case Format::csv:
      return std::make_unique<Columns>(wanted, ',', first_line);
    case Format::tsv:
      break;
  }
  return std::make_unique<Columns>(wanted, '\t', first_line);
}

std::vector<std::string_view> values_of(std::string_view key, std::size_t parts) {
  std::vector<std::string_view> values(parts);
  for (std::size_t i = 0; i < parts && key.size() >= kLengthBytes; ++i) {
    const std::size_t size = read_length(key);
    key.remove_prefix(kLengthBytes);
    if (size == kLacking) continue;
    values[i] = key.substr(0, size);
    key.remove_prefix(std::min(size, key.size()));
  }
  return values;
}

std::string shown(std::string_view key, std::size_t parts) {
  if (parts < 2) return std::string(key);
  const std::vector<std::string_view> values = values_of(key, parts);
  std::string text;
  for (std::size_t i = 0; i < parts; ++i) text += (i > 0 ? " " : "") + std::string(values[i]);
  return text;
}

}  // namespace weir::logs
