// Fuzzes a message of Envoy's rate limit service: through the reader, weir's own limits file and the table,
// to the answer, by Envoy's method and by Kuadrant's. Whatever comes, what is read lies in the message, a
// call is answered once, a message that can be read has a status for each descriptor, one that callers have
// made bad is denied, and a report never is. A Reserve's and a Commit's own fields are those of the same
// bytes.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>

#include "grpc/client_test.hpp"
#include "rls/conversation.hpp"
#include "store/embedded_store.hpp"

namespace {

using namespace std::chrono_literals;
using namespace weir;

constexpr std::string_view kLimits = R"(version: 1
limits:
  user: { by: [user], rate: 2/h }
  tokens: { by: [tokens], rate: 60/min, charge: after, refunds: true }
  window: { by: [window], rate: 10/day algorithm=fixed_window, charge: after }
  must: { by: [must], rate: 1/h, required: true }
routes:
  - { when: { kind: must }, limits: [must] }
  - { limits: [user, tokens, window] }
rls:
  edge: { attributes: { user_id: user } }
  strict: { attributes: { user_id: user }, unmapped: drop }
)";

constexpr std::string_view kMethods[] = {"/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
                                         "/kuadrant.service.ratelimit.v1.RateLimitService/CheckRateLimit",
                                         "/kuadrant.service.ratelimit.v1.RateLimitService/Report",
                                         "/kuadrant.service.ratelimit.v1.RateLimitService/Reserve",
                                         "/kuadrant.service.ratelimit.v1.RateLimitService/Commit"};

void require(bool holds) {
  if (!holds) std::abort();
}

bool lies_in(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

struct Read {
  std::uint32_t code = 0;
  std::size_t statuses = 0;
  std::size_t over = 0;
};
Read read(std::string_view answer) {
  Read told;
  for (protozero::pbf_reader reader(answer.data(), answer.size()); reader.next();) {
    if (reader.tag() == 1) {
      told.code = reader.get_uint32();
    } else if (reader.tag() == 2) {
      ++told.statuses;
      for (protozero::pbf_reader status = reader.get_message(); status.next();) {
        if (status.tag() == 1) {
          told.over += status.get_uint32() == 2 ? 1 : 0;
        } else {
          status.skip();
        }
      }
    } else {
      reader.skip();
    }
  }
  return told;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view message(reinterpret_cast<const char*>(data), size);
  rls::RateLimitRequest request;
  const rls::Wrong wrong = request.read(message);
  if (wrong != rls::Wrong::malformed) {
    require(lies_in(request.domain(), message));
    require(request.descriptors().size() <= rls::RateLimitRequest::kMostDescriptors);
    for (const rls::AskedDescriptor& each : request.descriptors()) {
      require(each.count <= rls::RateLimitRequest::kMostEntries);
      for (const limits::DescriptorEntry& entry : request.entries(each))
        require(lies_in(entry.key, message) && lies_in(entry.value, message));
    }
  }

  const auto now = [] { return std::chrono::nanoseconds{1000s}; };
  store::EmbeddedStore store(std::size_t{1} << 20, WhenFull::deny, {1, 2});
  service::Service service({.clock = now, .wall_clock = now}, store.table());
  service.limits = std::make_unique<service::LimitsInForce>(service::LimitsInForce::Options{
      .path = "limits.yaml", .wall_clock = now, .open = [](const std::string&, std::size_t) {
        return std::string(kLimits);
      }});
  require(service.limits->reload().empty());
  rls::RlsOptions options;
  options.metadata = true;
  options.headers = {"a", "b", "c"};
  rls::RlsCounts counts;
  rls::RlsLoop loop(service, store, false, options, counts);
  rls::Conversation conversation(service, loop, {1, "fuzz"}, [] { std::abort(); });
  grpc::Client client(1 << 20);
  for (const std::string_view method : kMethods) {
    const bool holds = method.ends_with("Reserve") || method.ends_with("Commit");
    const bool reports = method.ends_with("Report") || method.ends_with("Commit");
    const std::int32_t stream = client.call(method, grpc::message_of(message));
    for (;;) {
      const std::string asked = client.bytes();
      std::string out;
      conversation.feed(asked, out, {now(), now()});
      client.take(out);
      if (asked.empty() && out.empty()) break;
    }
    const grpc::Client::Reply& reply = client.replies[stream];
    require(reply.over && reply.error == 0 && !conversation.unfinished());
    if (wrong != rls::Wrong::nothing && (reports || !rls::is_bad(wrong))) {
      // What only configuration can cause is unknown of Envoy's service, as of envoyproxy/ratelimit's.
      const std::string_view refused = method.ends_with("ShouldRateLimit") ? "2" : "3";
      require(reply.status() == (wrong == rls::Wrong::malformed ? "13" : refused));
      continue;
    }
    // Not before it is matched is it known that a limit of the file cannot take a value, or that a key comes
    // twice.
    if (reports && reply.status() == "3") continue;
    if (holds && reply.status() == "12") continue;  // a window
    require(reply.status() == "0" && reply.messages().size() == 1);
    const std::string answer = reply.messages()[0];
    if (holds) {
      require(!rls::is_bad(wrong) || answer == "\x08\x02");  // denied, without an id
      continue;
    }
    const Read told = read(answer);
    require(told.statuses == request.descriptors().size());
    require(told.code == (told.over > 0 ? 2 : 1));
    require(!rls::is_bad(wrong) || told.over == told.statuses);
    require(!reports || told.over == 0);
  }
  return 0;
}
