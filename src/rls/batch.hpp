// Messages of a connection that are asked together: the questions of all of their descriptors are one call of
// the store, and each message is answered when the last of its own is.
//
// The thread of its loop. Destroying it cancels what is open; calls that it has not answered are then the
// connection's alone. Not for: bytes of HTTP/2 (grpc/connection.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "grpc/connection.hpp"
#include "rls/answer.hpp"
#include "rls/rls_loop.hpp"
#include "rls/status.hpp"
#include "rls/tree_descriptor.hpp"
#include "service/asking.hpp"
#include "service/rate_limit_fields.hpp"

namespace weir::inline v0_1::rls {

class Batch {
 public:
  Batch(RlsLoop& loop, grpc::Connection& connection, std::string peer, std::function<void()> resume);
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void begin(store::Arrival when);
  // A message: its answer is written now, or by settle().
  void take(grpc::GrpcCall& call, Asks asks);
  bool full() const { return loop_.asker.size() >= service::Asker::kMany; }
  // Asks what was taken, and answers what is answered. False: some of it waits for a store.
  bool settle();
  bool waiting() const { return asking_.waiting(); }
  bool answered() const { return asking_.answered(); }
  std::size_t kept() const {
    return asking_.kept() + messages_.size() * sizeof(Message) + again_.size() * sizeof(again_[0]);
  }

 private:
  struct Message {
    grpc::GrpcCall* call;
    std::size_t left;  // descriptors that are not told
    RateLimitAnswer answer;
    Asks asks = Asks::may_pass;
    bool over = false;
    bool undecided = false;  // nobody could decide one of them
    bool by_fallback = false;
    bool has_quota = false;                           // some descriptors are in quota mode
    bool quota_left = false;                          // and one of them is not over
    std::vector<const limits::Metadata*> metadata{};  // of limits that let it pass
    std::chrono::seconds retry_after{0};
    Tightest tightest{};
    service::GatheredFields fields{};  // where clients are told as by HTTP
  };

  Wrong ask_for(grpc::GrpcCall& call, Asks asks, std::chrono::nanoseconds patience);
  Wrong ask(std::chrono::nanoseconds patience);
  Wrong ask_hold(grpc::GrpcCall& call, std::chrono::nanoseconds patience);
  Wrong ask_commit(grpc::GrpcCall& call, std::chrono::nanoseconds patience);
  void ask_again();
  void add(grpc::GrpcCall& call, Asks asks, std::size_t parts);
  Wrong ask_file(const limits::RlsDomain& domain, std::chrono::nanoseconds patience);
  void take_back(grpc::GrpcCall& call, Wrong wrong, std::size_t questions, std::size_t tree_limits);
  void refuse(grpc::GrpcCall& call, Wrong wrong);
  void refuse(grpc::GrpcCall& call, grpc::Code code, std::string_view why);
  void tell(const service::Question& question);
  static void tell_parts(const service::Question& question);
  void tell_held(const service::Question& question);
  void tell_settled(const service::Question& question);
  void reply_reserved(grpc::GrpcCall& call, bool over, std::string_view id);
  void reply_committed(grpc::GrpcCall& call, bool released);
  void tell_file(const service::Question& question, Message& message);
  void tell_tree(const service::Question& question, Message& message);
  void tell_descriptor(Message& message);
  void finish(Message& message);
  void gather_tree(const TreeLimit& limit, const Status& status, const store::Check& check, Message& message);
  void write_headers(Message& message);
  void write_answers_headers(Message& message);

  RlsLoop& loop_;
  grpc::Connection& connection_;
  std::string peer_;
  service::Asking asking_;
  store::Arrival when_{};
  std::shared_ptr<const limits::Descriptors> trees_;  // of what is open
  std::vector<TreeLimit> tree_limits_;                // of all messages
  std::size_t tree_told_ = 0;                         // of them
  std::vector<Message> messages_;
  std::size_t told_ = 0;                // of them
  std::vector<grpc::GrpcCall*> again_;  // commits whose holds are gone: they are charged
  DescriptorTelling telling_;           // the descriptor that is told now
};

}  // namespace weir::rls
