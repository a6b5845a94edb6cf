// Fuzzes the whole conversation: bytes from a client, through the parser, the commands and the table.
// Whatever comes, the answers are the same however the bytes are cut, and every answer is whole. INFO alone
// is left out of the first: it tells of the process, whose memory grows while we look and whose commands are
// counted once for each read. And of the ids of reservations, which nobody can guess, only the length is
// compared.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "resp/conversation.hpp"
#include "store/embedded_store.hpp"

namespace {

using namespace std::chrono_literals;

std::string answers(std::string_view input, std::size_t piece, bool guarded) {
  // Every clock stands still: what is answered is a function of the bytes.
  const auto now = [] { return std::chrono::nanoseconds{1000s}; };
  weir::store::EmbeddedStore store(std::size_t{1} << 20, weir::WhenFull::deny, {1, 2});
  weir::service::Service service({.password = guarded ? "pw" : "", .clock = now, .wall_clock = now},
                                 store.table());
  weir::resp::RespLoop shared(service, store);
  weir::resp::Conversation conversation(service, shared, {1, "fuzz"}, [] { std::abort(); });
  std::string rest;
  std::string all;
  while (!conversation.closing() && (!input.empty() || !rest.empty())) {
    const std::size_t n = std::min(piece, input.size());
    rest.append(input.substr(0, n));
    input.remove_prefix(n);
    std::string out;
    const std::size_t used = conversation.feed(rest, out, {now(), now()});
    if (used > rest.size() || conversation.waiting()) std::abort();
    rest.erase(0, used);
    all += out;
    if (input.empty() && used == 0) break;
  }
  return all;
}

void hide_ids(std::string& answers) {
  constexpr std::string_view kHead = "$22\r\n";
  for (std::size_t at = 0; (at = answers.find(kHead, at)) != std::string::npos;) {
    at += kHead.size();
    for (std::size_t i = at; i < std::min(at + 22, answers.size()); ++i) answers[i] = 'i';
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool guarded = (data[0] & 1) != 0;
  std::string whole = answers(input, input.size(), guarded);
  if (!whole.empty() && whole.substr(whole.size() - 2) != "\r\n") std::abort();
  std::string cut = answers(input, 1 + data[0] / 2 % 17, guarded);
  hide_ids(whole);
  hide_ids(cut);
  const bool told_of_the_process = whole.find("used_memory_rss:") != std::string::npos ||
                                   whole.find("total_commands_processed:") != std::string::npos;
  if (cut != whole && !told_of_the_process) std::abort();
  return 0;
}
