// What each verb of a store is called, and whether it goes by an id.
//
// Constants, any thread. Not for: what a verb does (store.hpp), and how protocols say it (service/verbs.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "store/store.hpp"

namespace weir::inline v0_1::store {

struct VerbTraits {
  Verb verb;
  std::string_view name;
  bool by_id = false;  // of a reservation, which is all that is said: it has no checks
};

inline constexpr std::array kVerbTraits{
    VerbTraits{Verb::check, "check"},         VerbTraits{Verb::look, "look"},
    VerbTraits{Verb::reset, "reset"},         VerbTraits{Verb::charge, "charge"},
    VerbTraits{Verb::take, "take"},           VerbTraits{Verb::reserve, "reserve"},
    VerbTraits{Verb::moment, "moment", true}, VerbTraits{Verb::cancel, "cancel", true},
    VerbTraits{Verb::settle, "settle", true}, VerbTraits{Verb::extend, "extend", true},
    VerbTraits{Verb::holds, "holds"},         VerbTraits{Verb::acquire, "acquire"},
};
static_assert(kVerbTraits.size() == std::size_t{1} + static_cast<std::size_t>(Verb::acquire),
              "each verb has a row, the last one last");
static_assert([] {
  for (std::size_t i = 0; i < kVerbTraits.size(); ++i)
    if (static_cast<std::size_t>(kVerbTraits[i].verb) != i) return false;
  return true;
}());

constexpr std::string_view name_of(Verb verb) { return kVerbTraits[static_cast<std::size_t>(verb)].name; }
constexpr bool is_by_id(Verb verb) { return kVerbTraits[static_cast<std::size_t>(verb)].by_id; }

}  // namespace weir::store
