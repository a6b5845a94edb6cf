// Fuzzes an HTTP conversation: bytes from a client, through the parser, the paths and the table. Whatever
// comes, the same requests are seen however the bytes are cut, and every answer is whole and frames itself.
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "http/conversation.hpp"
#include "store/embedded_store.hpp"

namespace {

using namespace std::chrono_literals;

std::string answers(std::string_view input, std::size_t piece, bool guarded) {
  // Every clock stands still: what is answered is a function of the bytes.
  const auto now = [] { return std::chrono::nanoseconds{1000s}; };
  weir::store::EmbeddedStore store(std::size_t{1} << 20, weir::WhenFull::deny, {1, 2});
  weir::service::Service service({.password = guarded ? "pw" : "", .clock = now, .wall_clock = now},
                                 store.table());
  weir::http::HttpLoop room(service, store);
  weir::http::Conversation conversation(service, room, {1, "fuzz"}, [] { std::abort(); });
  std::string rest;
  std::string all;
  while (!conversation.closing() && (!input.empty() || !rest.empty())) {
    const std::size_t n = std::min(piece, input.size());
    rest = std::string(rest).append(input.substr(0, n));
    input.remove_prefix(n);
    std::string out;
    const std::size_t used = conversation.feed(rest, out, {now(), now()});
    if (used > rest.size() || conversation.waiting()) std::abort();
    rest = rest.substr(used);
    all += out;
    if (input.empty() && used == 0) break;
  }
  return all;
}

// The statuses of the answers, read as a client reads them; aborts where one is not whole.
std::vector<int> statuses(std::string_view bytes) {
  std::vector<int> found;
  while (!bytes.empty()) {
    if (!bytes.starts_with("HTTP/1.1 ")) std::abort();
    const std::size_t end = bytes.find("\r\n\r\n");
    if (end == std::string_view::npos) std::abort();
    const std::string_view head = bytes.substr(0, end + 2);
    int status = 0;
    std::from_chars(head.data() + 9, head.data() + 12, status);
    for (std::size_t at = 0; at < head.size();) {
      const std::size_t line = head.find("\r\n", at);
      if (head.substr(at, line - at).find_first_of("\r\n\0", 0, 3) != std::string_view::npos) std::abort();
      at = line + 2;
    }
    std::size_t body = 0;
    constexpr std::string_view kLength = "\r\nContent-Length: ";
    if (const std::size_t at = head.find(kLength); at != std::string_view::npos)
      std::from_chars(head.data() + at + kLength.size(), head.data() + head.size(), body);
    bytes.remove_prefix(end + 4);
    // Of a HEAD only the length is told.
    if (bytes.starts_with("HTTP/1.1 ") || bytes.empty()) body = 0;
    if (body > bytes.size()) std::abort();
    bytes.remove_prefix(body);
    if (status != 100) found.push_back(status);
  }
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool guarded = (data[0] & 1) != 0;
  const std::vector<int> whole = statuses(answers(input, input.size(), guarded));
  const std::vector<int> cut = statuses(answers(input, 1 + data[0] / 2 % 17, guarded));
  // What its head refuses ends the connection when its body has not come; when it has, the body may be what
  // is wrong.
  const bool refused = !cut.empty() && cut.back() >= 400 && cut.back() != 429;
  if (cut.size() > whole.size() || (cut.size() < whole.size() && !refused)) std::abort();
  for (std::size_t i = 0; i < cut.size(); ++i) {
    const bool last = refused && i + 1 == cut.size() && whole[i] >= 400;
    if (cut[i] != whole[i] && !last) std::abort();
  }
  return 0;
}
