// One HTTP/1.1 connection's conversation.
//
// Requests are answered in the order in which they came, one at a time: one that waits for a store holds up
// those after it in the same connection, and so does one that waits for its moment, which is given up when
// its client goes away. Nothing is taken of a request before it is whole; what must be refused by its head
// alone is refused before its body is read. Where a body says nothing, at the gate, the head is answered, and
// the body is thrown away as it comes.
//
// One thread at a time, that of its loop. Not for: sockets, timers, TLS (net/), and what is asked
// (handlers.hpp).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/deferred_answer.hpp"
#include "http/doorkeeper.hpp"
#include "http/exchange.hpp"
#include "http/handlers.hpp"
#include "http/parser.hpp"
#include "net/conversation.hpp"
#include "service/service.hpp"

namespace weir::inline v0_1::http {

class Conversation final : public net::Conversation {
 public:
  // Answers beyond this end a call of feed(), so that what a client does not take stays bounded.
  static constexpr std::size_t kOutputCap = std::size_t{256} << 10;

  // `loop` is shared by the conversations of a loop. `most` is what anybody may here. All that is handed in
  // must outlive this.
  Conversation(service::Service& service, HttpLoop& loop, net::Peer peer, std::function<void()> resume,
               steering::Role most = steering::Role::admin);
  ~Conversation() override;

  // A request with an Origin is answered: that has been judged.
  void let_pages_ask() { lets_pages_ask_ = true; }

  void look_for_peer(std::function<bool()> has_gone) override {
    asking_.look_for_client(std::move(has_gone));
  }
  std::size_t feed(std::string_view input, std::string& out, net::Arrival when) override;
  bool waiting() const override { return asking_.waiting() || deferred_.waiting() || door_.waiting(); }
  bool ends_with_peer() const override { return asking_.acquiring(); }
  bool end_wait(bool with_error) override { return asking_.end_wait(with_error); }
  bool busy() const override {
    return busy_ || asking_.answered() || deferred_.answered() || door_.answered();
  }
  bool closing() const override { return closing_; }
  bool trusted() const override { return trusted_; }
  bool unfinished() const override { return parser_.skipping(); }
  bool late() const override { return late_; }
  std::size_t kept() const override {
    return parser_.kept() + (exchange_ ? exchange_->kept() + asking_.kept() : 0);
  }
  void describe(net::ClientInfo& client) const override;
  std::optional<std::string> hand_over() const override;
  bool take_over(std::string_view state) override;

 private:
  enum class Head : std::uint8_t { runs, replied, waits };

  bool take(std::string& out, net::Arrival when, bool last);
  bool records_first(const Message& message, const Handler& route, Exchange& exchange);
  void run_recorded(Exchange& exchange, net::Arrival when);
  Head judge(const Message& message, const Handler*& route, Reply& reply);
  Head judge_caller(const Message& message, Reply& reply);
  void refuse_by_head(std::string& out);
  void fail(std::string& out);
  bool settle(Exchange& exchange);
  void write(const Reply& reply, std::string& out);

  service::Service& service_;
  HttpLoop& loop_;
  net::Peer peer_;
  service::Asking asking_;  // on behalf of its peer's address
  DeferredAnswer deferred_;
  Doorkeeper door_;
  RequestParser parser_;
  std::unique_ptr<Exchange> exchange_;  // that waits, or has waited and is not written
  // What runs once the audit has written it down, or is refused as that could not be.
  struct Recorded {
    const Handler* route;
    std::string body;
    bool written = false;
  };
  std::unique_ptr<Recorded> recorded_;
  const Handler* last_ = nullptr;
  Framing framing_;  // of the request that is being answered
  bool told_to_continue_ = false;
  bool lets_pages_ask_ = false;
  bool trusted_;
  bool late_ = false;
  bool busy_ = false;
  bool closing_ = false;
};

}  // namespace weir::http
