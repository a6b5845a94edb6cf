// WEIR.TIME: what time it is for this server, and under virtual time to let it go on.
#include <chrono>
#include <string>

#include "core/number.hpp"
#include "core/utc_text.hpp"
#include "resp/commands.hpp"

namespace weir::inline v0_1::resp {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMostAtOnce = std::chrono::hours{24} * 366;
constexpr std::string_view kOnlyVirtual = "ERR time can be advanced only under weir local --virtual-time";

// RFC 3339 with milliseconds.
std::string text_of(std::chrono::nanoseconds wall) {
  std::string text = core::utc_text(wall.count());
  const auto ms = std::chrono::floor<milliseconds>(wall).count() % 1000;
  text.back() = '.';
  return text + std::to_string(1000 + ms).substr(1) + "Z";
}

void write_time(Writer& to, const service::Service& service) {
  to.array(3);
  to.integer(service.options().virtual_time ? 1 : 0);
  to.integer(std::chrono::floor<milliseconds>(service.age()).count());
  to.bulk(text_of(service.wall_now()));
}

}  // namespace

void run_weir_time(RunningCommand& call) {
  const service::Service& service = call.service;
  if (call.words.size() == 1) {
    Writer to = call.reply();
    return write_time(to, service);
  }
  if (lower(call.words[1]) != "advance") return call.fail_subcommand(call.words[1]);
  if (call.words.size() != 3) return call.fail_arity("weir.time|advance");
  if (!service.pass_time || !call.deferred.possible()) return call.fail(kOnlyVirtual);
  const milliseconds by{core::parse_integer(call.words[2]).value_or(0)};
  if (by < milliseconds{1} || by > kMostAtOnce)
    return call.fail(not_in_range("ms", call.words[2], 1, kMostAtOnce.count()));
  if (service.options().virtual_time->passed() + by > core::VirtualTime::kMost)
    return call.fail("ERR virtual time goes no further than 100 years from its start");
  const auto pass = [&service, by](const std::function<void(const DeferredReply::Lines&)>& told) {
    service.pass_time(by, [told] { told({}); });
  };
  call.deferred.read(call.silent(), pass,
                     [&service](Writer& to, const DeferredReply::Lines&) { write_time(to, service); });
}

}  // namespace weir::resp
