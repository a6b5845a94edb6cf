// What a descriptor is told, from what a store has answered.
//
// Pure, any thread. Not for: bytes (answer.hpp).
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "limits/set.hpp"
#include "rls/answer.hpp"
#include "service/question.hpp"

namespace weir::inline v0_1::rls {

struct StatusOf {
  Status status;
  bool helps = false;       // it is over, and time helps
  bool would_deny = false;  // it is over, and its limit in shadow
};

// Until one more unit is admitted; where no time helps, the window, or the time in which a burst drains.
std::chrono::nanoseconds until_more(const core::Rule& rule, const Decision& decision);

// Of one descriptor, whose questions come one after the other: the worst of what they are told.
struct DescriptorTelling {
  Status status;
  std::string name{};  // that the status views
  bool undecided = false;
  bool by_fallback = false;
  bool helps = false;     // it is over, and time helps
  bool is_quota = false;  // its message may pass though it is over

  // As new.
  void clear();
  // One of its questions is answered: by the limits file, and not by a fault.
  void add(const service::Question& question, const limits::Set& set);
  void deny() { status.over = true; }
  // It denies nobody, whatever its limit says.
  void pass() { status.over = helps = false; }

 private:
  void take(const Status& other, std::string_view its_name, bool its_time_helps);
};

// A report tells what is owed; then its check is decided by it as one that asked.
void decide_charge(const service::Question& question);

}  // namespace weir::rls
