// What a request says that it costs at single limits, by their names; and what it turned out to cost there.
//
// Pure, any thread. Not for: what a request costs at the others (match.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limits/set.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::limits {

struct NamedCost {
  std::string_view limit;
  std::uint64_t units = 0;
};

// "tpm=3000,rpm=1"; they view the text. False: `error` says what is wrong with it.
bool read_costs(std::string_view text, std::vector<NamedCost>& into, std::string& error);

// Whether each names a limit of the file, and none is named twice.
bool judge_costs(const Set& set, std::span<const NamedCost> costs, std::string& error);

// For a settlement. False when a limit is unknown, or has no hold.
bool find_actuals(const Set& set, std::span<const NamedCost> costs, std::vector<store::Actual>& into,
                  std::string& error);

}  // namespace weir::limits
