// A server by gRPC's own library for C++ that answers every call with a constant: what bench/rls.py compares
// weir with. One completion queue and one thread, and no message is parsed, which is the least that such a
// server does.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <memory>
#include <string>

namespace {

// A RateLimitResponse: OK, and one status that is OK.
const std::string kAnswer("\x08\x01\x12\x02\x08\x01", 6);

class Call {
 public:
  Call(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue& queue)
      : service_(service), queue_(queue), stream_(&context_) {
    service_.RequestCall(&context_, &stream_, &queue_, &queue_, this);
  }

  void go_on(bool well) {
    if (!well || step_ == Step::ending) {
      delete this;
      return;
    }
    switch (step_) {
      case Step::waiting:
        new Call(service_, queue_);
        step_ = Step::reading;
        return stream_.Read(&message_, this);
      case Step::reading: {
        step_ = Step::ending;
        const grpc::Slice slice(kAnswer);
        const grpc::ByteBuffer answer(&slice, 1);
        return stream_.WriteAndFinish(answer, {}, grpc::Status::OK, this);
      }
      case Step::ending:
        return;
    }
  }

 private:
  enum class Step : unsigned char { waiting, reading, ending };

  grpc::AsyncGenericService& service_;
  grpc::ServerCompletionQueue& queue_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_;
  grpc::ByteBuffer message_;
  Step step_ = Step::waiting;
};

}  // namespace

int main() {
  grpc::AsyncGenericService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterAsyncGenericService(&service);
  const auto queue = builder.AddCompletionQueue();
  const auto server = builder.BuildAndStart();
  if (!server) return 1;
  std::printf("listening on 127.0.0.1:%d\n", port);
  std::fflush(stdout);
  for (int i = 0; i < 1000; ++i) new Call(service, *queue);
  void* tag = nullptr;
  bool well = false;
  while (queue->Next(&tag, &well)) static_cast<Call*>(tag)->go_on(well);
  return 0;
}
