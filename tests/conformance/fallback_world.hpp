// What decides while Redis is away, as a world: a store that has never reached it.
//
// It counts every rate by GCRA, says of what no time admits no more than that, and what is told of all
// servers' states nobody tells: what asks for that ends the property, which is then skipped.
#pragma once

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "conformance/not_here.hpp"
#include "conformance/redis_world.hpp"
#include "core/reservation.hpp"

namespace weir::inline v0_1::store::conformance {

class NoRedis final : public Upstream {
 public:
  std::string answer(std::vector<std::string>, nanoseconds) override {
    throw std::logic_error("nobody reaches it");
  }
};

class FallbackWorld : public RedisWorld {
 public:
  FallbackWorld() : RedisWorld(std::make_unique<NoRedis>(), false, {}, {}, true) {}
  Store& store() override { return store_; }
  bool refuses(const core::Rule& rule) const override {
    return rule.algorithm != Algorithm::gcra || RedisWorld::refuses(rule);
  }
  bool put_foreign_value(const Limit&, const std::string&) override { return false; }
  bool fall_silent() override { return false; }

 private:
  class Asked final : public Store {
   public:
    explicit Asked(Store& inner) : inner_(inner) {}
    void submit(std::span<Request* const> batch, Arrival when) override {
      for (const Request* const each : batch) {
        if (each->verb == Verb::reset) throw NotHere("Redis alone forgets a key");
        if (each->verb == Verb::holds) throw NotHere("Redis alone knows which holds are open");
        const auto is_window = [](const Check& check) {
          const Algorithm algorithm = check.limit->rule.algorithm;
          return algorithm != Algorithm::gcra && !core::counts_slots(algorithm);
        };
        if (std::ranges::any_of(each->checks, is_window)) throw NotHere("the fallback counts by GCRA");
        if (each->verb != Verb::reserve || each->checks.size() > 1) expect_possible(*each);
      }
      inner_.submit(batch, when);
    }
    void cancel(Request& pending) override { inner_.cancel(pending); }
    void give_back(const Request& charged, nanoseconds now) override { inner_.give_back(charged, now); }

   private:
    static void expect_possible(const Request& request) {
      for (std::size_t i = 0; i < request.checks.size(); ++i) {
        const Check& each = request.checks[i];
        const std::uint64_t least =
            request.take != nullptr ? request.take->unit.at(i) * request.take->least : 0;
        if (std::max(each.cost.units, least) > core::most_units(each.limit->rule))
          throw NotHere("what no time admits the fallback does not look for");
      }
    }

    Store& inner_;
  };

  Asked store_{RedisWorld::store()};
};

}  // namespace weir::store::conformance
