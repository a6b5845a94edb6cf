// gRPC's health: grpc.health.v1.Health, Check and Watch, of one connection.
//
// The thread of its loop. Not for: whether the server is ready (http/admin_conversation.hpp), and why it is
// not healthy (RlsOptions::healthy).
#pragma once

#include <functional>
#include <vector>

#include "grpc/connection.hpp"

namespace weir::inline v0_1::rls {

class HealthService {
 public:
  // Both must outlive this; `healthy` is empty where the server always is.
  HealthService(grpc::Connection& connection, const std::function<bool()>& healthy)
      : connection_(connection), healthy_(healthy) {}

  void check(grpc::GrpcCall& call);
  // It is told now, and again when that changes.
  void watch(grpc::GrpcCall& call);
  void gone(grpc::GrpcCall& call);
  // Those that watch are told what has changed. False: nobody was.
  bool look();
  // The server ends: those that watch are told, and their calls end.
  void end();

 private:
  struct Watching {
    grpc::GrpcCall* call;
    char told;
  };

  char state() const;

  grpc::Connection& connection_;
  const std::function<bool()>& healthy_;
  std::vector<Watching> watching_;
  bool ended_ = false;
};

}  // namespace weir::rls
