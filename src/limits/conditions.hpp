// When something of a limits file holds for a request, compiled; and which of many such Whens may hold, found
// by what the request's values begin with, so that those about other values cost nothing.
//
// Immutable once made, any thread. They view the file and the sets of its lists.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "limits/attribute_names.hpp"
#include "limits/file.hpp"
#include "limits/values.hpp"

namespace weir::inline v0_1::limits {

// All of them hold; without any: always.
class Conditions {
 public:
  Conditions() = default;
  Conditions(const When& said, AttributeNames& names, std::span<const ValueSet> lists);

  bool empty() const { return all_.empty(); }
  bool hold(AttributeValues values) const {
    return std::all_of(all_.begin(), all_.end(), [values](const One& each) { return each.holds(values); });
  }

 private:
  struct One {
    bool holds(AttributeValues values) const {
      const AttributeValue& value = values[attribute];
      return value.present() &&
             (own.has(value) || std::any_of(lists.begin(), lists.end(),
                                            [&value](const ValueSet* each) { return each->has(value); }));
    }
    Index attribute;
    ValueSet own;
    std::vector<const ValueSet*> lists;
  };

  std::vector<One> all_;
};

// Of many Whens, those that may hold.
class Candidates {
 public:
  // `whens` in order; `lists` are the file's.
  void fill(std::span<const When* const> whens, AttributeNames& names, std::span<const List> lists);

  // Calls visit(span of ascending numbers) several times: every When that holds is among them. One that is
  // certain() holds when it is among them.
  bool certain(Index number) const { return certain_[number] != 0; }
  template <class Visit>
  void find(AttributeValues values, Visit visit) const {
    if (!always_.empty()) visit(std::span<const Index>(always_));
    for (const Selector& each : selectors_) {
      const AttributeValue& value = values[each.attribute];
      if (value.present()) each.beginnings.find(value.text(), visit);
    }
  }

 private:
  struct Selector {
    Index attribute;
    Beginnings beginnings;
  };

  std::vector<Index> always_;  // those that no beginning tells apart
  std::vector<Selector> selectors_;
  std::vector<std::uint8_t> certain_;
};

}  // namespace weir::limits
