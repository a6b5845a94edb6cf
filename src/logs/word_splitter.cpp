#include "logs/word_splitter.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "core/digits.hpp"

namespace weir::inline v0_1::logs {
namespace {

// What a word looks like. Each is checked up to the format's last field that must be there.
enum class Kind : std::uint8_t {
  any,
  number,   // or '-', with a sign or decimals
  time,     // 2026-11-21T05:49:47...
  epoch,    // 1795240187.593
  code,     // a status of three digits, 0 or '-'
  address,  // with a port, which is left out, or '-'
  result,   // TCP_MISS/200
  quoted,
  bracketed_time
};

struct Column {
  std::string_view name;
  Kind kind;
};

bool is_decimal(std::string_view text) {
  if (text == "-") return true;
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return core::is_digit(c) || c == '.'; });
}

bool is_time(std::string_view text) {
  return text.size() >= 19 && core::is_digit(text[0]) && text[4] == '-' && text[7] == '-' && text[10] == 'T';
}

bool is_epoch(std::string_view text) {
  const std::size_t dot = text.find('.');
  return dot != kNone && dot >= 9 && is_decimal(text) && core::is_digit(text[0]);
}

bool is_code(std::string_view text) {
  return text == "-" || text == "0" ||
         (text.size() == 3 && core::is_digit(text[0]) && core::is_digit(text[1]) && core::is_digit(text[2]));
}

bool fits(Kind kind, std::string_view word) {
  switch (kind) {
    case Kind::number:
      return is_decimal(word);
    case Kind::time:
    case Kind::bracketed_time:
      return is_time(word);
    case Kind::epoch:
      return is_epoch(word);
    case Kind::code:
      return is_code(word);
    case Kind::address:
      return word == "-" || word.find(':') != kNone;
    case Kind::result: {
      const std::size_t slash = word.find('/');
      return slash != kNone && slash > 0 && is_code(word.substr(slash + 1)) && word[0] >= 'A' &&
             word[0] <= 'Z';
    }
    case Kind::any:
    case Kind::quoted:
      break;
  }
  return true;
}

// "192.0.2.1:5", "[2001:db8::1]:5", and "2001:db8::1:5", because here a port is always the last number.
std::string_view before_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == kNone) return text;
  const std::string_view address = text.substr(0, colon);
  return address.starts_with('[') && address.ends_with(']') ? address.substr(1, address.size() - 2) : address;
}

// "http://host:80/a?b" -> "/a?b".
std::string_view without_origin(std::string_view target) {
  const std::size_t scheme = target.find("://");
  if (scheme == kNone || scheme > 8) return target;
  const std::size_t slash = target.find('/', scheme + 3);
  return slash == kNone ? "/" : target.substr(slash);
}

struct Shape {
  std::span<const Column> columns;
  std::size_t least;        // how many of them each line has
  std::string_view client;  // the column that is; empty: the last element of x_forwarded_for
  std::string_view fault;
};

class WordSplitter final : public Splitter {
 public:
  WordSplitter(const Shape& shape, const std::vector<Slot>& slots)
      : shape_(shape), places_(slots, names_of_all(shape)), found_(shape.columns.size() + kDerived) {
    const std::size_t count = shape_.columns.size();
    depth_ = shape_.least;
    for (std::size_t i = shape_.least; i < count; ++i) {
      if (places_.wants(i)) depth_ = i + 1;
    }
    client_ = column(shape_.client.empty() ? "x_forwarded_for" : shape_.client);
    request_ = column("request");
    result_ = column("result");
  }

  std::string_view split(std::string_view line, std::span<std::string_view> values) override {
    const std::size_t count = shape_.columns.size();
    std::fill(found_.begin(), found_.end(), std::string_view{});
    for (std::size_t i = 0; i < depth_; ++i) {
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
      if (line.empty()) {
        if (i < shape_.least) return shape_.fault;
        break;
      }
      const Kind kind = shape_.columns[i].kind;
      std::string_view& word = found_[i];
      if (line[0] == '"' || kind == Kind::quoted) {
        if (line[0] != '"' || kind != Kind::quoted) return shape_.fault;
        word = take_quoted(line);
        if (word.data() == nullptr) return "unclosed quote";
      } else if (kind == Kind::bracketed_time) {
        const std::size_t close = line.find(']');
        if (line[0] != '[' || close == kNone) return shape_.fault;
        word = line.substr(1, close - 1);
        line.remove_prefix(close + 1);
      } else {
        const std::size_t end = std::min(line.find(' '), line.size());
        word = line.substr(0, end);
        line.remove_prefix(end);
      }
      if (i < shape_.least && !fits(kind, word)) return shape_.fault;
      if (kind == Kind::address) word = before_port(word);
    }
    derive(count);
    places_.fill(found_, values);
    return "";
  }

  std::vector<LineField> fields(std::string_view line) override {
    const std::vector<std::string> names = names_of_all(shape_);
    std::vector<Slot> slots;
    for (const std::string& name : names) slots.push_back({name, {name}, "", false});
    WordSplitter all(shape_, slots);
    std::vector<std::string_view> values(names.size());
    std::vector<LineField> fields;
    if (!all.split(line, values).empty()) return fields;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (values[i].data() != nullptr && !names[i].empty())
        fields.push_back({names[i], std::string(values[i])});
    }
    return fields;
  }

 private:
  // What follows the columns: the client under its common name, and the parts of the request.
  static constexpr std::array<std::string_view, 5> kDerivedNames = {"client", "method", "path", "protocol",
                                                                    "status"};
  static constexpr std::size_t kDerived = kDerivedNames.size();

  static std::vector<std::string> names_of_all(const Shape& shape) {
    std::vector<std::string> names;
    for (const Column& each : shape.columns) names.emplace_back(each.name);
    const bool request = std::find(names.begin(), names.end(), "request") != names.end();
    const bool result = std::find(names.begin(), names.end(), "result") != names.end();
    for (std::size_t i = 0; i < kDerived; ++i) {
      const bool there = i == 0 || (i < 4 ? request : result);
      const bool already = std::find(names.begin(), names.end(), kDerivedNames[i]) != names.end();
      names.emplace_back(there && !already ? kDerivedNames[i] : "");
    }
    return names;
  }

  std::size_t column(std::string_view name) const {
    for (std::size_t i = 0; i < shape_.columns.size(); ++i) {
      if (shape_.columns[i].name == name) return i;
    }
    return kNone;
  }

  void derive(std::size_t count) {
    if (places_.end() <= count) return;
    const std::string_view client = found_[client_];
    found_[count] = shape_.client.empty() ? element_of(client, -1) : client;
    if (request_ != kNone && places_.end() > count + 1) {
      const RequestLine request = request_of(found_[request_]);
      found_[count + 1] = request.method;
      found_[count + 2] = without_origin(request.path);
      found_[count + 3] = request.protocol;
    }
    if (result_ != kNone) found_[count + 4] = found_[result_].substr(found_[result_].find('/') + 1);
  }

  Shape shape_;
  Places places_;
  std::vector<std::string_view> found_;
  std::size_t depth_ = 0;
  std::size_t client_ = kNone;
  std::size_t request_ = kNone;
  std::size_t result_ = kNone;
};

constexpr Kind kAny = Kind::any;
constexpr Kind kNumber = Kind::number;
constexpr Kind kQuoted = Kind::quoted;

// docs.aws.amazon.com, "Access logs for your Application Load Balancer".
constexpr Column kAlb[] = {{"type", kAny},
                           {"time", Kind::time},
                           {"elb", kAny},
                           {"client", Kind::address},
                           {"target", Kind::address},
                           {"request_processing_time", kNumber},
                           {"target_processing_time", kNumber},
                           {"response_processing_time", kNumber},
                           {"elb_status_code", Kind::code},
                           {"target_status_code", Kind::code},
                           {"received_bytes", kNumber},
                           {"sent_bytes", kNumber},
                           {"request", kQuoted},
                           {"user_agent", kQuoted},
                           {"ssl_cipher", kAny},
                           {"ssl_protocol", kAny},
                           {"target_group_arn", kAny},
                           {"trace_id", kQuoted},
                           {"domain_name", kQuoted},
                           {"chosen_cert_arn", kQuoted},
                           {"matched_rule_priority", kAny},
                           {"request_creation_time", kAny},
                           {"actions_executed", kQuoted},
                           {"redirect_url", kQuoted},
                           {"error_reason", kQuoted},
                           {"target_list", kQuoted},
                           {"target_status_code_list", kQuoted},
                           {"classification", kQuoted},
                           {"classification_reason", kQuoted},
                           {"conn_trace_id", kAny}};
// "Access logs for your Classic Load Balancer".
constexpr Column kElb[] = {{"time", Kind::time},
                           {"elb", kAny},
                           {"client", Kind::address},
                           {"backend", Kind::address},
                           {"request_processing_time", kNumber},
                           {"backend_processing_time", kNumber},
                           {"response_processing_time", kNumber},
                           {"elb_status_code", Kind::code},
                           {"backend_status_code", Kind::code},
                           {"received_bytes", kNumber},
                           {"sent_bytes", kNumber},
                           {"request", kQuoted},
                           {"user_agent", kQuoted},
                           {"ssl_cipher", kAny},
                           {"ssl_protocol", kAny}};
// www.envoyproxy.io, "Default format string".
constexpr Column kEnvoy[] = {{"start_time", Kind::bracketed_time},
                             {"request", kQuoted},
                             {"response_code", Kind::code},
                             {"response_flags", kAny},
                             {"bytes_received", kNumber},
                             {"bytes_sent", kNumber},
                             {"duration", kNumber},
                             {"upstream_service_time", kNumber},
                             {"x_forwarded_for", kQuoted},
                             {"user_agent", kQuoted},
                             {"request_id", kQuoted},
                             {"authority", kQuoted},
                             {"upstream_host", kQuoted}};
// istio.io, "Getting Envoy's access logs".
constexpr Column kIstio[] = {{"start_time", Kind::bracketed_time},
                             {"request", kQuoted},
                             {"response_code", Kind::code},
                             {"response_flags", kAny},
                             {"response_code_details", kAny},
                             {"connection_termination_details", kAny},
                             {"upstream_transport_failure_reason", kQuoted},
                             {"bytes_received", kNumber},
                             {"bytes_sent", kNumber},
                             {"duration", kNumber},
                             {"upstream_service_time", kNumber},
                             {"x_forwarded_for", kQuoted},
                             {"user_agent", kQuoted},
                             {"request_id", kQuoted},
                             {"authority", kQuoted},
                             {"upstream_host", kQuoted},
                             {"upstream_cluster", kAny},
                             {"upstream_local_address", Kind::address},
                             {"downstream_local_address", Kind::address},
                             {"downstream_remote_address", Kind::address},
                             {"requested_server_name", kAny},
                             {"route_name", kAny}};
// wiki.squid-cache.org, "Squid native access.log format".
constexpr Column kSquid[] = {
    {"time", Kind::epoch}, {"elapsed", kNumber},  {"client_ip", kAny}, {"result", Kind::result},
    {"bytes", kNumber},    {"method", kAny},      {"url", kAny},       {"user", kAny},
    {"hierarchy", kAny},   {"content_type", kAny}};

constexpr Shape kAlbShape{kAlb, 14, "client", "the words are not those of an Application Load Balancer"};
constexpr Shape kElbShape{kElb, 13, "client", "the words are not those of a Classic Load Balancer"};
constexpr Shape kEnvoyShape{kEnvoy, 13, "", "the words are not those of Envoy's default format"};
constexpr Shape kIstioShape{kIstio, 22, "downstream_remote_address",
                            "the words are not those of Istio's default format"};
constexpr Shape kSquidShape{kSquid, 10, "client_ip", "the words are not those of Squid's native format"};

bool fits(const Shape& shape, std::string_view line) {
  return WordSplitter(shape, {}).split(line, {}).empty();
}

}  // namespace

bool fits_alb(std::string_view line) { return fits(kAlbShape, line); }
bool fits_elb(std::string_view line) { return fits(kElbShape, line); }
bool fits_envoy(std::string_view line) { return fits(kEnvoyShape, line); }
bool fits_istio(std::string_view line) { return fits(kIstioShape, line); }
bool fits_squid(std::string_view line) { return fits(kSquidShape, line); }

std::unique_ptr<Splitter> make_alb(const std::vector<Slot>& slots, std::string_view) {
  return std::make_unique<WordSplitter>(kAlbShape, slots);
}
std::unique_ptr<Splitter> make_elb(const std::vector<Slot>& slots, std::string_view) {
  return std::make_unique<WordSplitter>(kElbShape, slots);
}
std::unique_ptr<Splitter> make_envoy(const std::vector<Slot>& slots, std::string_view) {
  return std::make_unique<WordSplitter>(kEnvoyShape, slots);
}
std::unique_ptr<Splitter> make_istio(const std::vector<Slot>& slots, std::string_view) {
  return std::make_unique<WordSplitter>(kIstioShape, slots);
}
std::unique_ptr<Splitter> make_squid(const std::vector<Slot>& slots, std::string_view) {
  return std::make_unique<WordSplitter>(kSquidShape, slots);
}

}  // namespace weir::logs
