// The ledger beside a model that is slow and obvious, and beside a referee that sees only what acted, when,
// and what it cost in the end.
#include "store/ledger.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/chance_test.hpp"

namespace weir::inline v0_1::store {
namespace {

using Time = Ledger::Time;
using core::Chance;

// Every grant that ever was, in a list by the moments at which they act, and the ends of pauses among them.
// What is owed is computed from the first one on, each time.
class Model {
 public:
  Model(Time interval, Time burst) : interval_(interval), burst_(burst) {}

  Time full() const { return burst_ * interval_; }
  Time interval() const { return interval_; }
  Time burst() const { return burst_; }
  Time pause_end() const { return pause_end_; }

  Time owed_at(Time at) const {
    Time tat = base_;
    for (const Member& member : members_) {
      if (member.at <= at) tat = after(tat, member);
    }
    return tat;
  }
  bool fits(Time at, Time units, Time room) const {
    if (units == 0) return true;
    if (at < pause_end_) return false;
    Time tat = owed_at(at);
    tat = std::max(tat, at) + units * interval_;
    if (tat > at + room) return false;
    for (const Member& member : members_) {
      if (member.at <= at) continue;
      tat = after(tat, member);
      if (member.open && member.units > 0 && tat > member.at + full()) return false;
    }
    return true;
  }
  Time most(Time at, Time room) const {
    Time units = 0;
    while (units < burst_ && fits(at, units + 1, room)) ++units;
    return units;
  }

  void put(Time at, Time units, int id, bool open) {
    insert({.at = at, .units = units, .id = id, .open = open}, true);
  }
  void remove(int id) { members_.erase(find(id)); }
  void settle(int id, Time units) {
    find(id)->units = units;
    find(id)->open = false;
  }
  void pause(Time end, Time now) {
    const auto of_pause =
        std::find_if(members_.begin(), members_.end(), [](const Member& each) { return each.runs; });
    if (of_pause != members_.end()) {
      of_pause->runs = false;
      if (of_pause->at > now) members_.erase(of_pause);
    }
    pause_end_ = std::max(pause_end_, end);
    insert({.at = pause_end_, .id = -1, .is_pause = true, .runs = true}, false);
  }
  Time refund(Time units, Time now) {
    fold(now);
    const Time back = std::min(units, (std::max(base_ - now, Time{0}) + interval_ - 1) / interval_);
    base_ = std::max(std::min(base_, now), base_ - back * interval_);
    return back;
  }
  void recount(Time now, Time interval, Time burst) {
    // The pause that has ended, if any, asks for what it does by the new numbers, and what has acted since is
    // owed beyond that.
    const auto recounted = [&](Time time) {
      return (std::max(time, Time{0}) + interval_ - 1) / interval_ * interval;
    };
    Time tat = base_, since = 0;
    bool has_ended = false;
    for (const Member& member : members_) {
      if (member.at > now) break;
      if (member.is_pause && member.runs) has_ended = true;
      if (member.is_pause && member.runs) continue;
      tat = after(tat, member);
      if (has_ended) since += member.units * interval_;
    }
    base_ = now + recounted(tat - now);
    if (has_ended) base_ = std::max(base_, pause_end_ + (burst - 1) * interval + recounted(since));
    std::erase_if(members_, [&](const Member& each) { return each.at <= now; });
    if (pause_end_ <= now) pause_end_ = 0;
    interval_ = interval;
    burst_ = burst;
  }
  // Nothing is lost by it but what cannot change.
  void fold(Time now) {
    while (!members_.empty() && !members_.front().open && members_.front().at <= now) {
      base_ = after(base_, members_.front());
      members_.erase(members_.begin());
    }
  }

 private:
  struct Member {
    Time at = 0;
    Time units = 0;
    int id = 0;
    bool open = false;
    bool is_pause = false;
    bool runs = false;  // the pause that a later one moves
  };

  Time after(Time tat, const Member& member) const {
    if (member.is_pause) return std::max(tat, member.at + (burst_ - 1) * interval_);
    return std::max(tat, member.at) + member.units * interval_;
  }
  void insert(const Member& member, bool after_equals) {
    const auto before = [&](const Member& each) {
      return each.at < member.at || (after_equals && each.at == member.at);
    };
    members_.insert(std::find_if_not(members_.begin(), members_.end(), before), member);
  }
  std::vector<Member>::iterator find(int id) {
    return std::find_if(members_.begin(), members_.end(), [&](const Member& each) { return each.id == id; });
  }

  Time interval_, burst_;
  Time base_ = 0;
  Time pause_end_ = 0;
  std::vector<Member> members_;
};

// Both, and what is open in them.
struct Key {
  struct Open {
    Ledger::Place place;
    Time at;
    Time units;
  };
  Key(Time interval, Time burst) : ledger(interval), model(interval, burst) {}

  Ledger::Room room(Time less = 0) const { return {model.full(), model.full() - less}; }
  void put(Time at, Time units, int id) {
    open[id] = {ledger.put(at, static_cast<std::uint64_t>(units)), at, units};
    model.put(at, units, id, true);
  }
  void put_over(Time at, Time units, int id) {
    ledger.put_over(at, static_cast<std::uint64_t>(units), model.full());
    model.put(at, units, id, false);
  }
  void settle(int id, Time units) {
    EXPECT_TRUE(ledger.change(open.at(id).place, static_cast<std::uint64_t>(units)));
    EXPECT_TRUE(ledger.close(open.at(id).place));
    model.settle(id, units);
    open.erase(id);
  }
  void remove(int id) {
    EXPECT_TRUE(ledger.remove(open.at(id).place));
    model.remove(id);
    open.erase(id);
  }
  std::vector<int> opened(Time now, bool ahead) const {
    std::vector<int> ids;
    for (const auto& [id, each] : open) {
      if ((each.at > now) == ahead) ids.push_back(id);
    }
    return ids;
  }

  Ledger ledger;
  Model model;
  std::map<int, Open> open;
};

constexpr Time kHorizon = 400;

// By trying every moment.
Time earliest_of(const std::vector<Key>& keys, const std::vector<Time>& costs, const std::vector<Time>& rooms,
                 Time now) {
  for (Time at = now;; ++at) {
    bool all = true;
    for (std::size_t i = 0; i < keys.size(); ++i) all = all && keys[i].model.fits(at, costs[i], rooms[i]);
    if (all || at > now + kHorizon) return at;
  }
}

class ManyKeys {
 public:
  explicit ManyKeys(std::uint64_t seed) : chance_(seed) {
    const auto count = 1 + chance_.up_to(2);
    for (Time i = 0; i < count; ++i) keys_.emplace_back(1 + chance_.up_to(2), 1 + chance_.up_to(4));
  }

  // False: they differ.
  bool step() {
    now_ += std::vector<Time>{0, 0, 0, 1, 1, 2, 3, 5}[static_cast<std::size_t>(chance_.up_to(7))];
    Key& key = keys_[static_cast<std::size_t>(chance_.up_to(static_cast<Time>(keys_.size()) - 1))];
    for (Key& each : keys_) {
      each.ledger.fold(now_, each.model.full());
      each.model.fold(now_);
    }
    const auto any = [&](const std::vector<int>& ids) {
      return ids[static_cast<std::size_t>(chance_.up_to(static_cast<Time>(ids.size()) - 1))];
    };
    ++id_;
    switch (chance_.up_to(9)) {
      case 0:
      case 1: {
        const Time units = 1 + chance_.up_to(key.model.burst() - 1);
        if (key.ledger.most(now_, key.room()) >= static_cast<std::uint64_t>(units))
          key.put_over(now_, units, id_);
        break;
      }
      case 2:
      case 3:
      case 4:
        reserve();
        break;
      case 5:
        if (const auto ids = key.opened(now_, true); !ids.empty()) key.remove(any(ids));
        break;
      case 6:
        if (const auto ids = key.opened(now_, false); !ids.empty()) {
          const int id = any(ids);
          key.settle(id, chance_.up_to(key.open.at(id).units + (chance_.up_to(5) == 0 ? 2 : 0)));
        }
        break;
      case 7:
        pause(key, now_ + 1 + chance_.up_to(5));
        break;
      case 8: {
        const auto given = key.ledger.refund(2, now_);
        if (static_cast<Time>(given) != key.model.refund(2, now_)) return false;
        break;
      }
      default:
        change(key);
        break;
    }
    return agree();
  }

 private:
  void reserve() {
    std::vector<Time> costs, rooms;
    for (const Key& key : keys_) {
      const Time less = chance_.up_to(3) == 0 ? chance_.up_to(key.model.full() - key.model.interval()) : 0;
      rooms.push_back(key.model.full() - less);
      costs.push_back(1 + chance_.up_to(rooms.back() / key.model.interval() - 1));
    }
    // Each key raises it in turn, until none does.
    Time at = now_;
    for (std::size_t agreed = 0, i = 0; agreed < keys_.size(); i = (i + 1) % keys_.size()) {
      const auto units = static_cast<std::uint64_t>(costs[i]);
      const Time next = keys_[i].ledger.earliest(at, units, {keys_[i].model.full(), rooms[i]});
      agreed = next == at ? agreed + 1 : 1;
      at = next;
    }
    const Time expected = earliest_of(keys_, costs, rooms, now_);
    EXPECT_EQ(at, expected);
    if (at != expected) wrong_ = true;
    for (std::size_t i = 0; i < keys_.size(); ++i) keys_[i].put(at, costs[i], id_);
  }
  // Those who were told a moment in it are cancelled, as they are told when they ask.
  void pause(Key& key, Time end) {
    key.ledger.pause(end, false, now_, key.model.full());
    key.model.pause(end, now_);
    for (const int id : key.opened(now_, true)) {
      if (key.open.at(id).at < end && chance_.up_to(3) != 0) key.remove(id);
    }
  }
  void change(Key& key) {
    if (chance_.up_to(3) != 0) return;
    const Time interval = 1 + chance_.up_to(2), burst = 1 + chance_.up_to(4);
    if (interval == key.model.interval()) return;
    key.ledger = key.ledger.recounted(now_, interval, burst * interval);
    key.model.recount(now_, interval, burst);
    for (const int id : key.opened(now_, false)) key.open.erase(id);
  }
  bool agree() {
    for (const Key& key : keys_) {
      if (key.ledger.pause_end() != 0 && key.ledger.pause_end() != key.model.pause_end()) return false;
      for (Time at = now_; at < now_ + 12; ++at) {
        const Time ours = std::max(key.ledger.owed_at(at, key.model.full()), at);
        if (ours != std::max(key.model.owed_at(at), at)) return false;
        for (const Time less : {Time{0}, key.model.full() / 2}) {
          const Time most = key.model.most(at, key.model.full() - less);
          if (static_cast<Time>(key.ledger.most(at, key.room(less))) != most) return false;
        }
      }
    }
    return !wrong_;
  }

  Chance chance_;
  std::vector<Key> keys_;
  Time now_ = 0;
  int id_ = 0;
  bool wrong_ = false;
};

TEST(Ledger, is_what_a_list_of_all_grants_says) {
  for (std::uint64_t seed = 0; seed < 4'000; ++seed) {
    ManyKeys world(seed);
    for (int step = 0; step < 30; ++step) ASSERT_TRUE(world.step()) << "world " << seed << ", step " << step;
  }
}

}  // namespace
}  // namespace weir::store
