// One protocol's side of one connection: bytes in, bytes out, no socket.
//
// A session (session.hpp) owns the socket and pumps bytes through a conversation; only the conversation
// knows what they mean. One thread at a time: the loop's.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "net/clients.hpp"

namespace weir::inline v0_1::net {

// When all bytes of a read had arrived, and the present time, both on the loop's clock.
struct Arrival {
  std::chrono::nanoseconds arrived;
  std::chrono::nanoseconds now;
};

class Conversation {
 public:
  virtual ~Conversation() = default;

  // Before anything is fed, with what says at any time whether its peer has ended its side, or the connection
  // is unusable, before the session is told.
  virtual void look_for_peer(std::function<bool()> /*has_gone*/) {}

  // Takes whole messages from the front of `input` and appends their answers to `out`. Returns how many bytes
  // it took; the rest is half a message, or for a later call.
  virtual std::size_t feed(std::string_view input, std::string& out, Arrival when) = 0;

  // Answers are outstanding: feed() would take nothing. When they have come the conversation is busy(), and
  // calls its `resume` (dispatcher.hpp), once; the session then feeds it in a turn of its own. One that takes
  // more while answers are outstanding is not waiting, and calls it too.
  virtual bool waiting() const = 0;
  // What it waits for is of use only as long as its peer is there: one that sends nothing more has gone.
  virtual bool ends_with_peer() const { return false; }
  // Ends that wait, if it can: its answer is an error then, or what is true now.
  virtual bool end_wait(bool /*with_error*/) { return false; }
  // Answers are to come, though it takes more meanwhile: it is not to end before it has told them.
  virtual bool owes() const { return false; }
  // There is more to run or to write without more input: feed() is to be called again, after the other
  // connections of the loop.
  virtual bool busy() const = 0;
  // The connection ends when `out` has been written.
  virtual bool closing() const = 0;
  // Called now and then, at least each second: it may have something to say by that time, and is busy() then.
  virtual void look_at_time(std::chrono::nanoseconds /*now*/) {}
  // The program ends: it says so to its peer, is busy() therefore, and closing() when what has come is
  // answered. False: its protocol has no words for that, and the connection ends when what has arrived is
  // answered.
  virtual bool say_goodbye() { return false; }
  // Its peer has had the time to hear that: it takes no more, and is busy() to say so.
  virtual void take_no_more() {}
  // What another process needs to go on with this peer, whose last message is answered; nothing: it cannot,
  // as it is in the middle of something.
  virtual std::optional<std::string> hand_over() const { return std::nullopt; }
  // The other process has it: what would end with the connection goes on.
  virtual void leave() {}
  // Before anything is fed: goes on from there. False: those are not bytes of hand_over().
  virtual bool take_over(std::string_view /*state*/) { return false; }
  // The peer has authenticated, or need not. Until then the stall timeout closes the connection.
  virtual bool trusted() const = 0;
  // The peer has begun something over several messages and has to end it, as it has to end half a message.
  virtual bool unfinished() const { return false; }
  // What was written last is an answer that the peer is to wait for: it has guessed a secret, and wrong. Feed
  // it nothing before that; then it is busy().
  virtual bool late() const { return false; }
  // The bytes that this peer makes it keep, besides those of its protocol.
  virtual std::size_t kept() const = 0;
  // Adds what it knows of its peer.
  virtual void describe(ClientInfo& client) const = 0;
};

}  // namespace weir::net
