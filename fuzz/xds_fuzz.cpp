// Fuzzes what an xDS server sends: a message through the reader and the compiler to the answer, and the bytes
// of a connection. Whatever comes, a message is answered once or not read at all, what cannot be compiled is
// refused with a reason in UTF-8, and nothing but what compiles is accepted.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>

#include "core/printable.hpp"
#include "grpc/client_stream.hpp"
#include "limits/descriptors.hpp"
#include "limits/envoy_file.hpp"
#include "xds/subscription.hpp"

namespace {

using namespace std::chrono_literals;
using namespace weir;

void require(bool holds) {
  if (!holds) std::abort();
}

// The reason of a refusal; empty: it accepts.
std::string refusal_of(const std::string& request) {
  std::string reason;
  for (protozero::pbf_reader reader(request); reader.next();) {
    if (reader.tag() != 6) {
      reader.skip();
      continue;
    }
    for (protozero::pbf_reader status = reader.get_message(); status.next();)
      status.tag() == 2 ? reason = status.get_string() : (status.skip(), reason);
  }
  return reason;
}

std::vector<std::string> compile(xds::Update update) {
  if (!update.errors.empty()) return update.errors;
  const auto made = limits::Descriptors::make(std::move(update.domains), {});
  std::vector<std::string> errors;
  if (!made)
    for (const limits::Finding& each : made.error()) errors.push_back(limits::envoy_text(each));
  return errors;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  std::size_t compiled = 0;
  bool accepted = false;
  xds::Subscription subscription({.id = "fuzz", .metadata = {}}, [&](xds::Update update) {
    ++compiled;
    auto errors = compile(std::move(update));
    accepted = errors.empty();
    return errors;
  });
  subscription.begin();
  const bool read = subscription.take(input, 1s);
  const auto answer = subscription.answer(1s);
  require(read == answer.has_value() && compiled == (read ? 1 : 0));
  if (read) {
    const std::string reason = refusal_of(*answer);
    require(reason.empty() == accepted && core::is_utf8(reason));
    require(subscription.take(input, 1s) && compiled == 1 && !subscription.answer(1s));
  }

  std::size_t messages = 0;
  grpc::ClientStream stream({.path = "/x", .authority = "fuzz", .most_message = 1000},
                            [&](std::string_view message) {
                              require(message.size() <= 1000);
                              ++messages;
                            });
  const bool goes_on = stream.receive(input);
  require(goes_on == stream.why().empty() && (goes_on || !stream.receive(input)));
  require(messages <= size);
  return 0;
}
