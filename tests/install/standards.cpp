// One program of files of two standards: built twice, as C++20 and as C++23, and linked together. Each has
// the expected of its own standard, and finds in it what the library says.
#include <weir/limiter.hpp>

#include <string>
#include <type_traits>

#if defined(__cpp_lib_expected)
#define MINE in_cpp23
static_assert(std::is_same_v<decltype(weir::Quota::parse("")), std::expected<weir::Quota, std::string>>);
#else
#define MINE in_cpp20
static_assert(std::is_same_v<decltype(weir::Quota::parse("")), tl::expected<weir::Quota, std::string>>);
int in_cpp20();
int in_cpp23();
int main() { return in_cpp20() + in_cpp23(); }
#endif

int MINE() {
  const auto quota = weir::Quota::parse("100/min burst 20");
  const auto none = weir::Quota::make({.count = 0, .period = std::chrono::seconds{1}});
  return quota && quota->burst() == 20 && !none && none.error() == "count: 0 is below the minimum (1)" ? 0
                                                                                                       : 1;
}
