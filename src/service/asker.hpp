// What the connections of an event loop that speak one protocol share for asking: the limits file's set in
// force, the texts of rules, memory that is used again, what is counted.
//
// Questions are gathered here while a connection runs, before the store is asked all of them in one call. A
// connection uses it within one call of feed() and leaves it empty: questions that are still open then go
// with the connection (take_out) and come back later (put_back), so a connection at rest holds none.
//
// The thread of its loop. Not for: a connection's part (asking.hpp), and what a question means (ask.hpp).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "limits/match.hpp"
#include "service/ask.hpp"
#include "service/decision_counts.hpp"
#include "service/hold_ender.hpp"
#include "service/limits_in_force.hpp"
#include "service/loop_counting.hpp"
#include "service/question.hpp"
#include "service/rate_limit_fields.hpp"
#include "service/rule_texts.hpp"
#include "service/service.hpp"
#include "store/store.hpp"
#include "waiting/acquiring_store.hpp"

namespace weir::inline v0_1::service {

class Asker {
 public:
  // Enough cache misses to keep the memory busy; more only push earlier lines out again.
  static constexpr std::size_t kMany = 64;

  // Without `acquiring` nobody waits for a moment; without `ender` nobody may ask for holds that are bound.
  // All that is handed in must outlive it.
  Asker(Service& service, store::Store& store, waiting::AcquiringStore* acquiring = nullptr,
        HoldEnder* ender = nullptr);
  ~Asker();
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  Service& service() { return service_; }
  store::Store& store() { return store_; }
  waiting::AcquiringStore* acquiring() { return acquiring_; }
  HoldEnder* ender() { return ender_; }
  DecisionCounts& counts() { return counts_; }
  const DecisionCounts& counts() const { return counts_; }

  // What is counted by key goes there; null: nowhere.
  void count_in(LoopCounting* counting) {
    counting_ = counting;
    if (counting != nullptr) sample_ = counting->sample();
  }
  bool counts_keys() const { return counting_ != nullptr; }

  // A connection begins to ask: by the set that is in force now.
  void begin() { renewed_ = false; }
  // What time it is for what is told from then on.
  void set_now(std::chrono::nanoseconds now) { now_ = now; }
  // The same until begin() or clear(); null: there is none. And what time it is for it.
  const limits::Set* limits() {
    if (!renewed_) renew_limits();
    return set_;
  }
  limits::Time limits_now() const { return limits_now_; }
  // What operators have steered of it; null: nothing.
  const limits::Steered* steered() const { return steered_; }
  limits::MatchMemory& match_memory() { return match_memory_; }
  const std::shared_ptr<const limits::Steered>& ruling() const { return ruling_.made(); }
  // Null: there is no limits file.
  std::shared_ptr<const limits::Set> shared_limits() const {
    return ruling() ? ruling()->shared_set() : nullptr;
  }

  // What the acquire says that was gathered last; it views that.
  limits::Description& acquired() { return acquired_; }
  // For a look at what else a request that is asked already would meet.
  limits::Matched& second_look() { return second_look_; }

  // Room for what a front end parses, until it asks.
  std::array<limits::Attribute, limits::kMostAttributes>& attributes() { return attributes_; }
  bool has_file() const { return service_.limits != nullptr && service_.limits->ruling.version() != 0; }

  // A question about that many limits that the request brings, at most store::kMostChecks: each is added, and
  // then it is asked; or drop_rules(). It can be explained: its rules are kept.
  void begin_rules(std::size_t count, bool explains = false) {
    Question& question = add();
    question.room(count);
    question.by_file = false;
    question.explains = explains;
    if (explains) question.more_of().explained_of().said.clear();
    rules_ = 0;
    has_rules_ = true;
  }
  // What a rule's text says; null, as the next's false: it is refused, as refusal() says.
  const store::Limit* find_rule(std::string_view text);
  bool add_rule(std::string_view key, std::string_view text, Cost cost);
  // What was begun, if anything, is not asked.
  void drop_rules() {
    if (std::exchange(has_rules_, false)) drop_last();
  }

  // Gathers what is asked; null: it is refused.
  Question* add(const Ask& ask) {
    const bool has_rules = std::exchange(has_rules_, false);
    Question& question = has_rules ? (*this)[size_ - 1] : add();
    if (has_rules && ask.verb <= store::Verb::look) {
      question.verb = ask.verb;
      question.reservation = nullptr;
      return &question;
    }
    const Basis basis{limits(),
                      limits_now_,
                      match_memory_,
                      service_.options().max_wait,
                      service_.options().max_overdraft,
                      service_.options().allow_refunds,
                      steered_,
                      ask.verb >= store::Verb::moment && tracks()};
    if (prepare(ask, basis, question, refusal_)) {
      if (ask.explains && ask.as != nullptr) keep_said(*ask.as, question);
      return &question;
    }
    drop_last();
    return nullptr;
  }
  // The next, for the caller to fill.
  Question& add() {
    if (size_ == questions_.size()) [[unlikely]]
      grow();
    Question& next = (*this)[size_++];
    next.state = store::Request::State::idle;
    next.fault = Fault::none;
    return next;
  }
  const Refusal& refusal() const { return refusal_; }
  void drop_last() { --size_; }  // it is not asked

  std::size_t size() const { return size_; }
  Question& operator[](std::size_t i) { return static_cast<Question&>(*questions_[i]); }
  std::span<store::Request* const> requests() const { return {questions_.data(), size_}; }
  // Those of them that have no answer yet; until the next call.
  std::vector<store::Request*>& unanswered();
  // All have been dealt with, or taken out.
  void clear();

  // Gives the i-th question away; another one takes its place.
  std::unique_ptr<Question> take_out(std::size_t i);
  void put_back(std::unique_ptr<Question> question);

  // Counts what was decided; what was only looked at is not.
  void count(const Question& question, const limits::Set* set, bool allowed) {
    if (!question.by_file) return count(question, allowed);
    if (set->tracks() || service_.operators.wants_events.load(std::memory_order_relaxed) ||
        !is_passed_over(question, allowed)) [[unlikely]]
      count_keys(question, set, allowed);
    denied_ += allowed ? 0 : 1;
    counts_.count(*set, question.more->matched, question.checks.empty() ? nullptr : &question);
  }
  // One about limits that the request brought.
  void count(const Question& question, bool allowed) {
    if (counting_ != nullptr && question.fault == Fault::none) counting_->see_rules(question, now_);
    if (!is_passed_over(question, allowed)) [[unlikely]]
      count_keys(question, nullptr, allowed);
    denied_ += allowed ? 0 : 1;
    counts_.count(question);
  }
  // By key alone, beside metrics.
  void count_keys(const Question& question, const limits::Set* set, bool allowed);
  // One that is answered has cancelled, settled, charged or given back; of the set, null where there is none.
  void count_change(const Question& question, const limits::Set* set);
  // Whether somebody wants to know that.
  bool tracks() { return counting_ != nullptr && limits() != nullptr && limits()->tracks(); }
  // What was counted is told to the service.
  void flush();

  // The forms of RateLimit fields that the set in force and --headers ask for.
  const Forms& forms() { return forms_.of(limits()); }
  // The RateLimit fields and Retry-After of a decision, in the forms that the set in force and --headers ask
  // for: a line of HTTP each. `set` as told_of() has it.
  void append_fields(const Question& question, const limits::Set* set, std::string& fields);

 private:
  static constexpr std::size_t kMostFree = 1024;
  static constexpr std::size_t kMostWithMore = 16;
  static constexpr std::size_t kMostKeptKeys = 4096;

  // Its units are not in the sample, so that nothing by key comes of it: most are so.
  bool is_passed_over(const Question& question, bool allowed) {
    if (!allowed) return false;
    if (question.checks.size() == 1) return sample_.misses(question.checks[0].cost.units);
    return question.by_file && LoopCounting::passes_over(question, sample_);
  }
  static std::unique_ptr<Question> made();
  static void keep_said(const limits::Description& asked, Question& question);
  void renew_limits();
  void grow();

  Service& service_;
  store::Store& store_;
  waiting::AcquiringStore* acquiring_;
  HoldEnder* ender_;
  ViewOf<RulingInForce> ruling_;
  FormsInForce forms_;
  const limits::Set* set_ = nullptr;
  const limits::Steered* steered_ = nullptr;
  bool renewed_ = false;
  limits::Time limits_now_{};
  limits::MatchMemory match_memory_;
  limits::Description acquired_{.attributes = {}};
  limits::Matched second_look_;
  DecisionCounts counts_;
  std::uint64_t denied_ = 0;  // not told yet
  LoopCounting* counting_ = nullptr;
  steering::UnitSample sample_{};
  std::chrono::nanoseconds now_{0};

  std::array<limits::Attribute, limits::kMostAttributes> attributes_{};
  RuleTexts texts_;
  std::size_t rules_ = 0;   // of the last question, so far
  bool has_rules_ = false;  // it is not asked yet
  Refusal refusal_;

  std::size_t size_ = 0;
  std::vector<store::Request*> questions_;  // all of them Questions, and ours
  std::vector<store::Request*> unanswered_;
  std::vector<std::unique_ptr<Question>> free_;
};

}  // namespace weir::service
