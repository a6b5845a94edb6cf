// What the soak checks, as it happens: each request is answered once and in time, what the store is said to
// have decided is what it decided of that very request, and no key is admitted more than it is promised.
//
// What is promised of a key (docs/redis-failures.md):
// - by the store, leases included, over all processes: burst + W / T in any span W;
// - by the fallback of a process: its share of that, the debt of the last answer of the store included.
// What comes on top is granted in units: what is forgotten twice when the store's clock steps forward or a
// key is reset while units of it are out as a lease or to be given back.
//
// One thread. Says what was wrong first, and then no more.
#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "redis/kept_check.hpp"
#include "redis/shared_world_test.hpp"
#include "soak/account.hpp"

namespace weir::inline v0_1::soak {

using redis::AskedRequest;
using redis::Cause;
using redis::Deed;
using redis::SharedWorld;

// A key, and what is asked of it.
struct Key {
  enum class Kind : std::uint8_t { plain, given_back, leased, joint, reset, foreign, window, flood };
  Kind kind = Kind::plain;
  std::string name{};
  core::Rule rule = redis::rule("1/s");
  OnStoreError on_error = OnStoreError::local;
  std::uint64_t lease = 0;
  bool merge = false;

  std::int64_t burst() const { return rule.quota.burst(); }
  nanoseconds interval() const { return rule.quota.emission_interval(); }
};

class Ledger {
 public:
  struct Tally {
    std::uint64_t requests = 0, by_store = 0, remembered = 0, leased = 0, by_fallback = 0, merged = 0;
    std::uint64_t foreign = 0, given_back = 0, cancelled = 0, allowed = 0;
    std::map<std::string, std::uint64_t> causes{};
  };

  // `shares` of the limits, and which processes are threads of one (`homes`).
  Ledger(SharedWorld& world, const std::vector<Key>& keys, std::vector<std::size_t> homes, double share)
      : world_(world), homes_(std::move(homes)), share_(share) {
    for (const Key& key : keys) {
      Kept& kept = kept_[key.name];
      kept.key = key;
      kept.by_store = Account(key.burst(), key.interval());
      // The interval is scaled, so that no share is rounded up to the whole.
      const auto interval =
          static_cast<std::int64_t>(std::ceil(static_cast<double>(key.interval().count()) / share_));
      const auto burst = static_cast<std::int64_t>(std::floor(static_cast<double>(key.burst()) * share_));
      kept.share = Quota::make({1, nanoseconds{interval}}, std::max<std::int64_t>(1, burst)).value();
    }
    world_.on_told = [this](std::size_t id) { told(id); };
    world_.on_delivering = [this](const Deed& deed) { delivering(deed); };
    world_.on_delivered = [this](const Deed& deed, const std::vector<std::size_t>& ids) {
      delivered(deed, ids);
    };
  }
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // What the soak does.
  void asked(std::size_t id) {
    ++tally.requests;
    const AskedRequest& question = world_.question(id);
    open_.insert(id);
    for (std::size_t i = 0; i < question.names.size(); ++i) resets_[id].push_back(resets_of(id, i));
    if (world_.requests[id].told) told(id);
  }
  void cancelled(std::size_t id) {
    ++tally.cancelled;
    open_.erase(id);
  }
  void given_back(std::size_t id) {
    ++tally.given_back;
    const AskedRequest& question = world_.question(id);
    if (question.source == Source::fallback) return fallback_given_back(id);
    for (const auto& [name, when, units] : admitted_[id]) {
      Account& account = kept_.at(name).by_store;
      account.take_back(when, units);
      // It may be taken off the debt of others then.
      if (account.forgotten_since(when)) account.grant(moment(), units);
    }
  }
  void store_stepped(nanoseconds by) {
    has_stepped_ = true;
    if (by <= 0ns) return;
    for (auto& [name, kept] : kept_) {
      kept.by_store.drain(moment(), by);
      grant_what_is_out(kept);
    }
  }
  void overwritten(const std::string& name) { kept_.at(name).by_store.forget(moment()); }

  void settle() {
    look_at_deeds();
    for (auto& [name, kept] : kept_) {
      kept.by_store.settle(world_.now - 2s);
      for (auto& [home, account] : kept.local) account.settle(account_time_.at(home) - 1s);
    }
    while (!parts_.empty() && parts_.front().at < world_.now - 2s) parts_.pop_front();
  }
  void finish() {
    for (const std::size_t id : open_) say("request " + std::to_string(id) + " was never answered");
    if (!unmatched_.empty()) say("decided by the store without its answer");
  }

  void say(const std::string& what) {
    if (wrong.empty()) wrong = "at " + std::to_string(world_.now.count()) + ": " + what;
  }

  std::string wrong;
  Tally tally;

 private:
  struct Kept {
    Key key{};
    Account by_store{};
    Quota share = key.rule.quota;
    std::map<std::size_t, Account> local{};          // by home, on its clock
    std::map<std::size_t, nanoseconds> denied_at{};  // by home: the last denial that it heard of
  };
  struct Admission {
    std::string name;
    Account::Moment when;
    std::uint64_t units;
  };
  // An answer to a part of a joint request.
  struct Part {
    nanoseconds at;
    Account::Moment heard;  // on the clock of the process
    std::size_t process;
    std::size_t deed;
  };
  static constexpr nanoseconds kTolerance = 2us;  // the store counts in whole ones

  Account::Moment moment() const { return {world_.now, 2 * world_.deeds.size() - 1}; }
  Account::Moment moment_of(std::size_t deed) const { return {world_.deeds[deed].at, 2 * deed}; }
  std::uint32_t resets_of(std::size_t id, std::size_t i) {
    const AskedRequest& question = world_.question(id);
    redis::ProcessMemory& memory = world_.home(world_.requests[id].process).memory;
    return memory.resets.of(memory.hash_of(question.list[i].limit->id, question.names[i])).load();
  }
  std::string about(std::size_t id) const {
    const SharedWorld::Request& request = world_.requests[id];
    std::string text =
        "request " + std::to_string(id) + " of process " + std::to_string(request.process) + " (";
    for (const std::string& name : world_.question(id).names) text += name + " ";
    return text + "cost " + std::to_string(world_.question(id).list[0].cost.units) + "), " + world_.took(id);
  }

  void grant_what_is_out(Kept& kept) {
    using Kind = Key::Kind;
    // The lease that a thread has, and the one that it gets.
    if (kept.key.kind == Kind::leased) kept.by_store.grant(moment(), 2 * kept.key.lease * homes_.size());
    if (kept.key.kind == Kind::joint && world_.cluster)
      kept.by_store.grant(moment(), static_cast<std::uint64_t>(kept.key.burst()));
  }

  void look_at_deeds() {
    for (; seen_ < world_.deeds.size(); ++seen_) {
      const Deed& deed = world_.deeds[seen_];
      if (deed.name != "reset" || !deed.ran) continue;
      for (const Deed::Part& part : deed.parts) {
        Kept& kept = kept_.at(part.key);
        kept.by_store.forget(moment_of(seen_));
        if (kept.key.kind == Key::Kind::leased)
          kept.by_store.grant(moment_of(seen_), 2 * kept.key.lease * homes_.size());
      }
    }
  }

  void told(std::size_t id) {
    if (open_.erase(id) == 0) return;  // inside submit(): asked() sees to it
    look_at_deeds();
    const SharedWorld::Request& request = world_.requests[id];
    const AskedRequest& question = world_.question(id);
    const std::size_t process = request.process;
    account_time_[homes_[process]] = world_.time_of(process);
    if (request.cancelled) say(about(id) + ": answered though it was cancelled");
    if (world_.time_of(process) > request.due && world_.now > world_.jumped_at(process))
      say(about(id) + ": answered late, by " +
          std::to_string((world_.time_of(process) - request.due).count()) + " ns");
    if (question.charged) ++tally.allowed;
    switch (question.source) {
      case Source::store:
        by_store(id);
        break;
      case Source::remembered:
        remembered(id);
        break;
      case Source::leased:
        ++tally.leased;
        if (kept_.at(request.key).key.kind != Key::Kind::leased)
          say(about(id) + ": of a lease that nobody wished");
        admit(id, kept_.at(request.key), moment(), request.cost.units);
        break;
      case Source::fallback:
        ++tally.by_fallback;
        ++tally.causes[std::string(question.why)];
        if (question.names.size() == 1) fell_back(id);
        break;
      default:
        say(about(id) + ": decided by nobody");
    }
    if (question.names.size() > 1) joint(id);
  }

  void by_store(std::size_t id) {
    const AskedRequest& question = world_.question(id);
    if (question.fault == Fault::none) {
      ++tally.by_store;
      if (question.names.size() > 1) return;
      unmatched_.push_back(id);
      learn(id, 0, local_moment(id));
    } else if (question.fault != Fault::foreign_value ||
               kept_.at(question.names[question.by]).key.kind != Key::Kind::foreign) {
      say(about(id) + ": refused");
    } else {
      ++tally.foreign;
    }
  }

  void remembered(std::size_t id) {
    ++tally.remembered;
    const AskedRequest& question = world_.question(id);
    if (question.decision().verdict != Verdict::denied) say(about(id) + ": remembered, and no denial");
    if (!was_denied(id)) say(about(id) + ": a denial is remembered that is too old, or never was");
    const auto wait = question.decision().retry_after.value_or(0ns);
    if (wait <= 0ns) say(about(id) + ": denied for no time");
  }

  bool was_denied(std::size_t id) const {
    const AskedRequest& question = world_.question(id);
    const Kept& kept = kept_.at(question.names[question.by]);
    const auto heard = kept.denied_at.find(homes_[world_.requests[id].process]);
    return heard != kept.denied_at.end() && heard->second > world_.now - redis::DenialMemory::kReask;
  }

  void fell_back(std::size_t id) {
    const AskedRequest& question = world_.question(id);
    const std::uint64_t units = question.list[0].cost.units;
    if (!question.charged || units == 0) return;
    const Kept& kept = kept_.at(question.names[0]);
    if (units > static_cast<std::uint64_t>(kept.key.burst())) say(about(id) + ": more than the burst");
    if (kept.key.on_error == OnStoreError::deny) say(about(id) + ": allowed, where the fallback is to deny");
    if (kept.key.on_error == OnStoreError::local) admit_locally(id, question.names[0], units);
  }

  // Of several checks, each is decided by the store or by the fallback.
  void joint(std::size_t id) {
    const AskedRequest& question = world_.question(id);
    if (question.fault != Fault::none || question.source == Source::remembered) return;
    if (!match_joint(id)) say(about(id) + ": that is not what the store decided");
    if (!question.charged) return;
    for (std::size_t i = 0; i < question.names.size(); ++i) {
      const store::Check& check = question.list[i];
      if (check.hash == 0) continue;
      const Kept& kept = kept_.at(question.names[i]);
      if (check.hash == redis::Fallback::kUncounted) {
        if (kept.key.on_error != OnStoreError::allow && check.cost.units > 0)
          say(about(id) + ": allowed, and counted by nobody");
      } else if (check.cost.units > 0) {
        admit_locally(id, question.names[i], check.cost.units);
      }
    }
  }

  // The fallback continues from what an answer said when it was heard.
  void learn(std::size_t id, std::size_t i, Account::Moment heard) {
    const AskedRequest& question = world_.question(id);
    const store::Check& check = question.list[i];
    Kept& kept = kept_.at(question.names[i]);
    if (kept.key.on_error != OnStoreError::local || resets_.at(id)[i] != resets_of(id, i)) return;
    if (!question.charged && check.decision.allowed() && check.cost.units > 0) return;
    const nanoseconds most = kept.key.interval() * (kept.key.burst() - check.decision.remaining);
    auto debt = static_cast<long double>(std::min(check.decision.reset_after, most).count());
    debt *= static_cast<long double>((kept.share.emission_interval() * kept.share.burst()).count()) /
            static_cast<long double>((kept.key.interval() * kept.key.burst()).count());
    local(id, kept).raise(heard, nanoseconds{static_cast<std::int64_t>(debt)});
  }

  Account& local(std::size_t id, Kept& kept) {
    const std::size_t home = homes_[world_.requests[id].process];
    return kept.local.try_emplace(home, kept.share.burst(), kept.share.emission_interval()).first->second;
  }
  Account::Moment local_moment(std::size_t id) {
    return {world_.time_of(world_.requests[id].process), ++locals_};
  }
  void admit_locally(std::size_t id, const std::string& name, std::uint64_t units) {
    Account& account = local(id, kept_.at(name));
    account.admit(local_moment(id), units);
    if (account.excess() > kTolerance)
      say(about(id) + ": the fallback has admitted " + std::to_string(account.excess().count()) +
          " ns too much of " + name);
  }
  void fallback_given_back(std::size_t id) {
    const AskedRequest& question = world_.question(id);
    for (std::size_t i = 0; i < question.names.size(); ++i) {
      const store::Check& check = question.list[i];
      Kept& kept = kept_.at(question.names[i]);
      if (check.hash == 0 || check.hash == redis::Fallback::kUncounted) continue;
      const nanoseconds owed = kept.share.emission_interval() * static_cast<std::int64_t>(check.cost.units) -
                               (local_moment(id).at - question.charged_at);
      if (owed > 0ns) local(id, kept).drain(local_moment(id), owed);
    }
  }

  void admit(std::size_t id, Kept& kept, Account::Moment when, std::uint64_t units) {
    if (units == 0) return;
    if (kept.by_store.settled(when.at)) say(about(id) + ": of a time long gone");
    if (kept.key.kind == Key::Kind::window) return;
    kept.by_store.admit(when, units);
    if (kept.key.kind == Key::Kind::given_back || kept.key.kind == Key::Kind::joint)
      admitted_[id].push_back({kept.key.name, when, units});
    if (kept.by_store.excess() > kTolerance)
      say(about(id) + ": the store has admitted " + std::to_string(kept.by_store.excess().count()) +
          " ns too much of " + kept.key.name);
  }

  // ------------------------------------------------------------------------- what the store has decided

  // An answer comes.
  void delivering(const Deed& deed) {
    const std::size_t home = homes_[deed.process];
    for (std::size_t i = 0; i < deed.decisions.size(); ++i) {
      if (deed.decisions[i].verdict != Verdict::denied) continue;
      const std::string& name = deed.parts[deed.times > 0 ? 0 : i].key;
      kept_.at(name).denied_at[home] = deed.at;
    }
    if (deed.ran && !deed.gives_back && kept_.at(deed.parts[0].key).key.kind == Key::Kind::joint)
      parts_.push_back({deed.at, {world_.time_of(deed.process), ++locals_}, deed.process, number_of(deed)});
  }

  // And has been told to those who asked.
  void delivered(const Deed& deed, const std::vector<std::size_t>& ids) {
    look_at_deeds();
    if (deed.name == "reset" && deed.ran) {
      for (const Deed::Part& part : deed.parts)
        for (auto& [home, account] : kept_.at(part.key).local) {
          if (home == homes_[deed.process]) account.forget({world_.time_of(deed.process), ++locals_});
        }
    }
    std::size_t decision = 0;
    std::size_t here = 0;
    for (const std::size_t id : ids) {
      if (std::erase(unmatched_, id) == 0) continue;
      tally.merged += ++here > 1 ? 1 : 0;
      match(id, deed, decision);
    }
    if (here > 0) std::erase_if(parts_, [&](const Part& each) { return each.deed == number_of(deed); });
    if (!unmatched_.empty()) say(about(unmatched_[0]) + ": nothing says so");
  }
  std::size_t number_of(const Deed& deed) const {
    return static_cast<std::size_t>(&deed - world_.deeds.data());
  }

  // The request was told what the deed decided of it: decisions are told in order, each at most once.
  void match(std::size_t id, const Deed& deed, std::size_t& decision) {
    const SharedWorld::Request& request = world_.requests[id];
    Kept& kept = kept_.at(request.key);
    const Quota& quota = request.rule.quota;
    const auto most = static_cast<std::uint64_t>(kept.key.burst()) + 1;
    const std::uint64_t cost = std::min(request.cost.units, most);
    if (!deed.ran || deed.process != request.process || deed.parts.size() != 1 ||
        deed.parts[0].key != request.key || deed.parts[0].rule.algorithm != request.rule.algorithm ||
        deed.parts[0].rule.quota.emission_interval() != quota.emission_interval() ||
        deed.parts[0].rule.quota.burst() != quota.burst()) {
      return say(about(id) + ": told the answer to another");
    }
    const Decision& its = request.told->outcome.decision;
    for (; decision < deed.decisions.size(); ++decision) {
      Decision said = deed.decisions[decision];
      const std::uint64_t units = deed.parts[0].cost.units;
      if (units != cost) {
        if (kept.key.lease == 0 || units < cost || !said.allowed()) break;
        said.remaining += static_cast<std::int64_t>(units - cost);
      }
      if (!tells(said, its, kept.key, deed.decisions.back().verdict)) continue;
      ++decision;
      if (its.allowed()) admit(id, kept, moment_of(number_of(deed)), request.cost.units);
      return;
    }
    say(about(id) + ": that is not what the store decided");
  }

  bool match_joint(std::size_t id) {
    const AskedRequest& question = world_.question(id);
    std::map<int, std::vector<std::size_t>> slots;
    for (std::size_t i = 0; i < question.names.size(); ++i) {
      if (question.list[i].hash == 0)  // else the fallback's
        slots[world_.cluster ? redis::slot_of(question.names[i]) : 0].push_back(i);
    }
    std::vector<Part> found;
    for (const auto& [slot, of] : slots) {
      const auto like = [&, &checks = of](bool at_once) {
        std::vector<Part> all;
        for (const Part& each : parts_) {
          if ((!at_once || world_.deeds[each.deed].asker == id) && decided(each, id, checks))
            all.push_back(each);
        }
        return all;
      };
      std::vector<Part> parts = like(true);
      if (parts.empty()) parts = like(false);  // it had to wait before it was sent
      if (parts.empty()) return false;
      // Several answers alike, of which one is this request's: nobody can tell which.
      if (parts.size() > 1) return true;
      found.push_back(parts[0]);
    }
    for (const auto& [slot, of] : slots) {
      const Part part = found.front();
      found.erase(found.begin());
      for (const std::size_t i : of) {
        if (question.charged)
          admit(id, kept_.at(question.names[i]), moment_of(part.deed), question.list[i].cost.units);
        learn(id, i, part.heard);
      }
      std::erase_if(parts_, [&](const Part& each) { return each.deed == part.deed; });
    }
    return true;
  }
  // What the store said, or less of a wait than that: once its clock has stepped, what nobody can owe is cut,
  // and a window that denies and ends later than two periods from then, for all that the store decided in one
  // call, of which `last` is the last.
  bool tells(const Decision& said, const Decision& its, const Key& key, Verdict last) const {
    if (said == its) return true;
    const bool is_cut = key.kind == Key::Kind::window
                            ? last == Verdict::denied && said.reset_after > 2 * its.reset_after
                            : its.reset_after >= key.interval() * its.limit;
    return has_stepped_ && is_cut && said.reset_after > its.reset_after && said.verdict == its.verdict &&
           said.limit == its.limit;
  }
  // Whether an answer is the one to those checks of a request.
  bool decided(const Part& part, std::size_t id, const std::vector<std::size_t>& checks) const {
    const AskedRequest& question = world_.question(id);
    const Deed& deed = world_.deeds[part.deed];
    if (part.process != world_.requests[id].process || deed.at < world_.requests[id].asked ||
        deed.times != 0 || deed.parts.size() != checks.size() || deed.decisions.size() != checks.size())
      return false;
    for (std::size_t i = 0; i < checks.size(); ++i) {
      const store::Check& check = question.list[checks[i]];
      // What allowed a request that was denied elsewhere tells what was there without it.
      const bool is_uncharged = !question.charged && check.decision.allowed();
      const Decision& said = is_uncharged ? deed.found[i] : deed.decisions[i];
      if (deed.parts[i].key != question.names[checks[i]] ||
          !tells(said, check.decision, kept_.at(question.names[checks[i]]).key, said.verdict))
        return false;
    }
    return deed.allowed || !question.charged;
  }

  SharedWorld& world_;
  std::vector<std::size_t> homes_;
  double share_;
  bool has_stepped_ = false;  // the store's clock
  std::unordered_map<std::string, Kept> kept_;
  std::unordered_set<std::size_t> open_;
  std::unordered_map<std::size_t, std::vector<std::uint32_t>> resets_;  // of a request's keys, before it
  std::unordered_map<std::size_t, std::vector<Admission>> admitted_;
  std::vector<std::size_t> unmatched_;
  std::deque<Part> parts_;
  std::map<std::size_t, nanoseconds> account_time_;  // by home
  std::size_t seen_ = 1;
  std::uint64_t locals_ = 0;
};

}  // namespace weir::soak
