// Many keys at once: several times faster than one by one.
#include <weir/limiter.hpp>

#include <array>
#include <cstdio>
#include <string_view>

using namespace weir::literals;

int main() {
  weir::KeyedLimiter per_address{weir::Quota::per_second(2), {.memory = 64_MiB}};
  const std::array<std::string_view, 4> keys = {"192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.1"};
  std::array<weir::Decision, 4> decisions;
  per_address.check(keys, decisions);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::printf("%s %s\n", keys[i].data(), decisions[i].allowed() ? "allowed" : "denied");
  }
  return decisions[3].allowed() ? 1 : 0;
}
