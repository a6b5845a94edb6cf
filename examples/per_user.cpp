// A limit for each user, from a configuration text, with costs; the configuration changes while it runs.
#include <weir/limiter.hpp>

#include <cstdio>
#include <stdexcept>

using namespace weir::literals;

int main(int argc, char** argv) {
  try {
    weir::KeyedLimiter per_user{weir::Quota::of(argc > 1 ? argv[1] : "5/10s burst 20"), {.memory = 16_MiB}};
    const auto ask = [&](const char* user) {
      const auto d = per_user.check(user, weir::Cost{15});
      std::printf("%s: %s, %lld of %lld left\n", user, d.allowed() ? "allowed" : "denied",
                  static_cast<long long>(d.remaining), static_cast<long long>(d.limit));
    };
    for (const char* user : {"ada", "bob", "ada"}) ask(user);
    // The configuration has changed: what ada has spent stays spent.
    per_user.set_quota(weir::Quota::of("20/10s burst 40"));
    ask("ada");
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
