// What tests of sessions share: a fake socket, a fake conversation, and a loop with a clock of the test's.
//
// No descriptor, no time that passes, one thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/session.hpp"

namespace weir::inline v0_1::net {

inline constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

// The far end of a fake socket: what has arrived for the session, and what the session did.
struct Wire {
  std::deque<Want> handshake;  // what the next steps of the handshake wait for
  std::string incoming;
  std::string comes_meanwhile;  // arrives after each read
  std::size_t half_record = 0;  // bytes that have arrived after `incoming`, of no use without more
  bool ended = false;           // after `incoming`
  bool broken = false;
  bool refused = false;              // by the handshake; the connection stands
  std::size_t most_read = kAll;      // of one receive()
  std::size_t room = kAll;           // bytes that it still takes
  Want read_wants = Want::input;     // when nothing is there
  Want write_wants = Want::output;   // when there is no room
  std::optional<Want> ending_wants;  // before it can be told that nothing more comes
  bool watchable = true;
  std::size_t kept = 0;
  int plain = -1;  // Socket::plain_descriptor()

  std::string sent;
  std::size_t reads = 0;
  bool output_ended = false;
  bool closed = false;
  Want watching = Want::nothing;
  Poller::Watched* watched = nullptr;

  // What the poller does when it has something to tell.
  void ready() {
    if (watching != Want::nothing && !closed) watched->on_ready();
  }
};

class FakeSocket final : public Socket {
 public:
  using Status = Socket::Status;
  explicit FakeSocket(Wire& wire) : wire_(wire) {}

  Outcome handshake() override {
    if (wire_.broken || wire_.ended || wire_.refused) return {.status = Status::broken};
    if (wire_.handshake.empty()) return {};
    const Want want = wire_.handshake.front();
    wire_.handshake.pop_front();
    return {.status = Status::again, .want = want};
  }

  Outcome receive(std::span<char> buffer) override {
    ++wire_.reads;
    if (wire_.broken) return {.status = Status::broken};
    if (wire_.incoming.empty() && wire_.ended) return {.status = Status::end};
    if (wire_.incoming.empty()) return {.status = Status::again, .want = wire_.read_wants};
    const std::size_t room = std::min(buffer.size(), wire_.most_read);
    const std::size_t n = wire_.incoming.copy(buffer.data(), room);
    wire_.incoming.erase(0, n);
    wire_.incoming += wire_.comes_meanwhile;
    return {.bytes = n, .taken = n, .more = n == room};
  }

  Outcome send(std::string_view bytes) override {
    EXPECT_FALSE(bytes.empty());
    EXPECT_FALSE(wire_.output_ended);
    if (wire_.broken) return {.status = Status::broken};
    const std::size_t n = std::min(wire_.room, bytes.size());
    wire_.room -= wire_.room == kAll ? 0 : n;
    wire_.sent += bytes.substr(0, n);
    return {.status = n == 0 ? Status::again : Status::done,
            .want = n < bytes.size() ? wire_.write_wants : Want::nothing,
            .bytes = n};
  }

  Outcome end_output() override {
    if (wire_.broken) return {.status = Status::broken};
    if (wire_.ending_wants) return {.status = Status::again, .want = *wire_.ending_wants};
    wire_.output_ended = true;
    return {};
  }

  bool has_ended() const override { return wire_.ended || wire_.broken; }
  std::size_t unread() const override { return wire_.incoming.size() + wire_.half_record; }
  std::size_t at_rest() const override { return 0; }
  std::size_t kept() const override { return wire_.kept; }

  bool watch(Want want, Poller::Watched& watched) override {
    wire_.watching = want;
    wire_.watched = &watched;
    return wire_.watchable;
  }
  Want watching() const override { return wire_.watching; }
  int plain_descriptor() const override { return wire_.plain; }

  void close() override {
    wire_.closed = true;
    wire_.watching = Want::nothing;
  }

 private:
  Wire& wire_;
};

// Messages are lines: "ask" is answered when the test says so, "work" in a turn of its own, "quit" ends,
// "acquire" likewise, and ends with its peer, "login" is trusted from then on, "guess" is answered late,
// "begin" wants an "end"; any other line is its own reply.
struct Talk {
  bool trusted = true;
  bool unfinished = false;
  bool late = false;
  std::size_t kept = 0;
  bool waiting = false;
  bool ends_with_peer = false;
  bool busy = false;
  bool closing = false;
  bool has_words = false;  // for a goodbye
  bool said_goodbye = false;
  std::optional<std::string> state;  // for another process; nothing: it cannot go on there
  bool left = false;
  std::chrono::nanoseconds due = std::chrono::nanoseconds::max();  // when it has something to say by itself
  std::vector<Arrival> fed;
  std::function<void()> resume;
  std::function<bool()> has_gone;  // its peer

  void answer() {
    waiting = false;
    busy = true;
    resume();
  }
};

class FakeConversation final : public Conversation {
 public:
  explicit FakeConversation(Talk& talk) : talk_(talk) {}

  void look_for_peer(std::function<bool()> has_gone) override { talk_.has_gone = std::move(has_gone); }

  std::size_t feed(std::string_view input, std::string& out, Arrival when) override {
    EXPECT_FALSE(talk_.waiting);
    EXPECT_FALSE(talk_.closing);
    talk_.fed.push_back(when);
    if (std::exchange(talk_.busy, false)) out += "answer\n";
    talk_.late = false;
    std::size_t used = 0;
    while (!talk_.waiting && !talk_.busy && !talk_.closing && !talk_.late) {
      const std::size_t end = input.find('\n', used);
      if (end == std::string_view::npos) break;
      run(input.substr(used, end - used), out);
      used = end + 1;
    }
    return used;
  }

  bool waiting() const override { return talk_.waiting; }
  bool busy() const override { return talk_.busy || talk_.late; }
  bool closing() const override { return talk_.closing; }
  bool trusted() const override { return talk_.trusted; }
  bool unfinished() const override { return talk_.unfinished; }
  bool late() const override { return talk_.late; }
  bool ends_with_peer() const override { return talk_.ends_with_peer; }
  std::size_t kept() const override { return talk_.kept; }
  void describe(ClientInfo& client) const override { client.name = "talker"; }
  void look_at_time(std::chrono::nanoseconds now) override {
    if (now < talk_.due) return;
    talk_.due = std::chrono::nanoseconds::max();
    talk_.busy = true;
  }
  bool say_goodbye() override {
    if (talk_.has_words) talk_.said_goodbye = talk_.busy = true;
    return talk_.has_words;
  }
  std::optional<std::string> hand_over() const override { return talk_.state; }
  bool take_over(std::string_view state) override { return state == talk_.state; }
  void leave() override { talk_.left = true; }

 private:
  void run(std::string_view line, std::string& out) {
    if (line == "ask" || line == "acquire") {
      talk_.waiting = true;
      talk_.ends_with_peer = line == "acquire";
    } else if (line == "work") {
      talk_.busy = true;
    } else if (line == "quit") {
      out += "bye\n";
      talk_.closing = true;
    } else if (line == "guess") {
      out += "wrong\n";
      talk_.late = true;
    } else if (line == "begin" || line == "end") {
      talk_.unfinished = line == "begin";
    } else if (line == "login") {
      out += "welcome\n";
      talk_.trusted = true;
    } else {
      out += line;
      out += '\n';
    }
  }

  Talk& talk_;
};

struct World {
  using State = Session::State;

  ~World() { loop.close_sessions(); }

  void start() {
    counters.now = 1;
    session = Session::start(loop, std::make_unique<FakeSocket>(wire), {7, "10.0.0.7", 70}, protocol);
  }

  void receives(std::string_view bytes) {
    wire.incoming += bytes;
    wire.ready();
  }

  // What the loop's other handlers do: turns, and answers that have come.
  void run() {
    loop.context.restart();
    loop.context.poll();
  }

  void sweep_after(std::chrono::nanoseconds time) {
    now += time;
    loop.sweep();
  }

  // Lets everything that can be waited for come about.
  void let_go() {
    wire.room = kAll;
    wire.handshake.clear();
    wire.ending_wants.reset();
    wire.ready();
    if (talk.waiting) talk.answer();
    if (state() == State::delaying) sweep_after(std::chrono::seconds{1});
    run();
    run();
  }

  // A session in the state; one message has been answered before, where that is possible.
  void reach(Session::State state) {
    if (state == State::handshaking) wire.handshake.assign(100, Want::input);
    start();
    if (state == State::handshaking) return;
    receives("one\n");
    if (state == State::answering) receives("ask\n");
    if (state == State::delaying) receives("guess\n");
    if (state == State::yielding) receives("work\n");
    if (state == State::writing) {
      wire.room = 2;
      receives("long\n");
    }
    if (state == State::ending) {
      wire.ending_wants = Want::output;
      receives("quit\n");
    }
    if (state == State::lingering) receives("quit\n");
    if (state == State::closed) session->close();
  }

  Session::State state() const { return session->state(); }

  std::chrono::nanoseconds now = std::chrono::seconds{1000};
  LoopCounters counters;
  core::Notices notices{[this] { return now; }};
  Wire wire;
  Talk talk;
  Protocol protocol{.converse =
                        [this](Loop&, const Peer&, std::function<void()> resume) {
                          talk.resume = std::move(resume);
                          return std::make_unique<FakeConversation>(talk);
                        },
                    .too_many = "too many\n",
                    .too_large = "too large\n"};
  Loop loop{0, [this] { return now; }, std::chrono::seconds{30}, counters, notices};
  std::shared_ptr<Session> session;
};

}  // namespace weir::net
