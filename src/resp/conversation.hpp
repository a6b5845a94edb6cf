// One RESP connection's conversation.
//
// The order of work is what makes it fast: the decisions that a read buffer asks for are gathered and the
// store is asked all of them in one call, so that their cache misses, or their round trips, overlap; then
// replies are written once. Commands are answered in the order in which they came, whatever they are, by
// whichever store.
//
// One thread at a time, that of its loop. Not for: sockets, timers, TLS (net/).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/conversation.hpp"
#include "resp/commands.hpp"
#include "resp/deferred_reply.hpp"
#include "resp/parser.hpp"
#include "resp/pipeline.hpp"
#include "resp/transaction.hpp"
#include "service/service.hpp"

namespace weir::inline v0_1::resp {

class Conversation final : public net::Conversation {
 public:
  // A reply larger than this ends a call of feed(), so that what a client does not take stays bounded.
  static constexpr std::size_t kOutputCap = std::size_t{256} << 10;

  // `shared` is by the conversations of a loop. Without `clients` the commands about other connections
  // are unknown. `most` is what anybody may here. All that is handed in must outlive this.
  Conversation(service::Service& service, RespLoop& loop, net::Peer peer, std::function<void()> resume,
               net::Clients* clients = nullptr, steering::Role most = steering::Role::admin);

  void look_for_peer(std::function<bool()> has_gone) override {
    pipeline_.asking().look_for_client(std::move(has_gone));
  }
  std::size_t feed(std::string_view input, std::string& out, net::Arrival when) override;
  bool waiting() const override { return pipeline_.asking().waiting() || deferred_.waiting(); }
  bool ends_with_peer() const override { return pipeline_.asking().acquiring(); }
  bool end_wait(bool with_error) override { return pipeline_.asking().end_wait(with_error); }
  bool busy() const override { return busy_ || pipeline_.asking().answered() || deferred_.answered(); }
  bool owes() const override { return pipeline_.asking().tags() > 0; }
  bool closing() const override { return caller_.closing; }
  bool trusted() const override { return caller_.authenticated(); }
  bool unfinished() const override { return transaction_.open(); }
  bool late() const override { return caller_.guessed; }
  std::size_t kept() const override {
    return asked_ + transaction_.kept() + parser_.kept() + pipeline_.asking().kept_for_long();
  }
  void describe(net::ClientInfo& client) const override;
  std::optional<std::string> hand_over() const override;
  void leave() override { pipeline_.asking().leave(); }
  bool take_over(std::string_view state) override;

 private:
  bool goes_on(const std::string& out) const {
    return !caller_.closing && !caller_.guessed && !slow_ && !waiting() && out.size() < kOutputCap;
  }
  bool take(std::string_view bytes, std::string& out);
  bool gather(const Command& command, Arguments words, bool silent);
  bool settle(std::string& out) { return pipeline_.settle(Writer(out, caller_.protocol)); }
  void push(std::string& out);
  bool records_first(const Command& command, RunningCommand& call);
  void look_who();
  bool may(const Command& command, Arguments words) const {
    return caller_.actor.role >= command.needs(words);
  }
  std::string forbid(const Command& command, Arguments words);
  void execute(const Command* command, std::string_view bytes, std::string& out);
  void queue(const Command& command, std::string_view bytes, RunningCommand& call);
  void run(const Command& command, RunningCommand& call);
  void run_transaction(std::string& out);
  void note(std::chrono::nanoseconds took, std::vector<std::string> words);
  void fail_protocol(std::string_view text, std::string& out);

  service::Service& service_;
  Caller caller_;
  CommandParser parser_;
  Transaction transaction_;
  Pipeline pipeline_;
  DeferredReply deferred_;
  const Command* last_ = nullptr;            // that was run or gathered; null: none, or an unknown one
  std::chrono::nanoseconds waits_since_{0};  // for answers; 0: it waits for none
  std::size_t asked_ = 0;  // bytes of the commands whose answers it waits for: the store has their words
  // The next command is in the audit, or could not be written there and must not run.
  enum class Written : std::uint8_t { no, yes, refused };
  Written written_ = Written::no;
  bool busy_ = false;
  bool slow_ = false;  // what has just run took long: the other connections are next
};

}  // namespace weir::resp
