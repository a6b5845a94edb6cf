// One connection's conversation in gRPC: Envoy's rate limit service, and gRPC's health.
//
// While a store has some calls, others are taken: each is answered when it is decided. The thread of its
// loop. Not for: HTTP/2 (grpc/connection.hpp), what a call asks (batch.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "grpc/connection.hpp"
#include "net/conversation.hpp"
#include "rls/batch.hpp"
#include "rls/health.hpp"
#include "rls/rls_loop.hpp"
#include "service/service.hpp"

namespace weir::inline v0_1::rls {

class Conversation final : public net::Conversation, private grpc::Services {
 public:
  // `loop` is shared by the conversations of a loop. All that is handed in must outlive this.
  Conversation(service::Service& service, RlsLoop& loop, net::Peer peer, std::function<void()> resume);
  ~Conversation() override;

  std::size_t feed(std::string_view input, std::string& out, net::Arrival when) override;
  bool waiting() const override { return false; }
  bool busy() const override;
  bool closing() const override { return over_ || connection_.over(); }
  bool trusted() const override { return true; }
  void look_at_time(std::chrono::nanoseconds now) override;
  bool say_goodbye() override;
  void take_no_more() override;
  bool unfinished() const override { return connection_.owed(); }
  std::size_t kept() const override;
  void describe(net::ClientInfo& client) const override;

 private:
  int find(std::string_view path) const override;
  void run(grpc::GrpcCall& call) override;
  void gone(grpc::GrpcCall& call) override;
  Batch& fresh();
  void go_away(std::chrono::nanoseconds now);

  service::Service& service_;
  RlsLoop& loop_;
  net::Peer peer_;
  std::function<void()> resume_;
  grpc::Connection connection_{*this};
  HealthService health_{connection_, loop_.options.healthy};
  std::vector<std::unique_ptr<Batch>> batches_;  // each waits for a store, but for one
  Batch* taking_ = nullptr;                      // while bytes are taken: what comes is added to it
  store::Arrival when_{};
  const std::chrono::nanoseconds leaves_at_;                            // as it has lasted long enough
  std::chrono::nanoseconds ends_at_ = std::chrono::nanoseconds::max();  // then, whatever is open
  std::chrono::nanoseconds told_to_leave_at_{0};
  bool more_ = false;  // to send
  bool over_ = false;
  int last_ = -1;  // the method that was called last
};

}  // namespace weir::rls
