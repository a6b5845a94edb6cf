// What decides while Redis is away answers as the ledger model does (ledger_model.hpp), in random traces.
// WEIR_LONG=1 takes 10^5; WEIR_SEED=n repeats a run.
#include <gtest/gtest.h>

#include <memory>

#include "agreement/ledger_trace.hpp"
#include "conformance/fallback_world.hpp"
#include "core/chance_test.hpp"

namespace weir::inline v0_1::ledger_trace {
namespace {

TEST(RedisLedger, the_fallback_answers_as_the_model_does) {
  store::conformance::RedisWorld world(std::make_unique<store::conformance::NoRedis>(), false, {}, {}, true);
  play({.submit =
            [&](Request& request, nanoseconds now) {
              world.advance(now - world.now());
              request.on_answer = [](Request&) {};
              Request* const batch[] = {&request};
              world.store().submit(batch, {now, now});
              world.settle();
              ASSERT_EQ(request.state, Request::State::answered);
            },
        .classes = false,
        .resets = false,
        .remembers = false,
        .nevers = false},
       core::Chance::is_long() ? 100'000 : 5'000);
}

}  // namespace
}  // namespace weir::ledger_trace
