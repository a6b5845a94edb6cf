// Plays the life of calls as the C++ library does, for tests/limits/test_calls.py: a line a step, "NOW_MS
// VERB ..." between tabs, with the attributes last. Prints an answer a line, times in milliseconds, rounded
// up, as RESP tells them.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/clock.hpp"
#include "weir/limits.hpp"

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Words = std::vector<std::string>;

Words cut(const std::string& line) {
  Words words;
  for (std::size_t from = 0; from <= line.size();) {
    const std::size_t end = std::min(line.find('\t', from), line.size());
    words.push_back(line.substr(from, end - from));
    from = end + 1;
  }
  return words;
}

long long in_ms(nanoseconds time) { return std::chrono::ceil<milliseconds>(time).count(); }
long long in_ms(const std::optional<nanoseconds>& time) { return time ? in_ms(*time) : -1; }

class Player {
 public:
  explicit Player(const std::string& file)
      : limits_(file, weir::Limits::Options{.clock = &clock_, .wall_clock = &clock_}) {}

  void play(const Words& step) {
    clock_.advance_to(nanoseconds{milliseconds{std::stoll(step[0])}});
    const std::string& verb = step[1];
    try {
      if (verb == "check" || verb == "look") return decide(step);
      if (verb == "take") return take(step);
      if (verb == "reserve") return reserve(step);
      if (verb == "charge") return charge(step);
      if (verb == "refund") return print_number(static_cast<long long>(limits_.refund(request(step, 2, 3))));
      by_number(step);
    } catch (const std::invalid_argument&) {
      std::puts("error");
    } catch (const weir::StoreFault&) {
      std::puts("error");
    }
  }

 private:
  static void print_number(long long number) { std::printf("%lld\n", number); }

  // A cost of "-" says none. It views `attributes_`.
  weir::LimitsRequest request(const Words& step, std::size_t cost, std::size_t first) {
    attributes_.clear();
    for (std::size_t i = first; i < step.size(); ++i) {
      const std::size_t equals = step[i].find('=');
      const std::string_view word = step[i];
      attributes_.push_back({word.substr(0, equals), word.substr(equals + 1)});
    }
    weir::LimitsRequest asked{.attributes = attributes_};
    if (step[cost] != "-") asked.cost = weir::Cost{std::stoull(step[cost])};
    return asked;
  }

  static void print(const weir::Decision& decision, nanoseconds or_wait, const std::string& by) {
    std::printf("%d\t%lld\t%lld\t%lld\t%lld\t%s", decision.allowed() ? 0 : 1,
                static_cast<long long>(decision.limit), static_cast<long long>(decision.remaining),
                decision.allowed() ? in_ms(or_wait) : in_ms(decision.retry_after),
                in_ms(decision.reset_after), by.c_str());
  }
  void decide(const Words& step) {
    const weir::LimitsRequest asked = request(step, 2, 3);
    const weir::LimitsDecision told = step[1] == "look" ? limits_.look(asked) : limits_.check(asked);
    print(told.decision, milliseconds{-1}, told.by);
    std::puts("");
  }
  void take(const Words& step) {
    const weir::LimitsTaken told = limits_.take_up_to(request(step, 2, 4), weir::Cost{std::stoull(step[3])});
    print(told.decision, milliseconds{-1}, told.by);
    std::printf("\t%llu\n", static_cast<unsigned long long>(told.granted));
  }
  void reserve(const Words& step) {
    weir::LimitsReservation told =
        limits_.reserve(request(step, 3, 4), {.max_wait = milliseconds{std::stoll(step[2])}});
    print(told.reservation.decision(), told.reservation.wait(), told.by);
    std::puts("");
    kept_.push_back(std::move(told.reservation));
  }
  void charge(const Words& step) {
    const std::uint64_t units = std::stoull(step[3]);
    weir::LimitsCharge what;
    if (step[4] != "-") what.limit = step[4];
    weir::LimitsRequest asked = request(step, 3, 5);
    if (step[2] == "remaining") what.remaining = weir::Remaining{units};
    if (step[2] == "pause") what.pause = weir::Pause{milliseconds{units}};
    if (step[2] != "cost") asked.cost.reset();
    const weir::LimitsCharged told = limits_.charge(asked, what);
    std::printf("%llu\t%llu\t%lld\t%lld\t%s\n", static_cast<unsigned long long>(told.charged.charged),
                static_cast<unsigned long long>(told.charged.overdraft), in_ms(told.charged.wait),
                in_ms(told.charged.reset_after), told.by.c_str());
  }
  // Of what was reserved before.
  void by_number(const Words& step) {
    weir::Reservation& mine = kept_.at(std::stoull(step[2]));
    if (step[1] == "cancel") {
      mine.moment();  // which a pause may have moved
      return print_number(static_cast<long long>(mine.cancel()));
    }
    if (step[1] == "extend") return print_number(in_ms(mine.extend(milliseconds{std::stoll(step[3])})));
    if (step[1] == "moment") {
      const auto at = mine.moment();
      return print_number(at ? in_ms(std::max(*at - clock_.now(), nanoseconds{0})) : -1);
    }
    std::optional<std::uint64_t> actual;
    if (step[3] != "-") actual = std::stoull(step[3]);
    print_number(in_ms(mine.settle(actual)));
  }

  weir::ManualClock clock_;
  weir::Limits limits_;
  std::vector<weir::Attribute> attributes_;
  std::vector<weir::Reservation> kept_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Player player(argv[1]);
  for (std::string line; std::getline(std::cin, line);) player.play(cut(line));
  return 0;
}
