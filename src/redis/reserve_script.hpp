// The script about reservations inside Redis or Valkey (reserve.lua): the bytes that ask it, and what its
// answer means.
//
// The script decides: whether, for which moment, and by which limit. The answer brings the states as they
// were besides, and of them what each limit tells is made here, by src/core. That the script decides as
// src/store does (joint_moment.hpp) is what tests/agreement and tests/conformance hold it to, trace by trace.
//
// Pure functions, any thread. Not for: connections, and what an id is (reservation_id.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "core/overdraft.hpp"
#include "core/penalty.hpp"
#include "redis/script.hpp"
#include "resp/value.hpp"
#include "store/slots.hpp"
#include "store/store.hpp"
#include "weir/decision.hpp"

namespace weir::inline v0_1::redis {

std::string_view reserve_script();
const std::string& reserve_sha();

// A sentence when a limit has numbers for which the script does not reserve exactly. Beside unsuitable().
std::optional<std::string> cannot_reserve(const core::Rule& rule);

// One limit of a reservation.
struct ReserveAsk {
  ScriptCheck ask;
  store::Holding holding{};
  // The record keeps them for the one that cancels: the limit's id, and the length of the asker's key.
  std::uint64_t limit_id = 0;
  std::size_t key_size = 0;
  store::Line line{};  // from now on
};

struct ReserveWords {
  std::string_view record;  // its name
  std::string_view id;
  std::chrono::nanoseconds max_wait{0};
  std::chrono::nanoseconds hold{0};
  bool looks = false;  // nothing is charged
  // One that stands in line, for that long: one of that id is cancelled first.
  std::optional<std::chrono::nanoseconds> stood{};
  bool follows = false;  // then, another of its line
};
// Both are asked for no longer than that: no sum in the script goes beyond 53 bits.
constexpr std::chrono::nanoseconds kLongestWait = std::chrono::hours{24};
constexpr std::chrono::nanoseconds kLongestHold = std::chrono::hours{24} * 30;

// `now`, for tests, as in append_check().
void append_reserve(std::string& out, std::string_view prefix, std::span<const ReserveAsk> asks,
                    const ReserveWords& words, std::optional<std::chrono::nanoseconds> now = {});

// What a record says of the states that were charged.
struct RecordPart {
  std::uint64_t limit_id;
  std::size_t key_size;  // the name ends with the key
  std::string name;
  // As store::SettledCharge has them; `cost` is what it is settled at.
  std::uint64_t units = 0;
  bool settles = true;
  bool by_actual = true;
  std::uint64_t cost = 0;
};
struct ReservationRecord {
  bool is_held = false;
  std::vector<RecordPart> parts{};
};
// Nothing for anything else.
std::optional<ReservationRecord> read_record(std::string_view text);

void append_cancel(std::string& out, std::string_view prefix, std::string_view record,
                   std::span<const RecordPart> parts, std::optional<std::chrono::nanoseconds> now = {});
// Without costs it asks whether the reservation is there still, and changes nothing.
void append_settle(std::string& out, std::string_view prefix, std::string_view record,
                   std::span<const RecordPart> parts, bool with_costs, std::chrono::nanoseconds overdraft,
                   std::optional<std::chrono::nanoseconds> now = {});

// A hold's other end.
void append_extend(std::string& out, std::string_view prefix, std::string_view record,
                   std::span<const RecordPart> parts, std::chrono::nanoseconds hold,
                   std::optional<std::chrono::nanoseconds> now = {});

// Where the states begin in a reply.
constexpr std::size_t kFirstStateOfReserve = 6;

struct ReserveAnswer {
  bool granted = false;
  bool has_id = false;               // it can be cancelled or settled
  bool by_rule = true;               // neither what is held nor slots have decided
  std::chrono::nanoseconds wait{0};  // as store::ReservationTerms
  std::uint8_t by = 0;
  std::chrono::nanoseconds full_for{0};  // as store::ReservationTerms
  std::uint8_t full_by = 0;
  std::chrono::nanoseconds sooner_by{0};  // as store::ReservationTerms
  std::vector<Decision> decisions{};      // as store::Request's
  std::vector<Decision> at_once{};        // what a check would have been told
};
tl::expected<ReserveAnswer, std::string> read_reserve(const resp::Value& reply,
                                                      std::span<const ReserveAsk> asks,
                                                      const ReserveWords& words);
void append_moment(std::string& out, std::string_view prefix, std::string_view record,
                   std::span<const RecordPart> parts, std::optional<std::chrono::nanoseconds> now = {});
// Nobody acts in it under any of the asks' keys, whose first tells the slot. `id` is nobody's, and
// names what is not there yet.
void append_pause(std::string& out, std::string_view prefix, std::span<const ScriptCheck> asks,
                  std::string_view id, const Pause& pause, std::optional<std::chrono::nanoseconds> now = {});

// A pause of the key of `ask`, unless it denies what is asked no more, or rests already; longer each time
// where the penalty grows.
void append_rest(std::string& out, std::string_view prefix, const ScriptCheck& ask, std::string_view id,
                 const core::PenaltyTerms& penalty, std::optional<std::chrono::nanoseconds> now = {});
// That many units of each ask's cost were not used after all; keys as of a pause.
void append_refund(std::string& out, std::string_view prefix, std::span<const ScriptCheck> asks,
                   std::optional<std::chrono::nanoseconds> now = {});

// Which holds of the asks' states are open, that many at most; keys as of a pause.
void append_holds(std::string& out, std::string_view prefix, std::span<const ScriptCheck> asks,
                  std::size_t most, std::optional<std::chrono::nanoseconds> now = {});
tl::expected<std::vector<store::OpenHold>, std::string> read_holds(const resp::Value& reply);

// The units that were given back.
tl::expected<std::uint64_t, std::string> read_cancel(const resp::Value& reply);

// As store::ReservationTerms has them; the wait is below 0 also when there is none, and of one without costs
// 0 says that it is there.
struct SettleAnswer {
  std::chrono::nanoseconds wait{0};
  std::uint64_t dropped = 0;
};
tl::expected<SettleAnswer, std::string> read_settle(const resp::Value& reply);
tl::expected<std::chrono::nanoseconds, std::string> read_moment(const resp::Value& reply);
// Of a pause or a refund: by ask, what it came to, and a decision as of a look after it; otherwise why not.
std::optional<std::string> read_changed(const resp::Value& reply, std::span<const ScriptCheck> asks,
                                        std::span<Decision> decisions, std::span<Charged> told);
// What the ask is told then by its rule; `rests` becomes true where the key has been made to rest.
tl::expected<Decision, std::string> read_rest(const resp::Value& reply, const ScriptCheck& ask, bool& rests);

}  // namespace weir::redis
