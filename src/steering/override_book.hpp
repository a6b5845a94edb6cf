// The overrides that have been set and have not ended: by their numbers, by their words, by their ends.
//
// Not synchronised: its owner guards it. Bounded by kMost and kMostSought; setting and ending one
// takes no longer the more there are. Not for: deciding (limits/steered.hpp), and where they lie
// (keeper.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "limits/file.hpp"
#include "steering/override.hpp"

namespace weir::inline v0_1::steering {

class OverrideBook {
 public:
  using Ptr = std::shared_ptr<const OperatorOverride>;

  static constexpr std::size_t kMost = 100'000;
  static constexpr std::size_t kMostSought = 1000;  // of them, with a pattern or a CIDR

  // Why one more of such words has no place; those that it replaces make room.
  std::optional<std::string> refuses(limits::Steer what, std::string_view limit_id,
                                     const Selector& when) const;

  // It takes the place of what has the same words, whichever has the greater number: of two that took their
  // numbers at once the one that was kept later stays.
  void set(OperatorOverride made);
  Ptr end(std::uint64_t number);  // null: there is none
  // Those whose end has come.
  std::vector<Ptr> ended(limits::Time now) const;

  Ptr find(std::uint64_t number) const;  // null: there is none
  Ptr find(std::string_view words) const;
  // Up to `most` after that number, the oldest first; of one limit, by its id, or of all.
  std::vector<Ptr> list(std::string_view limit_id, std::uint64_t after, std::size_t most) const;
  const std::map<std::uint64_t, Ptr>& all() const { return all_; }
  std::size_t size() const { return all_.size(); }
  std::uint64_t next_number() const { return last_ + 1; }
  // The number that the first one of an empty book follows. It is random, so that a number an operator has
  // kept from before a loss does not end another override. 13 digits, which JSON keeps.
  static std::uint64_t before_the_first(std::uint64_t random) {
    return (100'000'000 + random % 900'000'000) * 10'000;
  }
  // None has that number or one before it from now on.
  void skip_to(std::uint64_t last) { last_ = last > last_ ? last : last_; }

 private:
  std::map<std::uint64_t, Ptr> all_;
  std::unordered_map<std::string, std::uint64_t> by_words_;
  std::unordered_map<std::string, std::set<std::uint64_t>> of_limit_;  // by its id
  std::set<std::pair<limits::Time, std::uint64_t>> ends_;
  std::size_t sought_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace weir::steering
