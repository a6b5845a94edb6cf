// Whatever has been asked of a store: what it saves is read again, and answers as the store that was saved.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "store/embedded_store.hpp"
#include "store/snapshot.hpp"

namespace weir::inline v0_1::store::snapshot_trace_test {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr core::HashKey kSeed{1, 2};
constexpr std::array kKeys = {"a", "b", "c"};

// All of them say the same time.
struct OneClock final : SystemClocks {
  nanoseconds now = 1'000'000s;
  nanoseconds steady() const override { return now; }
  nanoseconds booted() const override { return now; }
  nanoseconds wall() const override { return now; }
  std::array<char, 16> boot_id() const override { return {'x'}; }
};

std::vector<Limit> limits_of_all_algorithms() {
  std::vector<Limit> limits;
  std::uint64_t id = 1;
  for (const char* const rule :
       {"1/s burst 4", "3/10s algorithm=fixed_window", "3/10s algorithm=fixed_window align=clock",
        "3/10s algorithm=sliding_window_counter", "3/hour align=calendar", "in_flight=2"})
    limits.push_back({.rule = core::Rule::parse(rule).value(), .id = id++});
  // Under other numbers too, and one that remembers who was denied.
  limits.push_back({.rule = core::Rule::parse("2/s burst 7").value(), .id = 1});
  limits.push_back({.rule = core::Rule::parse("1/s burst 1").value(),
                    .id = id,
                    .penalty = {.time = 5s, .growing = 2000, .most = 1min}});
  return limits;
}

// What may be asked of a store, with all that it points to.
struct Asked : Request {
  std::vector<Check> all;
  ReservationTerms booking{};
  ChargeTerms charging{};
  TakeTerms taking{};

  explicit Asked(Verb what, std::vector<Check> of = {}) : all(std::move(of)) {
    checks = all;
    verb = what;
    reservation = &booking;
    charge = &charging;
    take = &taking;
    for (std::size_t i = 0; i < all.size(); ++i) taking.unit[i] = all[i].cost.units;
  }
};

struct World {
  EmbeddedStore store{1_MiB, WhenFull::deny, kSeed};

  void ask(Asked& asked, nanoseconds now) {
    Request* const batch[] = {&asked};
    store.submit(batch, {now, now});
  }
  // What is told of every key. Not of slots and reservations: a store that is opened forgets some of them
  // early.
  std::string tell(const std::vector<Limit>& limits, nanoseconds now) {
    std::string text;
    for (const Limit& limit : limits) {
      if (core::counts_slots(limit.rule.algorithm)) continue;
      for (const char* const key : kKeys) {
        Asked looks(Verb::look, {{.limit = &limit, .key = key}});
        ask(looks, now);
        const Decision& told = looks.decision();
        text += core::to_text(limit.rule) + " " + key + ": " +
                std::to_string(static_cast<int>(told.verdict)) + " " + std::to_string(told.remaining) + " " +
                std::to_string(told.reset_after.count()) + " " +
                std::to_string(told.retry_after.value_or(0ns).count()) + "\n";
      }
    }
    return text;
  }
};

class SnapshotTrace : public testing::Test {
 protected:
  SnapshotTrace() { std::filesystem::create_directory(directory_); }
  ~SnapshotTrace() override { std::filesystem::remove_all(directory_); }

  // A random one of all verbs.
  void step(World& world) {
    const auto one_of = [this](std::size_t count) {
      return static_cast<std::size_t>(chance_.up_to(static_cast<std::int64_t>(count) - 1));
    };
    constexpr std::array kVerbs = {Verb::check,  Verb::look,   Verb::reset,   Verb::charge,  Verb::charge,
                                   Verb::charge, Verb::take,   Verb::reserve, Verb::reserve, Verb::cancel,
                                   Verb::settle, Verb::extend, Verb::moment,  Verb::holds};
    const Verb verb = kVerbs[one_of(kVerbs.size())];
    std::vector<Check> checks;
    const std::size_t count = 1 + (one_of(4) == 0 ? 1 : 0);
    for (std::size_t i = 0; i < count && (verb < Verb::moment || verb == Verb::holds); ++i)
      checks.push_back({.limit = &limits_[one_of(limits_.size())],
                        .key = kKeys[one_of(kKeys.size())],
                        .cost = Cost{one_of(4)},
                        .shadow = i > 0 && one_of(2) == 0});
    Asked asked(verb, std::move(checks));
    asked.booking.max_wait = 1s * one_of(4);
    asked.booking.hold = 1s * one_of(30);
    asked.booking.actual = one_of(6);
    if (!ids_.empty()) asked.booking.id = ids_[one_of(ids_.size())];
    // No pause: it moves the end of a hold over several keys, and a key that is as if never used has
    // forgotten by how much.
    constexpr std::array kForms = {Outside::Form::cost, Outside::Form::remaining, Outside::Form::refund,
                                   Outside::Form::refund};
    asked.charging.outside = Outside{kForms[one_of(kForms.size())], one_of(5), 1min};
    asked.charging.decides = one_of(2) == 0;
    asked.taking.most = 1 + one_of(4);
    world.ask(asked, clock_.now);
    if (verb == Verb::reserve && asked.fault == Fault::none && !asked.booking.id.empty())
      ids_.push_back(asked.booking.id);
    clock_.now += 100ms * one_of(8);
  }

  core::Chance chance_;
  OneClock clock_;
  const std::vector<Limit> limits_ = limits_of_all_algorithms();
  std::vector<std::string> ids_;
  const std::string directory_ = testing::TempDir() + "weir_snapshot_trace_" + std::to_string(getpid());
  const std::string path_ = directory_ + "/weir.snapshot";
};

TEST_F(SnapshotTrace, of_all_verbs_and_algorithms_is_saved_opened_and_equal) {
  for (int trace = 0; trace < 150; ++trace) {
    const auto one = std::make_unique<World>();
    ids_.clear();
    for (auto steps = chance_.up_to(60); steps > 0; --steps) step(*one);
    const auto saved = save_snapshot(one->store.table(), path_, clock_, &one->store.reservations());
    ASSERT_TRUE(saved) << trace << ": " << saved.error();
    clock_.now += 1ns;  // no hold ends just now
    auto file = SnapshotFile::open(path_, clock_);
    ASSERT_TRUE(file) << trace << ": " << file.error();
    const auto other = std::make_unique<World>();
    ASSERT_TRUE(file->restore_into(other->store.table(), clock_.now, &other->store.reservations())) << trace;
    ASSERT_EQ(other->tell(limits_, clock_.now), one->tell(limits_, clock_.now)) << trace;
  }
}

// The window goes on to its end, with nothing used.
TEST_F(SnapshotTrace, of_a_window_that_was_given_back_whole_is_read_again) {
  World one;
  Asked counted(Verb::check, {{.limit = &limits_[1], .key = "a"}});
  one.ask(counted, clock_.now);
  Asked refunded(Verb::charge, {{.limit = &limits_[1], .key = "a"}});
  refunded.charging.outside = Outside{Outside::Form::refund, 1, 0s};
  one.ask(refunded, clock_.now);
  const auto saved = save_snapshot(one.store.table(), path_, clock_, &one.store.reservations());
  ASSERT_TRUE(saved) << saved.error();
  EXPECT_EQ(*saved, 1U);
  clock_.now += 4s;
  auto file = SnapshotFile::open(path_, clock_);
  ASSERT_TRUE(file) << file.error();
  World other;
  ASSERT_TRUE(file->restore_into(other.store.table(), clock_.now, &other.store.reservations()));
  Asked again(Verb::check, {{.limit = &limits_[1], .key = "a", .cost = Cost{3}}});
  other.ask(again, clock_.now);
  EXPECT_TRUE(again.allowed());
  EXPECT_EQ(again.decision().reset_after, 6s);
}

// A disk that gives back something else than what was written.
class LyingDisk final : public Disk {
 public:
  bool lies = false;
  std::ptrdiff_t read(int file, char* data, std::size_t size) override {
    const std::ptrdiff_t got = Disk::read(file, data, size);
    if (lies && got > 0) data[got - 1] = static_cast<char>(data[got - 1] ^ 1);
    return got;
  }
};

TEST_F(SnapshotTrace, that_cannot_be_read_again_leaves_the_one_before) {
  World world;
  LyingDisk disk;
  ASSERT_TRUE(save_snapshot(world.store.table(), path_, clock_, &world.store.reservations(), disk));
  Asked counted(Verb::check, {{.limit = &limits_[0], .key = "a"}});
  world.ask(counted, clock_.now);
  disk.lies = true;
  const auto saved = save_snapshot(world.store.table(), path_, clock_, &world.store.reservations(), disk);
  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().find("damaged"), std::string::npos) << saved.error();
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(directory_)) ++files;
  EXPECT_EQ(files, 1U);
  EXPECT_TRUE(SnapshotFile::open(path_, clock_));
}

}  // namespace
}  // namespace weir::store::snapshot_trace_test
