// Where states lie: the table of this process, and a Redis that it shares with others. Each can go on in
// another process.
#pragma once

#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "conformance/acquiring_world.hpp"
#include "conformance/redis_world.hpp"
#include "conformance/simulated_redis.hpp"
#include "conformance/world.hpp"
#include "store/snapshot.hpp"
#include "verbs/oracle.hpp"

namespace weir::inline v0_1::verbs {

using std::chrono::nanoseconds;

class Place {
 public:
  Place() = default;
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  virtual ~Place() = default;

  store::conformance::World& world() { return *world_; }
  virtual Can can() const = 0;
  // The table of this process.
  virtual store::EmbeddedStore& table() = 0;
  // Another process goes on with what this one leaves.
  virtual void go_on(bool takes_over) = 0;

 protected:
  // In which requests can wait, too.
  void put(std::unique_ptr<store::conformance::World> inner) {
    world_ = std::make_unique<store::conformance::AcquiringWorld>(std::move(inner));
  }

 private:
  std::unique_ptr<store::conformance::World> world_;
};

class TableWorld final : public store::conformance::World {
 public:
  TableWorld(core::HashKey seed, nanoseconds now) : store_(1_MiB, WhenFull::deny, seed), now_(now) {}

  store::Store& store() override { return store_; }
  nanoseconds now() const override { return now_; }
  void advance(nanoseconds time) override { now_ += time; }
  void settle() override {}
  store::Reservations* reservations() override { return &store_.reservations(); }
  nanoseconds wall_ahead() const override { return std::chrono::milliseconds{1'700'000'000'123}; }
  store::EmbeddedStore& table() { return store_; }

 private:
  store::EmbeddedStore store_;
  nanoseconds now_;
};

class TablePlace final : public Place {
 public:
  TablePlace() { put_table({1, 2}, 1'000'000s); }
  ~TablePlace() override { std::filesystem::remove_all(path_); }

  Can can() const override { return {}; }
  store::EmbeddedStore& table() override { return inner_->table(); }
  void go_on(bool takes_over) override {
    const OneClock clock{world().now()};
    store::EmbeddedStore& from = table();
    check(store::save_snapshot(from.table(), path_, clock, &from.reservations()));
    auto file = check(store::SnapshotFile::open(path_, clock));
    put_table(file.seed(), clock.now);
    store::EmbeddedStore& to = table();
    check(takes_over ? file.take_over_into(to.table(), clock.now, to.reservations(), 2)
                     : file.restore_into(to.table(), clock.now, &to.reservations()));
  }

 private:
  // All of them say the same time.
  struct OneClock final : store::SystemClocks {
    explicit OneClock(nanoseconds it_is) : now(it_is) {}
    nanoseconds now;
    nanoseconds steady() const override { return now; }
    nanoseconds booted() const override { return now; }
    nanoseconds wall() const override { return now; }
    std::array<char, 16> boot_id() const override { return {'x'}; }
  };
  template <class Value>
  static Value check(tl::expected<Value, std::string> made) {
    if (!made) throw std::runtime_error(made.error());
    return *std::move(made);
  }
  void put_table(core::HashKey seed, nanoseconds now) {
    auto inner = std::make_unique<TableWorld>(seed, now);
    inner_ = inner.get();
    put(std::move(inner));
  }

  const std::string path_ = testing::TempDir() + "weir_verbs_" + std::to_string(getpid());
  TableWorld* inner_ = nullptr;
};

// A server with that Redis; the next process is another one with the same.
class RedisPlace final : public Place {
 public:
  explicit RedisPlace(std::unique_ptr<store::conformance::Upstream> redis) : redis_(std::move(redis)) {
    begin();
  }

  Can can() const override { return {.shared = true, .counts_logs = true}; }
  store::EmbeddedStore& table() override { return inner_->local(); }
  void go_on(bool) override {
    const nanoseconds now = world().now();
    begin();
    world().advance(now - world().now());
  }

 private:
  class ToTheOne final : public store::conformance::Upstream {
   public:
    explicit ToTheOne(store::conformance::Upstream& one) : one_(one) {}
    std::string answer(std::vector<std::string> command, nanoseconds wall) override {
      return one_.answer(std::move(command), wall);
    }

   private:
    store::conformance::Upstream& one_;
  };
  // Nothing is remembered of denials: they are told while the store is away, too.
  void begin() {
    auto inner = std::make_unique<store::conformance::RedisWorld>(
        std::make_unique<ToTheOne>(*redis_), false, store::Sharing{},
        redis::SharedStore::Options{.remember_denials = false});
    inner_ = inner.get();
    put(std::move(inner));
  }

  std::unique_ptr<store::conformance::Upstream> redis_;
  store::conformance::RedisWorld* inner_ = nullptr;
};

}  // namespace weir::verbs
