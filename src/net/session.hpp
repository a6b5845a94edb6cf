// One connection: moves bytes between a socket and a conversation.
//
// A state machine, the same for plain and TLS. A plain connection at rest holds no buffers: it waits until
// its socket is readable, reads into its loop's buffer, and keeps only what was half sent. While replies
// or answers are outstanding, nothing is read; so a client that does not read its answers fills its own
// socket and then stalls, until the loop closes it.
//
// Everything here runs on its loop's thread. The loop owns it until it is closed. Not for: what bytes mean.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/conversation.hpp"
#include "net/loop.hpp"
#include "net/protocol.hpp"
#include "net/socket.hpp"

namespace weir::inline v0_1::net {

// A connection that goes on in another process.
struct HandedOver {
  std::shared_ptr<Session> session;
  int descriptor = -1;  // the session's, until it leaves
  Peer peer;
  std::string protocol;  // Protocol::name
  std::string state;     // of its conversation
  std::string rest;      // what was read of a message that is not yet whole
};

class Session final : public std::enable_shared_from_this<Session>, private Poller::Watched {
 public:
  // What it waits for.
  enum class State : std::uint8_t {
    handshaking,  // the end of the handshake
    reading,      // input
    answering,    // the answers that its conversation waits for
    writing,      // the peer to take the replies
    delaying,     // until its answer is due
    yielding,     // its next turn, after the other connections of the loop
    ending,       // the end of our side to be sent
    lingering,    // the peer to close its side; what still comes is thrown away
    closed,
  };

  // The caller has counted it in the loop's counters; its end takes it out again.
  static std::shared_ptr<Session> start(Loop& loop, std::unique_ptr<Socket> socket, Peer peer,
                                        const Protocol& protocol);
  Session(Loop& loop, std::unique_ptr<Socket> socket, Peer peer, const Protocol& protocol);  // for start()
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  State state() const { return state_; }
  std::uint64_t id() const { return peer_.id; }
  ClientInfo client() const;
  // When it sent something, or came.
  std::chrono::nanoseconds last_heard() const { return std::max(came_, unread_since_); }

  // The events that do not come from the socket.
  void on_answers();                                // that its conversation has waited for
  void look_at_time(std::chrono::nanoseconds now);  // ends a delay that is over, a stall that is too long
  bool end_wait(bool with_error) { return conversation_ && conversation_->end_wait(with_error); }
  void drain();  // answers what has arrived, then closes
  // Of one whose protocol has words for that: tells its peer to connect again, and goes on meanwhile.
  void say_goodbye();
  bool says_goodbye() const { return says_goodbye_; }

  // While the loop holds (Loop::hold()). Whether nothing that was read waits for its answer.
  bool is_settled() const;
  // What another process needs to go on with it; nothing when it is not plain, or owes answers. It is as it
  // was: then either the loop goes on, or leave() is called.
  std::optional<HandedOver> hand_over();
  void go_on();
  void leave();  // closes our descriptor of a connection that goes on
  void cut();    // ends it as soon as what it is being sent has been taken
  // Of one that start() has made: goes on with what hand_over() has told. False: it cannot.
  bool take_over(std::string_view state, std::string rest);

  void close_for_memory();
  void close();

 private:
  void on_ready() override;
  void act();
  void ends_or_talks();
  void on_turn();
  void speak();

  void shake_hands();
  void tell_of_refusal();
  void tell_of_stall();
  void read();
  void converse(std::string_view fresh, Arrival when);
  void delay(std::string_view out, std::chrono::nanoseconds now);
  void end_delay();
  void write(std::string_view out);
  void write_rest();
  void answered();
  void expect_input();
  void yield();
  void finish();
  void end_output();
  void discard();
  void end_drained();

  bool owing() const;
  bool has_gone() const { return state_ == State::closed || socket_->has_ended(); }
  std::size_t feed(std::string_view fresh, std::string& out, Arrival when);
  Arrival arrival(const Socket::Outcome& got);
  void watch(Want want);
  void note_progress(bool progress, bool owing, std::chrono::nanoseconds now);
  void account();

  Loop& loop_;
  std::unique_ptr<Socket> socket_;
  Peer peer_;
  const Protocol& protocol_;
  const std::chrono::nanoseconds came_;
  // None during the handshake, nor when it was closed, memory or time being up.
  std::unique_ptr<Conversation> conversation_;
  std::string rest_;     // bytes of a message that is not yet whole, or not yet run
  std::string untaken_;  // replies that the socket did not take at once, from written_ on
  std::size_t written_ = 0;
  std::size_t unread_ = 0;  // seen in the kernel at unread_since_
  std::chrono::nanoseconds unread_since_{0};
  std::size_t left_to_drain_ = 0;
  std::chrono::nanoseconds stalled_since_;  // 0: not stalled
  std::chrono::nanoseconds delayed_since_{0};
  MemoryCharge charge_;
  std::size_t leaving_ = 0;                  // what it was charged when it was closed
  std::chrono::nanoseconds keeps_since_{0};  // more than itself
  State state_ = State::handshaking;
  bool draining_ = false;
  bool handed_over_ = false;  // perhaps: the socket is left alone
  bool cut_ = false;
  bool says_goodbye_ = false;    // in place of draining
  bool ends_with_peer_ = false;  // while answering
};

}  // namespace weir::net
