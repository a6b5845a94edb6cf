// What one connection asks of the store, in the order of its commands, and the replies, in the same order.
//
// The thread of its loop. Not for: commands (commands.hpp), and what is asked how (service/asking.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "resp/resp_loop.hpp"
#include "resp/writer.hpp"
#include "service/ask.hpp"
#include "service/asking.hpp"
#include "service/told.hpp"

namespace weir::inline v0_1::resp {

// How a question is replied to.
enum class ReplyForm : std::uint8_t {
  five,         // CL.THROTTLE's integers, in seconds
  six,          // WEIR.THROTTLE's and WEIR.CHECK's, in milliseconds, and what decides
  seven_units,  // the same and the units that were granted
  explanation,  // WEIR.EXPLAIN's
  forgotten,    // how many keys had something to forget
  reservation,  // WEIR.RESERVE's seven
  cancelled,    // the units that went back
  charged,      // WEIR.CHARGE's four integers, and of which limit they are
  refunded,     // how many units were given back
  holds,        // WEIR.HOLDS' rows
  settled,      // the milliseconds until one more unit would be admitted, or that a hold has
  queued = service::Asking::kQueued,  // of an acquire: what it is answered comes by its tag
};

// Beside one that says a decision: one more value, the fields that HTTP would send.
constexpr std::uint8_t kFields = 0x80;
constexpr ReplyForm with_fields(ReplyForm form, bool fields) {
  return static_cast<ReplyForm>(static_cast<std::uint8_t>(form) | (fields ? kFields : 0));
}

class Pipeline {
 public:
  Pipeline(RespLoop& loop, const net::Peer& peer, std::function<void()> resume)
      : loop_(loop), asking_(loop.asker, peer.id + 1, peer.address, &Pipeline::keep, std::move(resume)) {}

  ThrottleParser& parser() { return loop_.parser; }
  // As new, until it is asked for again.
  LimitsWords& words() {
    loop_.words.said.forget();
    return loop_.words;
  }
  service::Asker& asker() { return loop_.asker; }
  service::Asking& asking() { return asking_; }
  const service::Asking& asking() const { return asking_; }

  void check(const Throttle& throttle, bool silent) {
    asking_.add(*throttle.limit, throttle.key, throttle.cost, static_cast<std::uint8_t>(ReplyForm::five),
                silent);
  }
  // False: it is refused, and answer() is the reply.
  bool add(const service::Ask& ask, ReplyForm reply, bool silent) {
    return asking_.add(ask, static_cast<std::uint8_t>(reply), silent) != nullptr || refuse();
  }

  // What is replied to a command that could not be gathered. Always false.
  bool fail(std::string text) {
    error_ = std::move(text);
    return false;
  }
  bool has_limits() const { return loop_.asker.has_file(); }
  bool has_file() { return has_limits() || refuse_without_file(); }
  void answer(Writer to) const { to.error(error_); }

  // Whether answers may be pushed.
  void let_push(bool yes) { pushes_ = yes; }
  bool pushes() const { return pushes_; }

  // Asks what was gathered and writes what is answered; false while some is open.
  bool settle(Writer to) {
    const bool all = asking_.settle([this, &to](service::Question& question) { write(to, question); });
    if (loop_.asker.size() == 0) loop_.parser.forget();
    return all;
  }

  // The answer of an acquire that has waited by a tag, where there is one.
  void push(Writer to) {
    asking_.tell_tagged([this, &to](service::Question& question) { write_push(to, question); });
  }
  // False: none of that tag stands in line. If its answer was there, it is pushed.
  bool leave_line(std::string_view tag, Writer to) {
    return asking_.leave_line(tag, [this, &to](service::Question& question) { write_push(to, question); });
  }

 private:
  static void keep(service::Question& question);
  bool refuse();
  bool refuse_without_file();
  void write(Writer& to, service::Question& question);
  void write_push(Writer& to, service::Question& question);
  void write_decision(Writer& to, const service::Question& question, ReplyForm reply);
  void write_fields(Writer& to, const service::Question& question, const limits::Set* set);
  void write_explanation(Writer& to, const service::Question& question);
  void write_charged(Writer& to, const service::Question& question);
  static void write_holds(Writer& to, const service::Question& question);  // holds_command.cpp

  RespLoop& loop_;
  service::Asking asking_;
  std::string error_;
  bool pushes_ = false;
};

}  // namespace weir::resp
