// gRPC's health: grpc.health.v1.Health, Check and Watch, of one connection.
//
// The thread of its loop. Not for: whether the server is ready (http/admin_conversation.hpp).
#pragma once

#include <vector>

#include "grpc/connection.hpp"

namespace weir::inline v0_1::rls {

class HealthService {
 public:
  explicit HealthService(grpc::Connection& connection) : connection_(connection) {}

  void check(grpc::GrpcCall& call);
  // It is told now, and again when that changes.
  void watch(grpc::GrpcCall& call);
  void gone(grpc::GrpcCall& call);
  // The server ends: those that watch are told, and their calls end.
  void end();

 private:
  char state() const;

  grpc::Connection& connection_;
  std::vector<grpc::GrpcCall*> watching_;
  bool ended_ = false;
};

}  // namespace weir::rls
