// For tests: a node that answers a number of calls each second and no more, after a way of some length, and
// the processes that ask it; all on one clock. An answer is the node's time, by a clock of its own.
//
// Not for: what is said (world_test.hpp), and what is decided (shared_world_test.hpp).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "redis/client.hpp"
#include "redis/told_call_test.hpp"
#include "redis/wire_test.hpp"

namespace weir::inline v0_1::redis {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

class BusyNode {
 public:
  // What came of the calls of a process since it was last asked.
  struct Tally {
    std::uint64_t offered = 0;
    std::array<std::uint64_t, kCauseNames.size()> by{};  // cause
    std::uint64_t decided() const { return by[0]; }
    std::uint64_t of(Cause cause) const { return by[static_cast<std::size_t>(cause)]; }
  };

  // `rate` of calls that it answers in a second.
  BusyNode(double rate, nanoseconds round_trip, std::size_t processes = 1, nanoseconds patience = 50ms)
      : round_trip_(round_trip), patience_(patience) {
    can_do(rate);
    for (std::size_t i = 0; i < processes; ++i) processes_.push_back(std::make_unique<Process>(i));
    for (const auto& process : processes_) process->client.start(now);
    run(round_trip + 2ms);
  }
  BusyNode(const BusyNode&) = delete;
  BusyNode& operator=(const BusyNode&) = delete;

  void can_do(double rate) { service_ = nanoseconds{static_cast<std::int64_t>(1e9 / rate)}; }
  void is_away(nanoseconds round_trip) { round_trip_ = round_trip; }
  // From now on the processes run in turn, each for about that long, and not while another does.
  void processes_share_a_processor(nanoseconds turn) { turn_of_each_ = turn; }
  // It ends, and begins again without what it had learnt.
  void restart(std::size_t process) {
    const double offered = processes_[process]->offered;
    processes_[process] = std::make_unique<Process>(process);
    processes_[process]->offered = offered;
    processes_[process]->client.start(now);
  }
  // Its clock steps.
  void clock_steps(nanoseconds by) { clock_ += by; }
  // It does nothing for that long.
  void pauses(nanoseconds time) { free_at_ = std::max(free_at_, now) + time; }
  // From now on each process makes that many calls a second.
  void offer(double rate, std::size_t process) { processes_[process]->offered = rate; }
  void offer(double rate) {
    for (std::size_t i = 0; i < processes_.size(); ++i) offer(rate, i);
  }
  // One call, whose result on_tagged is told.
  void call(std::size_t process, Rank rank) { call(*processes_[process], kTagged, rank); }

  void run(nanoseconds time) {
    const nanoseconds end = now + time;
    for (; now < end; now += kStep) step();
  }
  Tally took(std::size_t process = 0) { return std::exchange(processes_[process]->tally, {}); }
  Client& client(std::size_t process = 0) { return processes_[process]->client; }
  // How long a question waited there at the longest since it was last asked.
  nanoseconds longest_wait() { return std::exchange(longest_wait_, 0ns); }
  // Questions that it has had from a process.
  std::uint64_t asked(std::size_t process = 0) const { return processes_[process]->asked; }

  nanoseconds now = 1000s;
  std::function<void(const Call::Result&)> on_tagged = [](const Call::Result&) {};

 private:
  static constexpr nanoseconds kStep = 100us;  // what happens within it happens at once
  static constexpr std::uint64_t kTagged = 1;

  struct Message {
    nanoseconds at;
    std::string text;  // an answer; empty: the time
  };
  struct Process {
    explicit Process(std::size_t number)
        : client({Endpoint::parse("redis://a").value(), {"script"}},
                 {.seed = number + 1, .read_time = [](const resp::Value& value) {
                    return value.type == resp::Value::Type::integer
                               ? std::optional(nanoseconds{value.integer})
                               : std::nullopt;
                  }}) {}
    Tally tally;
    double offered = 0;
    double owes = 0;  // calls of `offered`
    std::uint64_t asked = 0;
    bool open = false;
    std::deque<Message> to_node;  // each with what will be answered
    std::deque<Message> to_client;
    Client client;
  };

  bool runs(std::size_t process) {
    if (turn_of_each_ == 0ns) return true;
    if (now >= turn_ends_) {
      running_ = (running_ + 1) % processes_.size();
      chance_ = chance_ * 6364136223846793005U + 1442695040888963407U;  // D. Knuth's MMIX
      const auto part = static_cast<std::int64_t>(50 + (chance_ >> 33) % 101);
      turn_ends_ = now + turn_of_each_ * part / 100;
    }
    return process == running_;
  }

  void step() {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      Process& p = *processes_[i];
      p.owes += p.offered * 1e-9 * static_cast<double>(kStep.count());
      if (!runs(i)) continue;
      for (; p.open && !p.to_client.empty() && p.to_client.front().at <= now; p.to_client.pop_front())
        p.client.received(0, p.to_client.front().text, now);
      for (; p.owes >= 1; p.owes -= 1) call(p, 0, Rank::usual);
      while (p.client.next_tick() <= now) p.client.tick(now);
      carry_out(p);
    }
    work();
  }

  void call(Process& p, std::uint64_t tag, Rank rank) {
    ++p.tally.offered;
    auto told = std::make_unique<ToldCall>([this, &p, tag](const Call::Result& result) {
      ++p.tally.by[static_cast<std::size_t>(result.cause)];
      if (tag == kTagged) on_tagged(result);
    });
    p.client.call(std::move(told), 0, command_, now + patience_, now, rank);
  }

  void carry_out(Process& p) {
    for (auto actions = p.client.take_actions(); !actions.empty(); actions = p.client.take_actions()) {
      for (const Client::Action& action : actions) {
        if (action.kind == Client::Action::Kind::write) {
          write(p, p.client.take_output(action.node));
          continue;
        }
        p.open = action.kind == Client::Action::Kind::connect;
        p.to_node.clear();
        p.to_client.clear();
        if (p.open) p.client.connected(action.node, now);
      }
    }
  }

  void write(Process& p, std::string bytes) {
    const nanoseconds at = now + round_trip_ / 2;
    std::string_view rest = bytes;
    for (; rest.starts_with(command_); rest.remove_prefix(command_.size())) {
      ++p.asked;
      p.to_node.push_back({at, ""});
    }
    for (bytes = std::string(rest); !bytes.empty();) {
      const Strings words = take_command(bytes);
      p.asked += words[0] == "CALL" ? 1 : 0;
      p.to_node.push_back({at, words[0] == "CALL" ? "" : answer_to_greeting(words, "sha", "")});
    }
  }

  // A little of each process, again and again, as Redis does with its connections.
  void work() {
    for (std::size_t idle = 0; idle < processes_.size(); ++turn_) {
      const auto& p = processes_[turn_ % processes_.size()];
      std::string answers;
      for (int i = 0; i < 20 && !p->to_node.empty() && p->to_node.front().at <= now; ++i) {
        if (std::max(free_at_, now) >= now + kStep) break;
        free_at_ = std::max(free_at_, now) + service_;
        longest_wait_ = std::max(longest_wait_, free_at_ - p->to_node.front().at);
        const std::string& text = p->to_node.front().text;
        answers += text.empty() ? ":" + std::to_string((free_at_ + clock_).count()) + "\r\n" : text;
        p->to_node.pop_front();
      }
      idle = answers.empty() ? idle + 1 : 0;
      if (!answers.empty()) p->to_client.push_back({free_at_ + round_trip_ / 2, std::move(answers)});
    }
  }

  nanoseconds service_{0};
  nanoseconds round_trip_;
  nanoseconds patience_;
  nanoseconds free_at_{0};
  nanoseconds longest_wait_{0};
  nanoseconds clock_ = 5h;  // how much later it is there
  nanoseconds turn_of_each_{0};
  nanoseconds turn_ends_{0};
  std::size_t running_ = 0;
  std::uint64_t chance_ = 1;
  std::size_t turn_ = 0;
  std::string command_ = array({"CALL"});
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace weir::redis
