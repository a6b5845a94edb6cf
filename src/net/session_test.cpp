#include "net/session.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "net/world_test.hpp"

namespace weir::inline v0_1::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using State = Session::State;

constexpr std::array kStates = {State::handshaking, State::reading,   State::answering,
                                State::writing,     State::delaying,  State::yielding,
                                State::ending,      State::lingering, State::closed};
constexpr std::string_view kLetters = "hrawdyelc";  // of these
char letter(State state) { return kLetters[static_cast<std::size_t>(state)]; }

struct Event {
  std::string_view what;
  std::string_view becomes;  // of each of kStates
  void (*happens)(World&);
};

constexpr auto kEvents = std::to_array<Event>({
    {"ready, and nothing there", "hrawdyelc", [](World& t) { t.wire.ready(); }},
    {"ready, and something there", "hrawdyelc", [](World& t) { t.receives("two\n"); }},
    {"half a message", "hrawdyelc", [](World& t) { t.receives("tw"); }},
    {"a question for the store", "haawdyelc", [](World& t) { t.receives("ask\n"); }},
    {"a message that yields", "hyawdyelc", [](World& t) { t.receives("work\n"); }},
    {"a message that ends", "hlawdyelc", [](World& t) { t.receives("quit\n"); }},
    {"a message whose reply is not taken", "hwawdyelc",
     [](World& t) {
       t.wire.room = 0;
       t.receives("two\n");
     }},
    {"the handshake, room, or the end of our side", "rrardyllc",
     [](World& t) {
       t.wire.handshake.clear();
       t.wire.room = kAll;
       t.wire.ending_wants.reset();
       t.wire.ready();
     }},
    {"the peer ends its side", "ccawdyecc",
     [](World& t) {
       t.wire.ended = true;
       t.wire.ready();
     }},
    {"the peer resets", "ccacdyccc",
     [](World& t) {
       t.wire.broken = true;
       t.wire.ready();
     }},
    {"answers come", "hrrwdrelc",
     [](World& t) {
       if (t.talk.waiting) t.talk.answer();
       t.run();
     }},
    {"a call to resume, and no answers", "hrawdrelc",
     [](World& t) {
       if (t.talk.resume) t.talk.resume();  // during the handshake there is nobody to call it
       t.run();
     }},
    {"its turn", "hrawdrelc", [](World& t) { t.run(); }},
    {"the signal to stop", "ccawyyccc", [](World& t) { t.loop.drain(); }},
    {"a second", "hrawyyelc", [](World& t) { t.sweep_after(seconds{1}); }},
    {"two seconds", "hrawyyccc", [](World& t) { t.sweep_after(seconds{2}); }},
    {"a little less than the timeout", "hrawyyccc", [](World& t) { t.sweep_after(seconds{29}); }},
    {"the timeout", "cracyyccc", [](World& t) { t.sweep_after(seconds{30}); }},
    {"a message of a wrong guess", "hdawdyelc", [](World& t) { t.receives("guess\n"); }},
    {"its memory is needed", "cllcclccc",
     [](World& t) {
       t.counters.memory.most = 1;
       t.session->close_for_memory();
     }},
    {"our closing", "ccccccccc", [](World& t) { t.session->close(); }},
});

TEST(SessionTable, every_event_in_every_state) {
  for (const State from : kStates) {
    for (const Event& event : kEvents) {
      SCOPED_TRACE(std::string{letter(from)} + ": " + std::string(event.what));
      World world;
      world.reach(from);
      ASSERT_EQ(letter(world.state()), letter(from));
      event.happens(world);
      const State to = world.state();
      EXPECT_EQ(letter(to), event.becomes[static_cast<std::size_t>(from)]);

      // A closed one is gone in the loop's next turn, and nothing of it stays.
      EXPECT_EQ(world.wire.closed, to == State::closed);
      EXPECT_EQ(world.loop.sessions.size(), to == State::closed ? 0U : 1U);
      if (to != State::closed) continue;
      world.session.reset();
      world.run();
      EXPECT_EQ(world.counters.now, 0U);
    }
  }
}

class SessionTest : public ::testing::Test, protected World {};

TEST_F(SessionTest, watches_for_what_its_state_waits_for) {
  start();
  EXPECT_EQ(wire.watching, Want::input);
  wire.room = 0;
  receives("one\n");
  EXPECT_EQ(wire.watching, Want::output);
  wire.room = kAll;
  wire.ready();
  EXPECT_EQ(wire.watching, Want::input);
  receives("quit\n");
  EXPECT_EQ(wire.watching, Want::input) << "for the end of the peer's side";
}

TEST_F(SessionTest, a_kernel_without_room_for_one_more_closes_it) {
  wire.watchable = false;
  start();
  EXPECT_EQ(state(), State::closed);
}

// Order, and what is kept back.

TEST_F(SessionTest, replies_are_whole_wherever_the_socket_stops_taking) {
  const std::string messages = "one\ntwo\nthree\n";
  for (std::size_t first = 0; first <= messages.size(); ++first) {
    SCOPED_TRACE(first);
    wire = Wire{};
    talk = Talk{};
    start();
    wire.room = first;
    receives(messages);
    for (std::size_t taken = first; taken < messages.size(); ++taken) {
      EXPECT_EQ(state(), State::writing);
      wire.ready();
      EXPECT_EQ(wire.sent, messages.substr(0, taken)) << "nothing was taken";
      wire.room = 1;
      wire.ready();
    }
    EXPECT_EQ(state(), State::reading);
    EXPECT_EQ(wire.sent, messages);
    session->close();
  }
}

TEST_F(SessionTest, a_message_is_whole_wherever_it_is_cut) {
  const std::string message = "three words here\n";
  for (std::size_t cut = 0; cut <= message.size(); ++cut) {
    SCOPED_TRACE(cut);
    wire = Wire{};
    start();
    receives("first\n" + message.substr(0, cut));
    receives(message.substr(cut) + "last\n");
    EXPECT_EQ(wire.sent, "first\n" + message + "last\n");
    session->close();
  }
}

TEST_F(SessionTest, nothing_is_read_while_replies_wait) {
  reach(State::writing);
  const std::size_t reads = wire.reads;
  receives("two\n");
  receives("three\n");
  EXPECT_EQ(wire.reads, reads);
  let_go();
  wire.ready();
  EXPECT_EQ(wire.sent, "one\nlong\ntwo\nthree\n");
}

TEST_F(SessionTest, nothing_is_read_while_the_store_is_asked) {
  reach(State::answering);
  const std::size_t reads = wire.reads;
  receives("two\n");
  EXPECT_EQ(wire.reads, reads);
  EXPECT_EQ(wire.watching, Want::nothing);
  let_go();
  wire.ready();
  EXPECT_EQ(wire.sent, "one\nanswer\ntwo\n");
}

TEST_F(SessionTest, what_came_after_a_question_is_run_after_its_answer) {
  start();
  receives("ask\ntwo\nask\nthr");
  EXPECT_EQ(wire.sent, "");
  talk.answer();
  EXPECT_EQ(wire.sent, "") << "in a turn of its own";
  run();
  EXPECT_EQ(wire.sent, "answer\ntwo\n");
  talk.answer();
  run();
  receives("ee\n");
  EXPECT_EQ(wire.sent, "answer\ntwo\nanswer\nthree\n");
}

TEST_F(SessionTest, an_answer_that_comes_while_replies_wait_is_written_after_them) {
  start();
  wire.room = 1;
  receives("one\nask\ntwo\n");
  ASSERT_EQ(state(), State::writing);
  talk.answer();
  run();
  EXPECT_EQ(wire.sent, "o");
  let_go();
  EXPECT_EQ(wire.sent, "one\nanswer\ntwo\n");
  EXPECT_EQ(state(), State::reading);
}

TEST_F(SessionTest, an_answer_that_comes_after_the_replies_are_taken_is_written_too) {
  start();
  wire.room = 1;
  receives("one\nask\n");
  wire.room = kAll;
  wire.ready();
  ASSERT_EQ(state(), State::answering);
  wire.ready();
  EXPECT_EQ(wire.watching, Want::nothing);
  let_go();
  EXPECT_EQ(wire.sent, "one\nanswer\n");
  EXPECT_EQ(wire.watching, Want::input);
}

TEST_F(SessionTest, a_conversation_that_ends_while_replies_wait_ends_after_them) {
  start();
  wire.room = 2;
  receives("one\nquit\ntwo\n");
  EXPECT_EQ(state(), State::writing);
  EXPECT_FALSE(wire.output_ended);
  wire.room = kAll;
  wire.ready();
  EXPECT_EQ(wire.sent, "one\nbye\n");
  EXPECT_TRUE(wire.output_ended);
  EXPECT_EQ(state(), State::lingering);
}

TEST_F(SessionTest, answers_that_come_after_the_close_are_nobodys) {
  reach(State::answering);
  talk.answer();
  session->close();
  const std::weak_ptr<Session> watched = session;
  session.reset();
  run();
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(wire.sent, "one\n");
}

TEST_F(SessionTest, a_turn_that_comes_after_the_close_is_nobodys) {
  reach(State::yielding);
  session->close();
  run();
  EXPECT_EQ(wire.sent, "one\n");
}

// The end of a connection.

TEST_F(SessionTest, a_client_that_ends_its_side_is_still_answered) {
  for (const State from : {State::reading, State::answering, State::writing, State::yielding}) {
    SCOPED_TRACE(letter(from));
    wire = Wire{};
    talk = Talk{};
    reach(from);
    wire.incoming += "last\n";
    wire.ended = true;
    wire.ready();
    let_go();
    wire.ready();
    wire.ready();
    EXPECT_EQ(wire.sent.substr(wire.sent.size() - 5), "last\n");
    EXPECT_TRUE(wire.output_ended);
    EXPECT_EQ(state(), State::closed);
  }
}

TEST_F(SessionTest, one_that_ends_with_its_peer_still_watches_for_input) {
  start();
  receives("acquire\n");
  EXPECT_EQ(state(), State::answering);
  EXPECT_EQ(wire.watching, Want::input);
  talk.answer();
  run();
  EXPECT_EQ(wire.sent, "answer\n");
  EXPECT_EQ(wire.watching, Want::input);
}

TEST_F(SessionTest, one_that_ends_with_its_peer_watches_for_the_end_once_more_has_come) {
  start();
  receives("acquire\n");
  const std::size_t reads = wire.reads;
  receives("two\n");
  EXPECT_EQ(state(), State::answering);
  EXPECT_EQ(wire.watching, Want::end);
  EXPECT_EQ(wire.reads, reads) << "what came stays in the kernel";
  talk.answer();
  run();
  wire.ready();
  EXPECT_EQ(wire.sent, "answer\ntwo\n");
  EXPECT_EQ(wire.watching, Want::input);
}

TEST_F(SessionTest, its_conversation_can_ask_whether_the_peer_has_gone_before_that_is_read) {
  start();
  receives("acquire\n");
  EXPECT_FALSE(talk.has_gone());
  wire.incoming += "two\n";
  wire.ended = true;
  EXPECT_TRUE(talk.has_gone());
  EXPECT_EQ(state(), State::answering);
  wire.ended = false;
  session->close();
  EXPECT_TRUE(talk.has_gone()) << "it lives until the loop's next turn";
}

TEST_F(SessionTest, one_that_ends_with_its_peer_is_closed_when_the_peer_ends) {
  for (const std::string_view before : {"", "two\n"}) {
    wire = Wire{};
    talk = Talk{};
    start();
    receives("acquire\n");
    if (!before.empty()) receives(before);
    wire.ended = true;
    wire.ready();
    wire.ready();  // an end does not pass
    EXPECT_EQ(state(), State::closed);
  }
}

TEST_F(SessionTest, one_that_ends_with_its_peer_is_watched_after_another_that_was_not) {
  start();
  receives("ask\nacquire\n");
  wire.ready();
  ASSERT_EQ(wire.watching, Want::nothing);
  talk.answer();
  run();
  EXPECT_EQ(state(), State::answering);
  EXPECT_EQ(wire.watching, Want::end);
}

// Several whose answers come of one turn go on after it, and one that ends another does no harm.
TEST_F(SessionTest, those_whose_answers_come_of_a_turn_go_on_when_it_is_over) {
  start();
  receives("ask\n");
  loop.turn([this] {
    talk.answer();
    EXPECT_EQ(wire.sent, "") << "not from inside";
  });
  EXPECT_EQ(wire.sent, "answer\n");
  receives("ask\n");
  loop.turn([this] {
    talk.answer();
    session->close();
  });
  EXPECT_EQ(wire.sent, "answer\n");
  EXPECT_EQ(state(), State::closed);
}

TEST_F(SessionTest, a_client_that_goes_while_the_store_is_asked_is_not_told_of_again_and_again) {
  reach(State::answering);
  wire.broken = true;
  wire.ready();
  EXPECT_EQ(wire.watching, Want::nothing);
  EXPECT_EQ(state(), State::answering);
  talk.answer();
  run();
  EXPECT_EQ(state(), State::closed);
}

TEST_F(SessionTest, what_comes_after_the_last_reply_is_thrown_away_and_no_reset_overtakes_it) {
  start();
  receives("quit\nmore\n");
  EXPECT_TRUE(wire.output_ended);
  receives("more\n");
  EXPECT_FALSE(wire.closed);
  EXPECT_EQ(wire.incoming, "");
  wire.ended = true;
  wire.ready();
  EXPECT_TRUE(wire.closed);
  EXPECT_EQ(wire.sent, "bye\n");
}

TEST_F(SessionTest, a_client_that_sends_on_and_on_after_the_last_reply_is_closed) {
  reach(State::lingering);
  wire.comes_meanwhile = "more\n";
  receives("more\n");
  EXPECT_EQ(state(), State::closed);
}

// What had arrived at the signal to stop.

TEST_F(SessionTest, draining_answers_what_had_arrived_in_every_state) {
  for (const auto& [from, sent] : {std::pair{State::reading, "one\nlast\n"},
                                   {State::answering, "one\nanswer\nlast\n"},
                                   {State::writing, "one\nlong\nlast\n"},
                                   {State::yielding, "one\nanswer\nlast\n"}}) {
    for (const bool something_arrived : {false, true}) {
      SCOPED_TRACE(std::string{letter(from)} + (something_arrived ? ", with input" : ""));
      wire = Wire{};
      talk = Talk{};
      reach(from);
      if (something_arrived) wire.incoming = "last\n";
      loop.drain();
      wire.incoming += "late\n";
      wire.most_read = 5;
      let_go();
      const std::string_view all = sent;
      EXPECT_EQ(wire.sent, something_arrived ? all : all.substr(0, all.size() - 5));
      EXPECT_TRUE(wire.output_ended);
      EXPECT_EQ(state(), State::closed);
      run();
    }
  }
}

TEST_F(SessionTest, while_its_loop_holds_it_reads_nothing_and_goes_on_afterwards) {
  for (const auto& [from, sent] : {std::pair{State::reading, "one\n"},
                                   {State::answering, "one\nanswer\n"},
                                   {State::writing, "one\nlong\n"},
                                   {State::yielding, "one\nanswer\n"}}) {
    SCOPED_TRACE(letter(from));
    wire = Wire{};
    talk = Talk{};
    reach(from);
    loop.hold();
    EXPECT_EQ(loop.is_settled(), from == State::reading);
    wire.incoming = "late\n";
    let_go();
    wire.ready();
    EXPECT_EQ(wire.sent, sent);
    EXPECT_TRUE(loop.is_settled());
    EXPECT_EQ(wire.watching, Want::nothing);
    loop.go_on();
    run();
    EXPECT_EQ(wire.sent, std::string(sent) + "late\n");
    EXPECT_EQ(wire.watching, Want::input);
    session->close();
    run();
  }
}

TEST_F(SessionTest, one_that_goes_on_elsewhere_is_left_alone) {
  wire.plain = 5;
  talk.state = "state";
  start();
  receives("one\nha");
  loop.hold();
  auto handed = loop.hand_over();
  ASSERT_EQ(handed.size(), 1U);
  EXPECT_EQ(handed[0].descriptor, 5);
  EXPECT_EQ(handed[0].state, "state");
  EXPECT_EQ(handed[0].rest, "ha");
  EXPECT_EQ(handed[0].peer.id, 7U);
  wire.incoming = "late\n";
  wire.ready();
  loop.cut_others();
  loop.drain();
  session->drain();
  sweep_after(seconds{100});
  EXPECT_EQ(wire.reads, 1U);
  EXPECT_EQ(wire.sent, "one\n");
  EXPECT_FALSE(wire.output_ended);
  handed[0].session->leave();
  EXPECT_TRUE(talk.left);
  EXPECT_TRUE(wire.closed);
  EXPECT_FALSE(wire.output_ended) << "the connection is the other's";
}

TEST_F(SessionTest, one_that_does_not_go_on_elsewhere_answers_what_has_arrived_and_ends) {
  talk.state = "state";
  for (const bool plain : {false, true}) {
    wire = Wire{};
    wire.plain = plain ? 5 : -1;
    talk.unfinished = plain;
    start();
    loop.hold();
    wire.incoming = "last\n";
    EXPECT_TRUE(loop.hand_over().empty());
    EXPECT_EQ(wire.sent, "last\n");
    EXPECT_EQ(state(), State::closed);
    run();
  }
}

TEST_F(SessionTest, one_that_is_cut_ends_when_its_reply_is_taken) {
  reach(State::writing);
  loop.hold();
  EXPECT_TRUE(loop.hand_over().empty());
  wire.incoming = "late\n";
  loop.cut_others();
  EXPECT_EQ(state(), State::writing);
  let_go();
  EXPECT_EQ(wire.sent, "one\nlong\n");
  EXPECT_TRUE(wire.output_ended);
}

TEST_F(SessionTest, one_that_is_taken_over_goes_on_with_half_a_message) {
  talk.state = "state";
  start();
  EXPECT_FALSE(session->take_over("other", ""));
  EXPECT_TRUE(session->take_over("state", "tw"));
  receives("o\n");
  EXPECT_EQ(wire.sent, "two\n");
}

TEST_F(SessionTest, a_conversation_that_takes_more_while_answers_are_outstanding_speaks_when_they_come) {
  start();
  receives("two\n");
  wire.sent.clear();
  talk.busy = true;
  talk.resume();
  run();
  EXPECT_EQ(wire.sent, "answer\n");
  EXPECT_EQ(state(), State::reading);
  EXPECT_EQ(wire.watching, Want::input);
}

TEST_F(SessionTest, a_conversation_says_by_itself_what_it_has_to_say_by_a_time) {
  start();
  talk.due = now + seconds{5};
  sweep_after(seconds{4});
  EXPECT_EQ(wire.sent, "");
  sweep_after(seconds{1});
  EXPECT_EQ(wire.sent, "answer\n");
  EXPECT_EQ(state(), State::reading);
}

TEST_F(SessionTest, a_conversation_that_says_goodbye_ends_when_it_is_done) {
  talk.has_words = true;
  start();
  loop.drain();
  EXPECT_TRUE(talk.said_goodbye);
  EXPECT_EQ(wire.sent, "answer\n");
  EXPECT_EQ(state(), State::reading) << "its peer may have said something before it heard that";
  receives("two\n");
  EXPECT_EQ(wire.sent, "answer\ntwo\n");
  receives("quit\n");
  EXPECT_EQ(state(), State::closed) << "a peer that does not close its side is not waited for";
}

TEST_F(SessionTest, draining_does_not_answer_what_comes_later) {
  start();
  wire.incoming = "one\ntwo\nthr";
  wire.most_read = 4;
  wire.comes_meanwhile = "late\n";
  loop.drain();
  for (int turn = 0; turn < 10; ++turn) run();
  EXPECT_EQ(wire.sent.substr(0, 8), "one\ntwo\n");
  EXPECT_LE(wire.sent.size(), 16U);
  EXPECT_EQ(state(), State::closed);
}

TEST_F(SessionTest, draining_that_is_stopped_by_untaken_replies_does_not_answer_what_comes_later) {
  start();
  wire.room = 0;
  wire.incoming = "one\n";
  loop.drain();
  ASSERT_EQ(state(), State::writing);
  receives("late\n");
  let_go();
  EXPECT_EQ(wire.sent, "one\n");
  EXPECT_EQ(state(), State::closed);
}

TEST_F(SessionTest, draining_does_not_wait_for_the_rest_of_a_record) {
  for (const std::string_view arrived : {"", "one\n"}) {
    wire = Wire{};
    start();
    wire.incoming = arrived;
    wire.half_record = 100;
    loop.drain();
    EXPECT_EQ(wire.sent, arrived);
    EXPECT_EQ(state(), State::closed);
  }
}

TEST_F(SessionTest, draining_takes_turns_too) {
  start();
  for (int i = 0; i < 100; ++i) wire.incoming += "1234567\n";
  wire.most_read = 8;
  loop.drain();
  EXPECT_EQ(state(), State::yielding);
  run();
  EXPECT_EQ(wire.sent.size(), 800U);
  EXPECT_EQ(state(), State::closed);
}

// Standing still.

TEST_F(SessionTest, half_a_message_is_given_the_timeout_from_its_last_progress) {
  start();
  receives("one\ntw");
  sweep_after(seconds{29});
  receives("o\nthr");
  sweep_after(seconds{29});
  EXPECT_EQ(state(), State::reading);
  receives("e");
  sweep_after(seconds{1});
  EXPECT_EQ(state(), State::closed) << "single bytes are not progress";
  EXPECT_EQ(counters.stalled, 1U);
}

TEST_F(SessionTest, half_a_message_is_told_why_it_ends_where_the_protocol_has_words_for_it) {
  protocol.stalled = "too slow\n";
  start();
  receives("one\ntw");
  wire.sent.clear();
  sweep_after(seconds{30});
  EXPECT_EQ(wire.sent, "too slow\n");
  EXPECT_EQ(state(), State::lingering);
  receives("o\n");
  EXPECT_EQ(wire.sent, "too slow\n") << "nothing runs any more";
  EXPECT_EQ(counters.stalled, 1U);
  sweep_after(seconds{2});
  EXPECT_EQ(state(), State::closed);
  EXPECT_EQ(counters.stalled, 1U);
}

TEST_F(SessionTest, untaken_replies_are_given_the_timeout_from_the_last_byte_taken) {
  reach(State::writing);
  sweep_after(seconds{29});
  wire.room = 1;
  wire.ready();
  sweep_after(seconds{29});
  wire.ready();
  EXPECT_EQ(state(), State::writing);
  sweep_after(seconds{1});
  EXPECT_EQ(state(), State::closed);
  EXPECT_EQ(counters.stalled, 1U);
}

TEST_F(SessionTest, an_idle_connection_is_not_closed) {
  start();
  receives("one\n");
  sweep_after(seconds{1'000'000});
  receives("ask\n");
  sweep_after(seconds{1'000'000});
  EXPECT_EQ(state(), State::answering);
  EXPECT_EQ(counters.stalled, 0U);
}

TEST_F(SessionTest, the_time_that_the_store_takes_is_not_the_clients) {
  start();
  receives("ask\ntw");
  sweep_after(seconds{1'000'000});
  talk.answer();
  run();
  sweep_after(seconds{29});
  EXPECT_EQ(state(), State::reading);
  sweep_after(seconds{1});
  EXPECT_EQ(state(), State::closed);
}

TEST_F(SessionTest, one_that_is_not_trusted_has_until_the_timeout_whatever_it_does) {
  talk.trusted = false;
  start();
  for (int i = 0; i < 29; ++i) {
    sweep_after(seconds{1});
    receives("one\n");
  }
  sweep_after(milliseconds{999});
  EXPECT_EQ(state(), State::reading);
  sweep_after(milliseconds{1});
  EXPECT_EQ(state(), State::closed);
  EXPECT_EQ(counters.stalled, 1U);
}

TEST_F(SessionTest, one_that_has_shown_who_it_is_may_idle) {
  talk.trusted = false;
  start();
  receives("login\n");
  sweep_after(seconds{1000});
  EXPECT_EQ(state(), State::reading);
}

TEST_F(SessionTest, a_late_handshake_leaves_an_untrusted_one_no_more_time) {
  talk.trusted = false;
  reach(State::handshaking);
  sweep_after(seconds{20});
  wire.handshake.clear();
  wire.ready();
  sweep_after(seconds{10});
  EXPECT_EQ(state(), State::closed);
}

TEST_F(SessionTest, the_peers_time_to_end_its_side_is_not_counted_as_stalled) {
  reach(State::lingering);
  sweep_after(seconds{2});
  EXPECT_EQ(state(), State::closed);
  EXPECT_EQ(counters.stalled, 0U);
}

TEST_F(SessionTest, a_stall_is_as_long_as_the_timeout_says_wherever_between_two_looks_it_began) {
  for (int i = 1; i < 10; ++i) {
    SCOPED_TRACE(i);
    wire = Wire{};
    start();
    sweep_after(seconds{100});
    now += milliseconds{100 * i};
    receives("half");
    sweep_after(seconds{30} - milliseconds{1});
    EXPECT_EQ(state(), State::reading);
    sweep_after(milliseconds{1});
    EXPECT_EQ(state(), State::closed);
  }
}

TEST_F(SessionTest, what_is_begun_over_several_messages_must_be_ended_like_half_a_message) {
  start();
  receives("begin\n");
  sweep_after(seconds{29});
  receives("one\n");
  sweep_after(seconds{29});
  receives("end\n");
  sweep_after(seconds{1000});
  EXPECT_EQ(state(), State::reading);
  receives("begin\n");
  sweep_after(seconds{30});
  EXPECT_EQ(state(), State::closed);
  EXPECT_EQ(counters.stalled, 1U);
}

// Guesses.

TEST_F(SessionTest, a_wrong_guess_is_answered_a_second_later_and_nothing_is_read_before) {
  start();
  receives("one\nguess\ntwo\n");
  EXPECT_EQ(state(), State::delaying);
  const std::size_t reads = wire.reads;
  receives("three\n");
  EXPECT_EQ(wire.sent, "");
  EXPECT_EQ(wire.reads, reads);
  sweep_after(milliseconds{999});
  EXPECT_EQ(wire.sent, "");
  EXPECT_EQ(counters.delayed, 1U);
  sweep_after(milliseconds{1});
  EXPECT_EQ(wire.sent, "one\nwrong\n");
  EXPECT_EQ(counters.delayed, 0U);
  let_go();
  wire.ready();
  EXPECT_EQ(wire.sent, "one\nwrong\ntwo\nthree\n");
}

TEST_F(SessionTest, one_that_does_not_wait_for_its_answer_keeps_its_place_until_it_is_due) {
  start();
  receives("guess\n");
  wire.ended = true;
  wire.ready();
  EXPECT_EQ(wire.watching, Want::nothing);
  EXPECT_EQ(counters.now, 1U);
  sweep_after(seconds{1});
  run();
  EXPECT_EQ(state(), State::closed);
}

TEST_F(SessionTest, a_guesser_that_has_not_shown_who_it_is_has_until_the_timeout) {
  talk.trusted = false;
  start();
  for (int i = 0; i < 30; ++i) {
    receives("guess\n");
    run();
    sweep_after(seconds{1});
    run();
  }
  EXPECT_EQ(state(), State::closed);
}

TEST_F(SessionTest, one_that_waits_for_our_answer_gets_it_before_its_time_is_up) {
  talk.trusted = false;
  start();
  receives("ask\n");
  sweep_after(seconds{100});
  EXPECT_EQ(state(), State::answering);
  talk.answer();
  run();
  EXPECT_EQ(wire.sent, "answer\n");
  sweep_after(seconds{1});
  EXPECT_EQ(state(), State::closed) << "its time was up";
  EXPECT_EQ(counters.stalled, 1U);
}

TEST_F(SessionTest, of_too_many_guesses_at_once_the_next_are_answered_at_once_and_end) {
  counters.delayed = 1024;
  start();
  receives("guess\n");
  EXPECT_EQ(wire.sent, "wrong\n");
  EXPECT_EQ(state(), State::lingering);
  EXPECT_EQ(counters.delayed, 1024U);
  counters.delayed = 0;
}

TEST_F(SessionTest, one_that_is_closed_while_its_answer_is_held_back_is_no_longer_counted) {
  start();
  receives("guess\n");
  session->close();
  EXPECT_EQ(counters.delayed, 0U);
}

// What it keeps.

TEST_F(SessionTest, what_is_kept_is_charged_and_comes_back) {
  protocol.at_rest = 16'000;
  start();
  EXPECT_EQ(counters.memory.used, 0U);
  EXPECT_GT(counters.memory.at_rest, 16'000U);
  receives(std::string(1000, 'x'));
  EXPECT_EQ(counters.memory.used, 0U) << "a little is in what each costs";
  receives(std::string(100'000, 'x'));
  EXPECT_GE(counters.memory.used, 101'000U);
  receives("\n");
  EXPECT_EQ(counters.memory.used, 0U);
  talk.kept = 50'000;
  receives("one\n");
  EXPECT_GE(counters.memory.used, 50'000U);
  talk.kept = 0;
  wire.room = 0;
  receives(std::string(70'000, 'y') + "\n");
  EXPECT_GE(counters.memory.used, 70'000U) << "replies that are not taken";
  wire.room = kAll;
  wire.ready();
  EXPECT_EQ(counters.memory.used, 0U);
  wire.kept = 18'000;
  receives("one\n");
  EXPECT_GE(counters.memory.used, 18'000U);
  session->close();
  EXPECT_EQ(counters.memory.used, 0U);
  EXPECT_EQ(counters.memory.at_rest, 0U);
}

TEST_F(SessionTest, the_rest_of_a_long_read_does_not_keep_the_memory_of_all) {
  start();
  receives("half");
  receives(std::string(60'000, 'x') + "\nhalf");
  EXPECT_EQ(counters.memory.used, 0U);
}

TEST_F(SessionTest, above_the_bound_the_largest_is_closed_and_told_why) {
  std::vector<std::string> told;
  notices.sink = [&](const core::Notices::Report& each) {
    told.push_back(std::string(each.client) + " " + std::string(each.detail));
  };
  start();
  counters.memory.most = 50'000;
  receives(std::string(40'000, 'x'));
  run();
  EXPECT_EQ(state(), State::reading);
  receives(std::string(40'000, 'x'));
  EXPECT_GT(counters.memory.used, 50'000U);
  run();
  EXPECT_EQ(state(), State::lingering);
  EXPECT_EQ(wire.sent, "too large\n");
  EXPECT_EQ(counters.memory.closed, 1U);
  EXPECT_LT(counters.memory.used, 50'000U);
  EXPECT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].substr(0, 9), "10.0.0.7 ");
}

TEST_F(SessionTest, above_the_bound_nothing_more_is_read_before_room_is_made) {
  start();
  counters.memory.most = 30'000;
  wire.most_read = 20'000;
  receives(std::string(80'000, 'x'));
  EXPECT_EQ(wire.reads, 2U);
  EXPECT_EQ(state(), State::yielding);
}

TEST_F(SessionTest, nothing_is_said_in_the_middle_of_a_reply) {
  reach(State::writing);
  const std::string before = wire.sent;
  session->close_for_memory();
  EXPECT_EQ(state(), State::closed);
  EXPECT_EQ(wire.sent, before);
}

TEST_F(SessionTest, answers_that_come_for_one_closed_for_its_memory_are_nobodys) {
  reach(State::answering);
  const auto resume = talk.resume;
  session->close_for_memory();
  resume();
  run();
  EXPECT_EQ(state(), State::lingering);
}

TEST_F(SessionTest, a_list_shows_what_the_session_and_its_conversation_know) {
  start();
  now += seconds{5};
  receives("one\n");
  now += seconds{2};
  receives("");
  wire.room = 2;
  const ClientInfo client = session->client();
  EXPECT_EQ(client.peer.id, 7U);
  EXPECT_EQ(client.peer.address, "10.0.0.7");
  EXPECT_EQ(client.age, seconds{7});
  EXPECT_EQ(client.idle, seconds{2});
  EXPECT_EQ(client.memory, counters.memory.used + counters.memory.at_rest);
  EXPECT_EQ(client.name, "talker");
}

// The others of the loop.

TEST_F(SessionTest, a_client_that_sends_without_pause_leaves_the_others_their_turn) {
  start();
  wire.most_read = 4;
  wire.comes_meanwhile = "two\n";
  receives("one\n");
  EXPECT_EQ(wire.reads, 4U);
  EXPECT_EQ(state(), State::yielding);
  wire.ready();
  EXPECT_EQ(wire.reads, 4U) << "not before its turn";
  loop.context.restart();
  loop.context.poll_one();
  EXPECT_EQ(wire.reads, 8U);
  wire.comes_meanwhile = "";
}

// TLS may want the one to do the other.

TEST_F(SessionTest, a_refused_handshake_is_not_closed_before_the_peer_has_read_why) {
  wire.refused = true;
  wire.incoming = "sent without waiting";
  start();
  EXPECT_EQ(state(), State::lingering);
  EXPECT_TRUE(wire.output_ended);
  EXPECT_TRUE(wire.incoming.empty()) << "what is left unread makes the kernel send a reset";
  EXPECT_EQ(wire.sent, "");
  wire.ended = true;
  wire.ready();
  EXPECT_EQ(state(), State::closed);
}

TEST_F(SessionTest, a_handshake_may_want_both) {
  wire.handshake = {Want::input, Want::output, Want::input};
  start();
  for (const Want want : {Want::input, Want::output, Want::input}) {
    EXPECT_EQ(state(), State::handshaking);
    EXPECT_EQ(wire.watching, want);
    wire.ready();
  }
  EXPECT_EQ(state(), State::reading);
  receives("one\n");
  EXPECT_EQ(wire.sent, "one\n");
}

TEST_F(SessionTest, reading_may_want_output) {
  start();
  wire.read_wants = Want::output;
  wire.ready();
  EXPECT_EQ(state(), State::reading);
  EXPECT_EQ(wire.watching, Want::output);
  wire.read_wants = Want::input;
  receives("one\n");
  EXPECT_EQ(wire.sent, "one\n");
  EXPECT_EQ(wire.watching, Want::input);
}

TEST_F(SessionTest, writing_may_want_input) {
  start();
  wire.room = 1;
  wire.write_wants = Want::input;
  receives("one\n");
  EXPECT_EQ(state(), State::writing);
  EXPECT_EQ(wire.watching, Want::input);
  wire.write_wants = Want::output;
  wire.ready();
  EXPECT_EQ(wire.watching, Want::output);
  wire.room = kAll;
  wire.ready();
  EXPECT_EQ(wire.sent, "one\n");
  EXPECT_EQ(wire.watching, Want::input);
}

TEST_F(SessionTest, ending_may_want_either) {
  for (const Want want : {Want::input, Want::output}) {
    wire = Wire{};
    talk = Talk{};
    start();
    wire.ending_wants = want;
    receives("quit\n");
    EXPECT_EQ(state(), State::ending);
    EXPECT_EQ(wire.watching, want);
    let_go();
    EXPECT_TRUE(wire.output_ended);
    EXPECT_EQ(state(), State::lingering);
    session->close();
  }
}

// When the bytes of a read had arrived.

TEST_F(SessionTest,
       bytes_that_waited_while_we_worked_had_arrived_by_the_last_read_at_most_a_millisecond_ago) {
  start();
  const auto read_after = [this](nanoseconds time, std::string_view bytes) {
    now += time;
    receives(bytes);
    return now - talk.fed.back().arrived;
  };
  EXPECT_EQ(read_after(seconds{1}, "one\n"), nanoseconds{0});
  EXPECT_EQ(read_after(seconds{1}, "two\n"), nanoseconds{0}) << "nothing had been left in the kernel";

  // A full buffer, after which four bytes are left; they are read in the turn after.
  wire.most_read = 4;
  struct Row {
    nanoseconds worked;
    std::string_view left;
    std::string_view comes;
    nanoseconds waited;
  };
  for (const Row& row : {Row{std::chrono::microseconds{300}, "two\n", "", std::chrono::microseconds{300}},
                         Row{milliseconds{1}, "two\n", "", milliseconds{1}},
                         Row{milliseconds{5}, "two\n", "", milliseconds{1}},
                         Row{std::chrono::microseconds{300}, "", "two\n", nanoseconds{0}},
                         Row{std::chrono::microseconds{300}, "t", "wo\n", nanoseconds{0}}}) {
    SCOPED_TRACE(testing::Message() << row.worked.count() << row.left << row.comes);
    talk.fed.clear();
    wire.incoming = "work\n";  // in which the time passes
    wire.most_read = 5;
    wire.incoming += row.left;
    wire.ready();
    ASSERT_EQ(state(), State::yielding);
    now += row.worked;
    wire.incoming += row.comes;
    run();
    ASSERT_EQ(talk.fed.size(), 3U);
    EXPECT_EQ(talk.fed[2].now, now);
    EXPECT_EQ(now - talk.fed[2].arrived, row.waited);
  }
}

}  // namespace
}  // namespace weir::net
