// A request of a store with all that it views: what was asked, and what is needed to tell the answer.
//
// One thread, its asker's. One that has been used is used again, and keeps its memory. Not for: how it is
// made (ask.hpp), and what its answer means (told.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "limits/kept_description.hpp"
#include "limits/match.hpp"
#include "limits/trace.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::service {

// Why a wait was ended before anything was decided, which is told as an error.
enum class Ended : std::uint8_t { no, by_operator, as_the_server_ends };

// Aligned, so that it lies in four cache lines and not in five: without it a decision took 4 % longer.
struct alignas(64) Question final : store::Request {
  // What an explanation is made of: the file's, and what was asked, attributes with their values or keys with
  // their rules.
  struct Explained {
    limits::Trace trace;
    std::vector<std::pair<std::string, std::string>> said;
  };
  // Of one that is about limits which no file and no text says.
  struct Whole {
    std::vector<store::Limit> limits;
    std::vector<Question*> parts;  // that have the answers of its checks, one each; they follow it
  };

  // What one check of a limit that the request brings does without.
  struct More {
    std::vector<store::Check> checks;
    std::string keys;                    // copies of theirs, once they are kept
    std::shared_ptr<const void> limits;  // what theirs live in, once they are kept
    // By the limits file: one that stands in line by other rules gives its room up, and nobody looks at
    // `matched` any more.
    std::unique_ptr<limits::Matched> room_for_matched = std::make_unique<limits::Matched>();
    limits::Matched& matched = *room_for_matched;
    std::shared_ptr<const limits::Steered> ruling;  // while the answer is not there
    std::unique_ptr<Explained> explained;           // once there was one, as are the next three
    std::unique_ptr<Whole> whole;
    std::unique_ptr<store::ChargeTerms> charge;
    std::unique_ptr<store::TakeTerms> take;
    // Of one that may wait in line while the limits change.
    std::unique_ptr<const limits::KeptDescription> asked;
    // Once it had one. An acquire that waits has none: the AcquiringStore knows what it asks.
    std::unique_ptr<store::ReservationTerms> reservation;
    bool binds = false;       // then: a restart ends its hold
    bool says_wait = false;   // of a reservation: somebody has said how long it may wait
    Ended ended = Ended::no;  // of an acquire
    std::string tag;          // by which it waits, if it does

    Explained& explained_of() {
      if (!explained) explained = std::make_unique<Explained>();
      return *explained;
    }
    Whole& whole_of() {
      if (!whole) whole = std::make_unique<Whole>();
      return *whole;
    }
  };

  More& more_of() {
    if (!more) more = std::make_unique<More>();
    return *more;
  }
  // What views it goes with it.
  void drop_more() {
    more.reset();
    reservation = nullptr;
    charge = nullptr;
    take = nullptr;
  }
  // What it asks of a reservation, as it was left.
  store::ReservationTerms& room_for_reservation() {
    if (!more_of().reservation) more->reservation = std::make_unique<store::ReservationTerms>();
    reservation = more->reservation.get();
    return *reservation;
  }
  void put_reservation_away() {
    more->reservation.reset();
    reservation = nullptr;
  }
  // Room for its checks, which are as new but for what the store answered before.
  std::span<store::Check> room(std::size_t count) {
    if (count != 1) return room_for_many(count);
    check.cost = {};  // all else of it is the asker's to set, the store's, or never set
    checks = {&check, 1};
    return checks;
  }
  // What is asked of it.
  void set_charge(const store::ChargeTerms& its) {
    if (!more_of().charge) more->charge = std::make_unique<store::ChargeTerms>();
    charge = more->charge.get();
    *charge = its;
  }
  void set_take(const store::TakeTerms& its) {
    if (!more_of().take) more->take = std::make_unique<store::TakeTerms>();
    take = more->take.get();
    *take = its;
  }
  // Its checks are reserved.
  void reserve(std::optional<std::chrono::nanoseconds> max_wait, std::chrono::nanoseconds hold);
  // Copies the keys, which are views into what the connection has read.
  void keep_keys();
  // Its limits, which the event loop's RuleTexts have found, stay as long as it has them.
  void keep_limits();
  std::size_t kept() const;  // bytes
  // What has ended its wait, unless it was granted all the same.
  Ended ended() const {
    if (verb != store::Verb::acquire || (!checks.empty() && allowed())) return Ended::no;
    return more->ended;
  }
  // It charges nothing, whatever the answer.
  bool looks() const { return verb == store::Verb::look || (verb == store::Verb::take && take->looks); }

  // These lie in what a Request leaves of its last word.
  std::uint8_t form = 0;  // the front end's own: how the answer is told
  bool silent = false;    // it is asked, but its answer is not wanted
  bool by_file = false;   // its checks are those of more->matched
  bool explains = false;  // it has a trace
  store::Check check{};   // when there is one
  std::unique_ptr<More> more;

 private:
  std::span<store::Check> room_for_many(std::size_t count);
};
static_assert(sizeof(Question) <= 256);

}  // namespace weir::service
