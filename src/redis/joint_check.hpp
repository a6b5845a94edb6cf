// A request of several checks while it is being decided: one call for each slot that its keys are in, charged
// all or none.
//
// Plain data and the conclusion from it; it asks nothing itself. One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "redis/cause.hpp"
#include "redis/fallback.hpp"
#include "redis/kept_check.hpp"
#include "redis/ticket.hpp"

namespace weir::inline v0_1::redis {

struct JointCheck {
  using nanoseconds = std::chrono::nanoseconds;

  struct Each {
    KeptCheck check;
    Decision decision{};
    Decision uncharged{};       // what it says when the request is denied by another part
    std::uint64_t local = 0;    // what the fallback made of it: Check::hash
    Cause cause = Cause::none;  // why the store did not decide it
    std::size_t part = 0;
  };
  // The checks of one slot: one call. Those inside a guarantee that lies in another slot are one of their
  // own, at a later stage: it is asked for when the guarantee has been answered.
  struct Part {
    std::uint16_t slot;
    std::size_t stage;
    std::vector<std::size_t> of{};  // each
    nanoseconds asked{0};
    bool in_line = false;       // its keys are counted among those that wait in order
    Cause cause = Cause::none;  // why the store did not decide it
    std::string error{};        // with a cause
    bool charged = false;
    nanoseconds charged_at{0};  // on the store's clock
  };
  struct Conclusion {
    bool charged = false;
    std::size_t by = 0;
    Cause cause = Cause::none;  // of the first part that the store did not decide
    std::string_view error{};   // of the same; a view
    Source source = Source::store;
    Fault fault = Fault::none;
    std::string why{};
    nanoseconds charged_at{0};
    std::vector<const Part*> to_give_back{};  // charged for a request that is not granted
  };

  Ticket ticket;
  nanoseconds deadline;
  std::vector<Each> each{};
  std::vector<Part> parts{};
  std::size_t open = 0;   // parts of this stage without an answer
  std::size_t stage = 0;  // that is being asked
  bool look = false;

  bool has(const KeptCheck& check) const;
  // In the order of the request.
  void add(KeptCheck check, std::uint16_t slot);
  // For append_check() and append_look().
  std::vector<ScriptCheck> asks(const Part& part) const;
  // The stage is answered: the next one knows which of its checks are inside. False when there is none, or
  // nobody waits for it any more.
  bool next_stage();
  // When nothing is left to be asked: what it comes to. The fallback decides what the store did not, unless
  // the request has been cancelled, which then counts as a refusal.
  Conclusion conclude(Fallback& fallback, nanoseconds now);

 private:
  // Decides the checks that the store did not. Returns whether nothing stops the request.
  bool fall_back(Fallback& fallback, nanoseconds now);
};

}  // namespace weir::redis
