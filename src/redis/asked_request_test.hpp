// For tests: a request to SharedStore, what it is made of, and what comes of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/rule.hpp"
#include "redis/cause.hpp"
#include "redis/shared_store.hpp"
#include "redis/wire_test.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;

// What the requests of a test are made of.
struct Habits : SharedStore::Options {
  OnStoreError on_error = OnStoreError::local;
  bool merge = false;
};
struct Choices {
  std::uint64_t lease = 0;
  std::chrono::nanoseconds lease_for = std::chrono::seconds{1};
  std::optional<OnStoreError> on_error{};
  std::optional<nanoseconds> deadline{};
  bool merge = false;    // or that of the habits
  std::uint64_t id = 0;  // of the limit
};
// Of a limit with an id.
inline std::string_view name_of_limit(std::uint64_t id) {
  static std::map<std::uint64_t, std::string> names;
  return id == 0 ? std::string_view() : names.try_emplace(id, "limit " + std::to_string(id)).first->second;
}
struct Limit {
  core::Rule rule;
  std::string key;
  Cost cost;
  OnStoreError on_error = OnStoreError::local;
  double local_share = 0;
  bool shadow = false;
  std::uint8_t inside = store::Check::kNoGuarantee;
  std::uint64_t lease = 0;
};
// An answer: with a cause, Redis did not decide.
struct Outcome {
  Decision decision;
  Cause cause = Cause::none;
  std::string error;
};

// A request, and what its asker keeps of it.
struct AskedRequest : store::Request {
  std::function<void(const AskedRequest&)> tell;
  std::size_t id = 0;  // 0: a reset
  std::deque<store::Limit> limits;
  Strings names;
  std::vector<std::unique_ptr<char[]>> keys;
  std::vector<store::Check> list;

  AskedRequest(std::size_t its_id, std::function<void(const AskedRequest&)> its_tell)
      : tell(std::move(its_tell)), id(its_id) {
    on_answer = [](store::Request& request) {
      const auto& its = static_cast<AskedRequest&>(request);
      its.tell(its);
    };
  }

  void add(store::Limit limit, const std::string& key, Cost cost) {
    keys.push_back(std::make_unique<char[]>(key.size()));
    list.push_back({.limit = &limits.emplace_back(std::move(limit)),
                    .key = {keys.back().get(), key.size()},
                    .cost = cost});
    names.push_back(key);
    remember();
  }
  // The bytes of the keys are another's after submit(), until give_back() needs them again.
  void forget() {
    for (std::size_t i = 0; i < list.size(); ++i) std::fill_n(keys[i].get(), names[i].size(), '!');
  }
  void remember() {
    for (std::size_t i = 0; i < list.size(); ++i) std::copy(names[i].begin(), names[i].end(), keys[i].get());
  }
};

inline Outcome outcome_of(const AskedRequest& asked) {
  Outcome outcome{asked.decision(), Cause::none, {}};
  if (asked.fault != Fault::none) {
    outcome.cause = asked.fault == Fault::foreign_value ? Cause::wrongtype : Cause::other;
    outcome.error = asked.why;
  } else if (asked.source == Source::fallback) {
    const auto named = std::find(kCauseNames.begin(), kCauseNames.end(), asked.why);
    EXPECT_NE(named, kCauseNames.end()) << asked.why;
    outcome.cause = static_cast<Cause>(named - kCauseNames.begin());
  }
  EXPECT_EQ(asked.charged, asked.verb == store::Verb::check && asked.fault == Fault::none && asked.allowed());
  return outcome;
}

}  // namespace weir::redis
