// One request that is being answered, and what the connections of an event loop share for it.
//
// A handler (routes.hpp) reads the message and adds questions for the store, or replies at once. The
// conversation submits the questions; when the last is answered it calls the handler's second half, which
// writes the reply. An embedded store answers at once, and then one Exchange serves all connections of the
// loop in turn; one that waits belongs to its connection.
//
// The thread of its loop. Not for: bytes (parser.hpp, writer.hpp) and sockets.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/message.hpp"
#include "http/parser.hpp"
#include "http/problem.hpp"
#include "http/rate_limit_fields.hpp"
#include "http/writer.hpp"
#include "limits/kept_request.hpp"
#include "limits/match.hpp"
#include "limits/trace.hpp"
#include "net/clients.hpp"
#include "service/decision_counts.hpp"
#include "service/limits_in_force.hpp"
#include "service/rule_texts.hpp"
#include "service/service.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::http {

struct Exchange;

// One thing that the store is asked for a message, or that has an answer without it.
struct Question final : store::Request {
  Question();

  // As new; what it has allocated stays.
  void clear();
  // Room for checks of limits that the request brings.
  std::span<store::Check> room(std::size_t count);
  // waiting::AcquiringStore::Renew of a question that has `asked`.
  static bool renew(store::Request& request);
  // It is answered without the store.
  void settle() { state = State::answered; }
  // Copies what belongs to the loop: the answer comes later.
  void keep();
  std::size_t kept() const;

  Exchange* asker = nullptr;
  bool by_file = false;  // its checks are those of `matched`; else they are its own
  bool explains = false;
  std::vector<store::Check> own;
  std::unique_ptr<limits::Matched> matched;
  Faults faults;  // what is wrong with it: then it is not asked
  store::Reservation reserved;
  limits::KeptRequest asked;  // of one that may wait in line while the limits change

  // Of an explanation.
  limits::Trace trace;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<std::pair<std::string, std::string>> keys_and_rules;  // of its own checks

 private:
  std::vector<store::Limit> limits_;  // copies of those of its own checks
};

// Shared by the connections of a loop. A connection uses it within one call of feed().
class Room {
 public:
  // `forms`: those of RateLimit fields, whatever the limits file says; empty: as it says.
  explicit Room(service::Service& service, std::string_view forms = {});
  ~Room();
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  // Another exchange, as new; and one that is done with.
  std::unique_ptr<Exchange> take();
  void put_back(std::unique_ptr<Exchange> exchange);
  std::unique_ptr<Question> take_question();
  void put_back(std::unique_ptr<Question> question);

  // The set in force, or null; the same until the next call, and the time by which its dates go.
  const limits::Set* renew_limits();
  limits::Time limits_now() const { return limits_now_; }
  const std::shared_ptr<const limits::Set>& limits_set() const { return limits_.set(); }
  // The forms of RateLimit fields that the set in force and --headers ask for.
  const Forms& forms() const { return forms_; }

  service::RuleTexts& rules() { return rules_; }
  // Now, as the field Date says it.
  std::string_view date();

  FieldRoom fields{};
  service::DecisionCounts counts;
  std::array<limits::Attribute, limits::kMostAttributes> attributes{};
  std::vector<store::Request*> asked;  // while they are submitted
  struct Json;                         // json.hpp
  std::unique_ptr<Json> json;

 private:
  // As many as wait for a store at a time; beyond that they are made and freed each time.
  static constexpr std::size_t kMostFree = 64;

  service::Service& service_;
  service::RuleTexts rules_;
  service::LimitsView limits_;
  limits::Time limits_now_{};
  std::uint64_t forms_of_ = 0;  // the serial of the set that they are of
  const std::string_view forms_chosen_;
  Forms forms_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
  std::vector<std::unique_ptr<Question>> questions_;
  std::chrono::seconds dated_{-1};
  std::string date_;
};

enum class Kind : std::uint8_t { check, look, explain, reset, reserve, acquire, cancel, settle };

constexpr bool reserves(Kind kind) { return kind == Kind::reserve || kind == Kind::acquire; }
// It is counted, and a denial is not answered with 200.
constexpr bool charges(Kind kind) { return kind == Kind::check || reserves(kind); }

struct Exchange {
  Exchange(service::Service& for_service, Room& in) : service(for_service), room(in) {}
  ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  Question& ask();  // one more, as new
  void drop_questions();
  std::size_t kept() const;

  service::Service& service;
  Room& room;
  const net::Peer* peer = nullptr;

  std::chrono::nanoseconds arrived{0};
  Reply reply;
  // Called once all questions are answered, to write the reply. Null: it is written already.
  void (*answer)(Exchange&) = nullptr;
  std::vector<std::unique_ptr<Question>> questions;
  std::size_t open = 0;                           // questions without an answer
  const std::function<void()>* resume = nullptr;  // called when the last open one is answered
  const limits::Set* set = nullptr;               // that its questions go by
  const limits::Gateway* gateway = nullptr;       // of the set, when one asks
  std::shared_ptr<const limits::Set> set_kept;    // while it waits

  Kind kind = Kind::check;
  std::optional<std::chrono::seconds> prefers;  // to wait at most that long for the answer
  bool ended = false;                           // an operator has ended its wait, and with an error
  bool batch = false;                           // it is answered as a list, one for each question
  bool trusted = false;  // to be set: its sender may ask, though it showed no credentials
};

}  // namespace weir::http
