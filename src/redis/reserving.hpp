// What a store holds of a reservation that Redis has not answered yet: one that is asked for, and one that is
// to be cancelled or settled.
//
// Plain data. One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "redis/kept_check.hpp"
#include "redis/reserve_script.hpp"
#include "redis/ticket.hpp"
#include "store/form.hpp"

namespace weir::inline v0_1::redis {

struct Reserving {
  Ticket ticket;
  std::chrono::nanoseconds deadline;
  std::chrono::nanoseconds asked{0};  // when, on our clock
  std::chrono::nanoseconds max_wait{0};
  std::chrono::nanoseconds hold{0};
  std::string id{};
  std::uint16_t slot = 0;  // of its keys
  std::string record{};    // its name
  std::vector<KeptCheck> checks{};
  std::vector<std::string> lines{};  // their names
  bool in_line = false;              // its keys are counted among those that wait in order

  ReserveWords words() const { return {record, id, max_wait, hold}; }
  std::vector<ReserveAsk> asks() const {
    std::vector<ReserveAsk> made;
    for (std::size_t i = 0; i < checks.size(); ++i) {
      const KeptCheck& check = checks[i];
      Ask ask = check.ask();
      ask.shadow = check.shadow;
      if (check.inside != store::Check::kNoGuarantee) ask.inside = check.inside;
      made.push_back({ask, lines[i], check.limit.holding, check.limit.id, check.size,
                      store::lowest_kept(check.limit), check.waits_with});
    }
    return made;
  }
};

// Its first question is what the record says; then it is done.
struct Undoing {
  Ticket ticket;  // nobody's: that of a reservation whose answer did not come
  store::Verb verb;
  std::chrono::nanoseconds patience;  // for each of its questions
  std::uint16_t slot = 0;
  std::string record;
  store::Reservation asked{};       // of a settlement: what it says that each limit cost
  std::string why{};                // and why it is refused, if the reservation is there still
  std::vector<RecordPart> parts{};  // none yet: the record is not known
};

}  // namespace weir::redis
