// The words of what operators set: LIMIT name, FOR ms or UNTIL time, REASON text, RATE rate, ON or OFF, each
// once but for RATE and in any order, then AS attribute=value ..., or ALL.
//
// Pure, one thread. Not for: what they mean for the limits file (service/overrides.hpp).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "service/overrides.hpp"

namespace weir::inline v0_1::resp {

// What a command takes of them.
struct SteerForm {
  std::string_view command;
  bool ends = false;      // FOR or UNTIL is needed
  bool rates = false;     // RATE is needed
  bool switches = false;  // ON or OFF is needed
  bool selects = false;   // AS or ALL is needed
  bool reasons = false;   // REASON is needed; else it may be said
};

// False: the words are wrong, and `error` is the text for an error reply.
bool read_steer_words(std::span<const std::string_view> words, const SteerForm& form,
                      service::WantedOverride& into, std::string& error);

// What is replied when it was not done.
std::string error_of(const service::NotSteered& why);

}  // namespace weir::resp
