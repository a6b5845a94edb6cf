// One RESP connection's conversation: bytes in, bytes out, no socket.
//
// The order of work is what makes it fast: parse what has been read, hash each key and ask for its memory,
// then decide, then write once; a cache miss is most of a decision, and this way misses overlap. Commands are
// answered in the order in which they came, whatever they are.
//
// One thread at a time. The caller owns both buffers. Not for: sockets, timers, TLS (session.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "resp/parser.hpp"
#include "resp/writer.hpp"
#include "server/remote.hpp"
#include "server/service.hpp"
#include "server/throttle.hpp"

namespace weir::server {

class RespFront {
 public:
  // A reply larger than this ends a call of feed(), so that what a client does not take stays bounded.
  static constexpr std::size_t kOutputCap = std::size_t{256} << 10;

  // Working memory that the connections of one thread share; empty between calls.
  struct Pending {
    store::Table::Place place;
    Quota quota;
    Cost cost;
  };
  using Scratch = std::vector<Pending>;

  // With a shared store, decisions come later: feed() takes no more while waiting(), and `resume` is called,
  // possibly from inside feed(), when it may be called again.
  RespFront(Service& service, Scratch& pending, std::uint64_t id, std::string address,
            redis::SharedStore* store = nullptr, std::function<void()> resume = {});
  ~RespFront();
  RespFront(const RespFront&) = delete;
  RespFront& operator=(const RespFront&) = delete;

  // Takes whole commands from the front of `input` and appends their replies to `out`. Returns how many bytes
  // it took; the rest is either half a command or, when `out` has reached kOutputCap, for the next call.
  // All of `input` had arrived by `arrived`, and it is `now`, both on the service's clock.
  std::size_t feed(std::string_view input, std::string& out, std::chrono::nanoseconds arrived,
                   std::chrono::nanoseconds now);

  bool closing() const { return closing_; }  // after `out` has been written
  // There may be more to run, or to write, without more input.
  bool busy() const { return busy_ || (remote_ != nullptr && remote_->size() > 0 && !remote_->waiting()); }
  bool trusted() const { return authenticated_; }
  bool waiting() const { return remote_ != nullptr && remote_->waiting(); }

 private:
  using Arguments = std::span<const std::string_view>;
  struct Command;
  static const std::vector<Command>& commands();
  static const Command* find(std::string_view name);

  void execute(Arguments words, std::string& out);
  void run(const Command& command, Arguments words, std::string& out);
  void decide_pending(std::string& out);
  bool collect(std::string& out);
  bool must_wait(Arguments words) const;
  bool silent() const { return replies_ != Replies::on; }
  void run_transaction(std::string& out);
  void fail(std::string& out, std::string_view text);
  void fail_protocol(std::string& out, std::string_view text);
  resp::Writer reply(std::string& out) const { return resp::Writer(out, protocol_); }

  void throttle(Arguments words, std::string& out, bool gcra);
  void ping(Arguments words, std::string& out);
  void echo(Arguments words, std::string& out);
  void quit(Arguments words, std::string& out);
  void reset_connection(Arguments words, std::string& out);
  void hello(Arguments words, std::string& out);
  void auth(Arguments words, std::string& out);
  void select(Arguments words, std::string& out);
  void client(Arguments words, std::string& out);
  void command(Arguments words, std::string& out);
  void info(Arguments words, std::string& out);
  void config(Arguments words, std::string& out);
  void time(Arguments words, std::string& out);
  void dbsize(Arguments words, std::string& out);
  void shutdown(Arguments words, std::string& out);
  void multi(Arguments words, std::string& out);
  void exec(Arguments words, std::string& out);
  void discard(Arguments words, std::string& out);
  void del(Arguments words, std::string& out);

  bool log_in(std::string_view user, std::string_view password, std::string& out);
  void describe(resp::Writer& to, const Command& command) const;

  Service& service_;
  Scratch& pending_;
  std::uint64_t id_;
  std::string address_;
  resp::RequestParser parser_;
  ThrottleParser throttle_parser_;
  std::string name_;
  int protocol_ = 2;
  bool authenticated_;
  std::chrono::nanoseconds arrived_{0};
  std::chrono::nanoseconds now_{0};  // for the first decisions of a call; 0: to be read anew
  bool closing_ = false;
  bool busy_ = false;
  enum class Replies : std::uint8_t { on, off, skip_next, skip_this } replies_ = Replies::on;
  bool in_multi_ = false;
  bool multi_broken_ = false;
  std::size_t queued_bytes_ = 0;
  std::vector<std::vector<std::string>> queued_;
  std::vector<std::vector<std::string>> transaction_;  // what EXEC is running, from transaction_at_ on
  std::size_t transaction_at_ = 0;
  std::unique_ptr<Remote> remote_;  // with a shared store
  bool yielding_ = false;           // what has just run took long: the other connections are next
};

}  // namespace weir::server
