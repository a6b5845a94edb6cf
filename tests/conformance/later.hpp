// A store around another, whose answers come when it is told to run: the least that a queue does. It keeps to
// the contract; sabotage.hpp makes stores of it that do not.
//
// The inner store answers everything at once, as the embedded one does.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "conformance/embedded_world.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::store::conformance {

class Later : public Store {
 public:
  explicit Later(Store& inner) : inner_(inner) {}

  void submit(std::span<Request* const> batch, Arrival when) override {
    for (Request* const request : batch) {
      waiting_.push_back(std::make_unique<Kept>(*request, when));
      request->state = Request::State::submitted;
    }
  }

  void cancel(Request& pending) override {
    pending.state = Request::State::idle;
    std::erase_if(waiting_, [&pending](const auto& kept) { return kept->asked == &pending; });
  }

  void give_back(const Request& charged, nanoseconds now) override { inner_.give_back(charged, now); }

  void run() {
    while (!waiting_.empty()) {
      const std::unique_ptr<Kept> kept = take();
      decide(*kept);
      deliver(*kept, *kept->asked);
    }
  }

 protected:
  // A request with checks, keys and limits of its own, because those of the asker are lent only.
  struct Kept {
    Kept(Request& request, Arrival moment)
        : asked(&request), when(moment), checks(request.checks.begin(), request.checks.end()) {
      copy.verb = request.verb;
      copy.reservation = request.reservation;
      copy.charge = request.charge;
      copy.take = request.take;
      for (Check& check : checks) {
        check.limit = &limits.emplace_back(*check.limit);
        check.key = keys.emplace_back(check.key);
        check.colocate = keys.emplace_back(check.colocate);
      }
      copy.checks = checks;
    }

    Request* asked;
    Arrival when;
    Request copy;
    std::vector<Check> checks;
    std::deque<Limit> limits;
    std::deque<std::string> keys;
  };

  virtual std::unique_ptr<Kept> take() {
    std::unique_ptr<Kept> kept = std::move(waiting_.front());
    waiting_.pop_front();
    return kept;
  }
  virtual void decide(Kept& kept) { ask_inner(kept.copy, kept.when); }
  virtual void deliver(const Kept& kept, Request& asked) {
    for (std::size_t i = 0; i < kept.checks.size(); ++i) {
      asked.checks[i].decision = kept.checks[i].decision;
      asked.checks[i].hash = kept.checks[i].hash;
      asked.checks[i].cost = kept.checks[i].cost;
    }
    asked.charged = kept.copy.charged;
    asked.by = kept.copy.by;
    asked.source = kept.copy.source;
    asked.fault = kept.copy.fault;
    asked.forgotten = kept.copy.forgotten;
    asked.charged_at = kept.copy.charged_at;
    asked.why = kept.copy.why;
    asked.state = Request::State::answered;
    asked.on_answer(asked);
  }

  void ask_inner(Request& request, Arrival when) {
    Request* const batch[] = {&request};
    inner_.submit(batch, when);
  }

  Store& inner_;
  std::deque<std::unique_ptr<Kept>> waiting_;
};

template <class Kind = Later>
class LaterWorld : public EmbeddedWorld {
 public:
  Store& store() override { return later_; }
  void advance(nanoseconds time) override {
    settle();
    EmbeddedWorld::advance(time);
  }
  void settle() override { later_.run(); }

 private:
  Kind later_{EmbeddedWorld::store()};
};

}  // namespace weir::store::conformance
