// WEIR.TIME: what time it is for this server, and under virtual time to let it go on, or to begin again.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/number.hpp"
#include "core/utc_text.hpp"
#include "resp/commands.hpp"

namespace weir::inline v0_1::resp {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMostAtOnce = std::chrono::hours{24} * 366;
constexpr std::string_view kOnlyVirtual = "ERR time can be advanced only under weir local --virtual-time";
constexpr std::string_view kOnlyVirtualAgain =
    "ERR time can go back to the start only under weir local --virtual-time";
constexpr std::string_view kOthersTests =
    "ERR another connection has begun tests here, whose states this would take away; let one process at a "
    "time "
    "run tests: pytest -n 0, vitest --no-file-parallelism, go test -p 1";

struct Now {
  explicit Now(const service::Service& service)
      : is_virtual(service.options().virtual_time != nullptr),
        age(std::chrono::floor<milliseconds>(service.age())),
        wall(service.wall_now()) {}

  void write(Writer& to) const {
    to.array(3);
    to.integer(is_virtual ? 1 : 0);
    to.integer(age.count());
    to.bulk(core::utc_ms_text(wall.count()));
  }

  bool is_virtual;
  milliseconds age;
  std::chrono::nanoseconds wall;
};

void begin_again(RunningCommand& call) {
  const service::Service& service = call.service;
  if (call.words.size() != 2) return call.fail_arity("weir.time|reset");
  if (!service.testing.start_again || !call.deferred.possible()) return call.fail(kOnlyVirtualAgain);
  if (!call.may_begin_tests()) return;
  call.deferred.ask<Now>(
      call.silent(),
      [&service](std::function<void(Now)> told) {
        service.testing.start_again([&service, told = std::move(told)] { told(Now(service)); });
      },
      [](Writer& to, const Now& now) { now.write(to); });
}

}  // namespace

// A new process has a new connection: another one that is still open is another process, or a forgotten one.
bool RunningCommand::may_begin_tests() const {
  std::shared_ptr<const void> tester = service.testing.tester.lock();
  if (tester == nullptr) service.testing.tester = tester = caller.testing = std::make_shared<const int>(0);
  if (caller.testing == tester) return true;
  fail(kOthersTests);
  return false;
}

void run_weir_time(RunningCommand& call) {
  const service::Service& service = call.service;
  if (call.words.size() == 1) {
    Writer to = call.reply();
    return Now(service).write(to);
  }
  const std::string what = lower(call.words[1]);
  if (what == "reset") return begin_again(call);
  if (what != "advance") return call.fail_subcommand(call.words[1]);
  if (call.words.size() != 3) return call.fail_arity("weir.time|advance");
  if (!service.testing.pass_time || !call.deferred.possible()) return call.fail(kOnlyVirtual);
  const milliseconds by{core::parse_integer(call.words[2]).value_or(0)};
  if (by < milliseconds{1} || by > kMostAtOnce)
    return call.fail(not_in_range("ms", call.words[2], 1, kMostAtOnce.count()));
  if (service.options().virtual_time->passed() + by > core::VirtualTime::kMost)
    return call.fail("ERR virtual time goes no further than 100 years from its start");
  // Others may let it go on further before this is told.
  call.deferred.ask<Now>(
      call.silent(),
      [&service, by](std::function<void(Now)> told) {
        service.testing.pass_time(by, [&service, told = std::move(told)] { told(Now(service)); });
      },
      [](Writer& to, const Now& now) { now.write(to); });
}

}  // namespace weir::resp
