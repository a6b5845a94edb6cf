// What operators have changed at run time over a limits file, compiled for one set of it: whom each override
// concerns, and what it makes of a limit. match() goes by it beside the set.
//
// Immutable, any thread; a change makes another one, which shares with it what is the same: of 100,000
// overrides a hundred are copied. Those whose words are texts and single addresses are found by a hash of
// all of them, so that a request pays for how many sets of attributes they name, and not for how many they
// are; those with a pattern or a CIDR are sought among the others (Candidates).
// Not for: numbers, ends and where they lie (steering/), and what they may say (steer.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limits/attribute_names.hpp"
#include "limits/conditions.hpp"
#include "limits/file.hpp"
#include "limits/set.hpp"
#include "limits/values.hpp"

namespace weir::inline v0_1::limits {

// What an override does.
enum class Steer : std::uint8_t { ban, raise, lower, shadow_on, shadow_off };

struct SteeredOverride {
  Steer what = Steer::ban;
  std::uint64_t number = 0;  // a later one has a greater
  Index limit = kNone;       // File::limits
  When when;                 // of single entries; empty: everybody
  Time until = kNever;
  std::string reason;
  std::string user;                  // that has set it
  std::vector<Set::Change> windows;  // of raise and lower
};

// Whether it is found by a hash: it has no pattern and no CIDR.
bool is_exact(const When& when);

class Steered {
 public:
  using Ptr = std::shared_ptr<const SteeredOverride>;
  // More sets of attributes, as "tenant, user" is one, those of one limit may not name.
  static constexpr std::size_t kMostShapes = 64;

  explicit Steered(std::shared_ptr<const Set> set, std::span<const Ptr> all = {});
  // Another one with those, and without these.
  std::shared_ptr<const Steered> with(std::span<const Ptr> more, std::span<const Ptr> less) const;

  const Set& set() const { return *set_; }
  const std::shared_ptr<const Set>& shared_set() const { return set_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Those of the set, with their numbers, and others that overrides name.
  const AttributeNames& names() const { return names_->all; }
  // Whether one more of such words has a place.
  bool has_room(Index limit, const When& when) const;

  bool steers(Index limit) const { return !limits_[limit].empty(); }
  // Calls visit(const SteeredOverride&) for each that concerns such a request, in no order, whether it has
  // ended or not.
  template <class Visit>
  void find(Index limit, AttributeValues values, const Visit& visit) const {
    const OfLimit& of = limits_[limit];
    for (const Ptr& each : of.everybody) visit(*each);
    for (const Shape& shape : of.shapes) {
      const auto hash = hash_of(limit, shape, values);
      if (!hash) continue;
      const auto& shard = shards_[*hash % kShards];
      if (!shard) continue;
      shard->find(*hash, [&](const Ptr& each) {
        if (each->limit == limit && is_of(*each, shape, values)) visit(*each);
      });
    }
    if (of.searched) of.searched->find(values, visit);
  }

 private:
  static constexpr std::size_t kShards = 1024;

  struct Names {
    std::deque<std::string> own;  // that `all` views
    AttributeNames all;
  };
  // The attributes of exact words, in the order of their numbers.
  struct Shape {
    std::vector<Index> attributes;
    std::uint64_t addresses = 0;  // a bit for each of them that an address has been said of
    std::size_t count = 0;
  };
  // Exact ones, by their hashes.
  struct Shard {
    struct One {
      std::uint64_t hash;
      Ptr which;
    };
    template <class Visit>
    void find(std::uint64_t hash, const Visit& visit) const {
      auto at = std::lower_bound(all.begin(), all.end(), hash,
                                 [](const One& each, std::uint64_t wanted) { return each.hash < wanted; });
      for (; at != all.end() && at->hash == hash; ++at) visit(at->which);
    }
    std::vector<One> all;
  };
  struct Searched {
    explicit Searched(std::vector<Ptr> those, const AttributeNames& names);
    template <class Visit>
    void find(AttributeValues values, const Visit& visit) const {
      candidates.find(values, [&](std::span<const Index> which) {
        for (const Index each : which)
          if (candidates.certain(each) || conditions[each].hold(values)) visit(*all[each]);
      });
    }
    std::vector<Ptr> all;
    std::vector<Conditions> conditions;
    Candidates candidates;
  };
  struct OfLimit {
    bool empty() const { return everybody.empty() && shapes.empty() && !searched; }
    std::vector<Ptr> everybody;
    std::vector<Shape> shapes;
    std::shared_ptr<const Searched> searched;
  };

  Steered(const Steered&) = default;
  std::vector<Ptr> all() const;
  // While it is made: which shards are its own already.
  using Owned = std::vector<bool>;
  void add(const Ptr& which, Owned& owned);
  void remove(const Ptr& which, Owned& owned);
  void name(std::span<const Ptr> more);
  void search(Index limit, std::vector<Ptr> those);
  std::vector<Index> attributes_of(const When& when) const;
  // Of a request; nothing: it lacks one of the attributes.
  static std::optional<std::uint64_t> hash_of(Index limit, const Shape& shape, AttributeValues values);
  std::uint64_t hash_of(const SteeredOverride& which, const Shape& shape) const;
  bool is_of(const SteeredOverride& which, const Shape& shape, AttributeValues values) const;
  const Condition& condition_of(const When& when, Index attribute) const;
  Shard& own_shard(std::uint64_t hash, Owned& owned);

  std::shared_ptr<const Set> set_;
  std::shared_ptr<const Names> names_;
  std::vector<OfLimit> limits_;  // File::limits
  std::vector<std::shared_ptr<Shard>> shards_;
  std::size_t size_ = 0;
};

}  // namespace weir::limits
