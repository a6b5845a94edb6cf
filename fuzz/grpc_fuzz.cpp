// Fuzzes a connection of HTTP/2: bytes from a client after its preface, in pieces. Whatever comes, what goes
// back is whole frames, what is kept is bounded, and all that was kept for calls is given back with them.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "grpc/client_test.hpp"
#include "grpc/connection.hpp"

namespace {

using namespace std::chrono_literals;
using namespace weir::grpc;

void require(bool holds) {
  if (!holds) std::abort();
}

class Mirror final : public Services {
 public:
  int find(std::string_view path) const override { return path == "/s" ? 0 : path == "/m" ? 1 : -1; }
  void run(GrpcCall& call) override {
    if (call.method == 1) return connection->stream(call, call.message());
    const std::string said(call.message());
    call.answer() += said;
    connection->reply(call);
  }
  void gone(GrpcCall&) override {}
  Connection* connection = nullptr;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  std::string input(kPreface);
  input += frame(NGHTTP2_SETTINGS, 0, 0, "");
  input.append(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece = 1 + data[0];
  Mirror mirror;
  Connection connection(mirror);
  mirror.connection = &connection;
  std::string all;
  for (std::size_t at = 0; at < input.size() && !connection.over(); at += piece) {
    connection.receive(std::string_view(input).substr(at, piece), 1s);
    while (!connection.send(all)) {
    }
    require(connection.calls().size() <= Connection::kMostStreams);
    require(connection.kept() <=
            (std::size_t{64} << 10) + 4 * input.size() + connection.calls().size() * 4096);
  }
  for (std::string_view rest = all; !rest.empty();) {
    require(rest.size() >= 9);
    std::size_t payload = 0;
    for (std::size_t i = 0; i < 3; ++i) payload = payload << 8 | static_cast<unsigned char>(rest[i]);
    require(rest.size() >= 9 + payload);
    rest.remove_prefix(9 + payload);
  }
  if (connection.calls().empty()) {
    require(!connection.owed());
  }
  return 0;
}
