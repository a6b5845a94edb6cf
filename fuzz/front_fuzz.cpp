// Fuzzes the whole conversation: bytes from a client, through the parser, the commands and the table.
// Whatever comes, the answers are the same however the bytes are cut, and every answer is whole.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "server/resp_front.hpp"

namespace {

using weir::server::RespFront;
using weir::server::Service;
using weir::server::Settings;

std::chrono::nanoseconds fixed_now() { return std::chrono::seconds{1000}; }

// INFO and TIME tell the time; everything else must be a function of the bytes.
bool tells_time(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return lower.find("info") != std::string::npos || lower.find("time") != std::string::npos ||
         lower.find("auth") != std::string::npos;
}

std::string answers(std::string_view input, std::size_t piece, bool guarded) {
  Settings settings;
  settings.memory = std::size_t{1} << 20;
  if (guarded) settings.password = "pw";
  Service service(settings, {1, 2});
  service.now = &fixed_now;
  service.shut_down = [](bool) {};
  RespFront::Scratch scratch;
  RespFront front(service, scratch, 1, "fuzz");
  std::string rest;
  std::string all;
  while (!front.closing() && (!input.empty() || !rest.empty())) {
    const std::size_t n = std::min(piece, input.size());
    rest.append(input.substr(0, n));
    input.remove_prefix(n);
    std::string out;
    const std::size_t used = front.feed(rest, out, fixed_now(), fixed_now());
    if (used > rest.size()) std::abort();
    rest.erase(0, used);
    all += out;
    if (input.empty() && used == 0) break;
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool guarded = (data[0] & 1) != 0;
  const std::string whole = answers(input, input.size(), guarded);
  if (!whole.empty() && whole.substr(whole.size() - 2) != "\r\n") std::abort();
  if (!tells_time(input) && answers(input, 1 + data[0] / 2 % 17, guarded) != whole) std::abort();
  return 0;
}
