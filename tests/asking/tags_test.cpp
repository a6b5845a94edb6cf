// Acquires that wait by a tag, over a line: whatever is asked in whatever order, each is answered once, by a
// reply or by a push after QUEUED, or has left. End to end: tests/end_to_end/test_acquire_tags.py.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "resp/conversation.hpp"
#include "store/embedded_store.hpp"
#include "waiting/acquiring_store.hpp"

namespace weir::inline v0_1::tags_test {
namespace {

using resp::Conversation;
using resp::RespLoop;

using namespace std::chrono_literals;

struct Line {
  Line() { house.queues.hear(embedded.reservations()); }
  service::ServiceOptions options() {
    service::ServiceOptions options;
    options.clock = [this] { return now; };
    options.max_waiters = 40;
    return options;
  }

  std::chrono::nanoseconds now = 1000s;
  int resumed = 0;
  store::EmbeddedStore embedded{1_MiB, WhenFull::deny, {1, 2}};
  waiting::House house{30};
  waiting::AcquiringStore acquiring{embedded, house, [this] { return now; }, [] {}, [] {}};
  service::Service service{options(), embedded.table()};
  RespLoop loop{service, embedded, &acquiring};
};

// One connection, and which of its words it believes to wait.
struct Peer {
  explicit Peer(Line& of) : line(of) { say("HELLO 3\r\n"); }
  std::string say(const std::string& bytes) {
    std::string out;
    EXPECT_EQ(conversation.feed(bytes, out, {line.now, line.now}), bytes.size());
    return out;
  }

  // Takes the pushes out of what came; each is of a word that waits.
  std::string without_pushes(std::string out) {
    const std::string begin = ">3\r\n$12\r\nweir.acquire\r\n$";
    for (std::size_t at = 0; (at = out.find(begin)) != std::string::npos;) {
      const std::size_t length = at + begin.size();
      const std::size_t word = out.find("\r\n", length) + 2;
      const std::string tag = out.substr(word, std::stoul(out.substr(length)));
      EXPECT_EQ(waits.erase(tag), 1U) << tag;
      std::size_t end = word + tag.size() + 2;
      const bool is_error = out[end] == '-';
      EXPECT_TRUE(is_error || out.compare(end, 4, "*7\r\n") == 0) << out;
      for (int left = is_error ? 1 : 8; left > 0; --left) {
        if (out[end] == '$') end = out.find("\r\n", end) + 2;
        end = out.find("\r\n", end) + 2;
      }
      out.erase(at, end - at);
    }
    return out;
  }
  void ask(const std::string& tag, const std::string& words) {
    const bool twice = waits.count(tag) != 0;
    // It is pushed only after QUEUED, and at once only what was answered before.
    const std::string told = without_pushes(say("WEIR.ACQUIRE " + words.substr(0, words.find('|')) + " TAG " +
                                                tag + words.substr(words.find('|') + 1) + "\r\n"));
    if (told == "+QUEUED\r\n") {
      EXPECT_FALSE(twice) << tag;
      waits[tag] = words;
    } else if (twice) {
      EXPECT_EQ(told.substr(0, 8), "-ERR TAG") << told;
    } else {
      EXPECT_TRUE(told.compare(0, 4, "*7\r\n") == 0 || told.compare(0, 8, "-ERR TAG") == 0) << told;
    }
  }
  void leave(const std::string& tag) {
    const std::string told = without_pushes(say("WEIR.LEAVE " + tag + "\r\n"));
    EXPECT_EQ(told, waits.erase(tag) == 1 ? ":1\r\n" : ":0\r\n") << tag;
  }

  Line& line;
  std::map<std::string, std::string> waits;
  Conversation conversation{line.service, line.loop, {7, "127.0.0.1"}, [this] { ++line.resumed; }};
};

TEST(Tags, each_is_answered_once_or_has_left) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Line line;
    std::vector<std::unique_ptr<Peer>> peers;
    for (int i = 0; i < 3; ++i) peers.push_back(std::make_unique<Peer>(line));
    std::mt19937 random(seed);
    const auto any = [&random](int below) {
      return static_cast<int>(random() % static_cast<unsigned>(below));
    };
    const std::vector<std::string> forms{"MAXWAIT 5000| k 5/s", "MAXWAIT 2000 HOLD 3000| s in_flight=2",
                                         "MAXWAIT 3000 HOLD 1000 BOUND| k 5/s s in_flight=2",
                                         "MAXWAIT 0| k 5/s"};
    for (int step = 0; step < 400; ++step) {
      std::unique_ptr<Peer>& peer = peers[static_cast<std::size_t>(any(3))];
      const std::string tag = "t" + std::to_string(any(12));
      const int kind = any(10);
      if (kind < 5) {
        peer->ask(tag, forms[static_cast<std::size_t>(any(4))]);
      } else if (kind < 7) {
        peer->leave(tag);
      } else if (kind < 9) {
        line.now += std::chrono::milliseconds{any(400)};
        line.acquiring.advance(line.now);
        for (auto& each : peers) {
          if (!each->conversation.busy()) continue;
          EXPECT_EQ(each->without_pushes(each->say("")), "");
          EXPECT_FALSE(each->conversation.busy());
        }
      } else if (any(10) == 0) {
        peer = std::make_unique<Peer>(line);
      } else if (any(5) == 0) {
        peer->say("RESET\r\nHELLO 3\r\n");
        peer->waits.clear();
      }
    }
    std::size_t waiting = 0;
    for (auto& each : peers) waiting += each->waits.size();
    EXPECT_EQ(line.house.waiting(), waiting) << seed;
    line.now += 10s;
    line.acquiring.advance(line.now);
    for (auto& each : peers) {
      EXPECT_EQ(each->without_pushes(each->say("")), "");
      EXPECT_TRUE(each->waits.empty()) << seed;
      EXPECT_FALSE(each->conversation.owes());
    }
    EXPECT_EQ(line.house.waiting(), 0U);
  }
}

TEST(Tags, those_in_line_at_the_end_are_told) {
  Line line;
  Peer peer(line);
  std::string asked;
  for (int i = 0; i < 30; ++i)
    asked += "WEIR.ACQUIRE MAXWAIT 60000 TAG " + std::string(60, 'x') + std::to_string(i) + " k 1/s\r\n";
  peer.say(asked);
  EXPECT_TRUE(peer.conversation.owes());
  line.acquiring.end_all_after(line.now, &service::Asking::tell_the_end);
  line.acquiring.advance(line.now);
  EXPECT_TRUE(peer.conversation.busy());
  std::string out;
  peer.conversation.feed("", out, {line.now, line.now});
  std::size_t ends = 0;
  for (std::size_t at = 0; (at = out.find("-ERR the server is shutting down", at)) != std::string::npos; ++at)
    ++ends;
  EXPECT_EQ(ends, 29U);
  EXPECT_FALSE(peer.conversation.busy());
  EXPECT_FALSE(peer.conversation.owes());
}

}  // namespace
}  // namespace weir::inline v0_1::tags_test
