// The limits that Kuadrant's Reserve and Commit meet: those of all descriptors of a message, as one question.
//
// The thread of its loop. Not for: the answer (batch.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "limits/descriptors.hpp"
#include "rls/request.hpp"
#include "rls/rls_loop.hpp"
#include "service/asking.hpp"

namespace weir::inline v0_1::rls {

struct HeldLimit {
  std::string key;
  std::string name;  // of the limit
  std::string colocate;
  store::Limit limit;
  std::uint64_t units = 0;
};

struct HeldLimits {
  std::vector<HeldLimit> all;  // each once
  bool denied = false;         // by a list, by a limit of 0, or as a required attribute is missing
};

// Of the loop's request, each with `amount`, cut to half of it; nothing is asked. `trees` may be null.
Wrong find_held(RlsLoop& loop, service::Asking& asking, const limits::Descriptors* trees,
                std::uint64_t amount, HeldLimits& into);

// Makes them the question's own.
void keep_held(const HeldLimits& held, service::Question& question);

}  // namespace weir::rls
