// The connections of a server as an operator sees them: plain data, and the one question and the one order
// that there are about them.
//
// A `Clients` belongs to one loop and is used on its thread. Not for: connections that are asked something.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::inline v0_1::net {

// The other end of a connection.
struct Peer {
  std::uint64_t id;     // no other connection of this program has it
  std::string address;  // without its port; "unix" for one of this machine
  std::uint16_t port = 0;
  bool local = false;  // of this machine: by loopback, or by a Unix socket
  // Of the certificate that it has shown, which the listener's authority has signed: its one common name.
  // Empty: none.
  std::string certificate{};
};

struct ClientInfo {
  Peer peer;
  std::chrono::nanoseconds age{0};   // since it came
  std::chrono::nanoseconds idle{0};  // since it sent something
  std::size_t memory = 0;            // that is kept for it
  std::size_t input = 0;             // bytes of it: half a message, or not yet run
  std::size_t output = 0;            // replies that it has not taken

  // What its conversation says.
  std::string name{};
  std::string user{};
  std::string command = "NULL";
  int protocol = 0;
  std::int64_t queued = -1;  // commands in an open transaction; -1: none is open
  bool waits = false;        // for its moment
};

class Clients {
 public:
  // Those of a moment, shared by all that asked meanwhile.
  struct List {
    std::vector<ClientInfo> rows{};  // by id
    std::string text{};              // of all of them, once it has been written
  };
  using Rows = std::shared_ptr<List>;

  virtual ~Clients() = default;

  // Calls `done` in a later turn of this loop: when every loop has told of its own, and one of those that
  // asked a turn.
  virtual void list(std::function<void(const Rows&)> done) = 0;
  // Closes these, on whichever loops they are; then calls `done` with how many there were.
  virtual void close(std::vector<std::uint64_t> ids, std::function<void(std::size_t)> done) = 0;
  // Ends what this one waits for (Conversation::end_wait()); then calls `done` with 1, or 0 when it did not
  // wait.
  virtual void end_wait(std::uint64_t id, bool with_error, std::function<void(std::size_t)> done) = 0;
  // Calls it in a later turn of this loop. The only one that any thread may use.
  virtual void post(std::function<void()> call) = 0;
};

}  // namespace weir::net
