// A limit for each user, from a configuration text, with costs.
#include <weir/limiter.hpp>

#include <cstdio>
#include <string>

using namespace weir::literals;

int main(int argc, char** argv) {
  const auto quota = weir::Quota::parse(argc > 1 ? argv[1] : "5/10s burst 20");
  if (!quota) {
    std::fprintf(stderr, "%s\n", quota.error().c_str());
    return 2;
  }
  weir::KeyedLimiter per_user{*quota, {.memory = 16_MiB}};
  for (const std::string user : {"ada", "bob", "ada"}) {
    const auto d = per_user.check(user, weir::Cost{15});
    std::printf("%s: %s, %lld of %lld left\n", user.c_str(), d.allowed() ? "allowed" : "denied",
                static_cast<long long>(d.remaining), static_cast<long long>(d.limit));
  }
  return 0;
}
