// One connection: moves bytes between a socket and a conversation.
//
// A state machine, the same for plain and TLS. A plain connection at rest holds no buffers: it waits until
// its socket is readable, reads into its loop's buffer, and keeps only what was half sent. While replies
// or answers are outstanding, nothing is read; so a client that does not read its answers fills its own
// socket and then stalls, until the loop closes it.
//
// Everything here runs on its loop's thread. The loop owns it until it is closed. Not for: what bytes mean.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/conversation.hpp"
#include "net/loop.hpp"
#include "net/socket.hpp"

namespace weir::net {

// Makes the conversation of a connection; `resume` is what it calls when its answers have come.
using Converse = std::function<std::unique_ptr<Conversation>(std::function<void()> resume)>;

class Session final : public std::enable_shared_from_this<Session>, private Poller::Watched {
 public:
  // What it waits for.
  enum class State : std::uint8_t {
    handshaking,  // the end of the handshake
    reading,      // input
    answering,    // the answers that its conversation waits for
    writing,      // the peer to take the replies
    yielding,     // its next turn, after the other connections of the loop
    ending,       // the end of our side to be sent
    lingering,    // the peer to close its side; what still comes is thrown away
    closed,
  };

  // The caller has counted it in the loop's counters; its end takes it out again.
  static std::shared_ptr<Session> start(Loop& loop, std::unique_ptr<Socket> socket, const Converse& converse);
  Session(Loop& loop, std::unique_ptr<Socket> socket);  // for start()
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  State state() const { return state_; }

  // The events that do not come from the socket.
  void close_if_stalled();  // if it has been stalled for too long
  void drain();             // answers what has arrived, then closes
  void close();

 private:
  void on_ready() override;
  void on_turn();
  void on_answers();

  void shake_hands();
  void read();
  void converse(std::string_view fresh, Moment when);
  void write(std::string_view out);
  void write_rest();
  void go_on();
  void expect_input();
  void yield();
  void finish();
  void end_output();
  void discard();

  std::size_t feed(std::string_view fresh, std::string& out, Moment when);
  Moment arrival(const Socket::Outcome& got);
  void watch(Want want);
  void note_progress(bool progress, bool owing);

  Loop& loop_;
  std::unique_ptr<Socket> socket_;
  std::unique_ptr<Conversation> conversation_;
  std::string rest_;     // bytes of a message that is not yet whole, or not yet run
  std::string untaken_;  // replies that the socket did not take at once, from written_ on
  std::size_t written_ = 0;
  std::size_t unread_ = 0;  // seen in the kernel at unread_since_
  std::chrono::nanoseconds unread_since_{0};
  std::size_t left_to_drain_ = 0;
  std::chrono::nanoseconds stalled_since_{0};  // 0: not stalled
  State state_ = State::handshaking;
  bool draining_ = false;
};

}  // namespace weir::net
