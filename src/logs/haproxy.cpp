#include "logs/haproxy.hpp"

#include <algorithm>
#include <array>

#include "core/digits.hpp"

namespace weir::inline v0_1::logs {
namespace {

constexpr std::string_view kNotHaproxy = "the words are not those of HAProxy";

enum Number : std::size_t {
  client,
  client_port,
  time,
  frontend,
  backend,
  server,
  timers,
  status,
  bytes,
  request_cookie,
  response_cookie,
  termination,
  connections,
  queues,
  request_headers,
  response_headers,
  request,
  method,
  path,
  protocol,
  kFixed
};
constexpr std::array<std::string_view, kFixed> kNames = {
    "client",           "client_port", "time",        "frontend", "backend",
    "server",           "timers",      "status",      "bytes",    "request_cookie",
    "response_cookie",  "termination", "connections", "queues",   "request_headers",
    "response_headers", "request",     "method",      "path",     "protocol"};
// Captured headers have bars between them: request_headers[0] and so on.
constexpr std::size_t kCaptured = 8;

// "123", "+123" of `option logasap`, "-1" of what did not happen.
bool is_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), core::is_digit);
}

// "0/0/1/2/3".
bool are_numbers(std::string_view text, std::size_t count) {
  for (std::size_t i = 1; i < count; ++i) {
    const std::size_t slash = text.find('/');
    if (slash == kNone || !is_number(text.substr(0, slash))) return false;
    text.remove_prefix(slash + 1);
  }
  return is_number(text);
}

bool are_flags(std::string_view text, std::size_t size) {
  return text.size() == size && std::all_of(text.begin(), text.end(), [](char c) {
           return c == '-' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
         });
}

// "{a|b}" at the beginning; a null view where there is none.
std::string_view captured(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  if (!rest.starts_with('{')) return {};
  const std::size_t end = rest.find('}');
  if (end == kNone) return {};
  const std::string_view found = rest.substr(1, end - 1);
  rest.remove_prefix(end + 1);
  return found;
}

class Haproxy final : public Splitter {
 public:
  explicit Haproxy(const std::vector<Slot>& slots)
      : names_(names()), places_(slots, names_), found_(names_.size()) {}

  std::string_view split(std::string_view line, std::span<std::string_view> values) override {
    std::fill(found_.begin(), found_.end(), std::string_view{});
    const std::string_view from = take_word(line);
    const std::size_t colon = from.rfind(':');
    if (colon == kNone || colon == 0 || !is_number(from.substr(colon + 1))) return kNotHaproxy;
    found_[client] = without_port(from.substr(0, colon));  // of [2001:db8::1] the brackets
    found_[client_port] = from.substr(colon + 1);
    const std::string_view accepted = take_word(line);
    if (accepted.size() < 22 || accepted[0] != '[' || accepted.back() != ']' || accepted[3] != '/')
      return kNotHaproxy;
    found_[time] = accepted.substr(1, accepted.size() - 2);
    found_[frontend] = take_word(line);
    const std::string_view both = take_word(line);
    const std::size_t slash = both.find('/');
    if (slash == kNone) return kNotHaproxy;
    found_[backend] = both.substr(0, slash);
    found_[server] = both.substr(slash + 1);
    found_[timers] = take_word(line);
    const bool http = are_numbers(found_[timers], 5);
    if (!http && !are_numbers(found_[timers], 3)) return kNotHaproxy;
    if (const std::string_view fault = http ? http_rest(line) : tcp_rest(line); !fault.empty()) return fault;
    places_.fill(found_, values);
    return "";
  }

  std::vector<LineField> fields(std::string_view line) override {
    std::vector<Slot> slots;
    for (const std::string& name : names_) slots.push_back({name, {name}, "", false});
    Haproxy all(slots);
    std::vector<std::string_view> values(slots.size());
    std::vector<LineField> fields;
    if (!all.split(line, values).empty()) return fields;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].data() != nullptr) fields.push_back({names_[i], std::string(values[i])});
    }
    return fields;
  }

 private:
  static std::vector<std::string> names() {
    std::vector<std::string> all(kNames.begin(), kNames.end());
    for (const std::size_t of : {request_headers, response_headers}) {
      for (std::size_t i = 0; i < kCaptured; ++i)
        all.push_back(std::string(kNames[of]) + "[" + std::to_string(i) + "]");
    }
    return all;
  }

  // actconn/feconn/beconn/srv_conn/retries srv_queue/backend_queue.
  bool counts(std::string_view& rest) {
    found_[connections] = take_word(rest);
    found_[queues] = take_word(rest);
    return are_numbers(found_[connections], 5) && are_numbers(found_[queues], 2);
  }

  std::string_view tcp_rest(std::string_view rest) {
    found_[bytes] = take_word(rest);
    found_[termination] = take_word(rest);
    return is_number(found_[bytes]) && are_flags(found_[termination], 2) && counts(rest) ? "" : kNotHaproxy;
  }

  std::string_view http_rest(std::string_view rest) {
    found_[status] = take_word(rest);
    found_[bytes] = take_word(rest);
    found_[request_cookie] = take_word(rest);
    found_[response_cookie] = take_word(rest);
    found_[termination] = take_word(rest);
    if (!is_number(found_[status]) || !is_number(found_[bytes]) || !are_flags(found_[termination], 4) ||
        !counts(rest))
      return kNotHaproxy;
    found_[request_headers] = captured(rest);
    found_[response_headers] = captured(rest);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    // A request is cut at the length of a log line, with its quote.
    if (!rest.starts_with('"')) return kNotHaproxy;
    rest.remove_prefix(1);
    const std::size_t end = rest.rfind('"');
    found_[request] = rest.substr(0, end);
    if (places_.end() <= method) return "";
    const RequestLine parts = request_of(found_[request]);
    found_[method] = parts.method;
    found_[path] = parts.path;
    found_[protocol] = parts.protocol;
    split_captured(request_headers, kFixed);
    split_captured(response_headers, kFixed + kCaptured);
    return "";
  }

  void split_captured(std::size_t of, std::size_t to) {
    std::string_view rest = found_[of];
    if (rest.data() == nullptr) return;
    for (std::size_t i = 0; i < kCaptured; ++i) {
      const std::size_t bar = rest.find('|');
      found_[to + i] = rest.substr(0, bar);
      if (bar == kNone) return;
      rest.remove_prefix(bar + 1);
    }
  }

  std::vector<std::string> names_;
  Places places_;
  std::vector<std::string_view> found_;
};

}  // namespace

bool fits_haproxy(std::string_view line) { return Haproxy({}).split(line, {}).empty(); }

std::unique_ptr<Splitter> make_haproxy(const std::vector<Slot>& slots, std::string_view) {
  return std::make_unique<Haproxy>(slots);
}

}  // namespace weir::logs
