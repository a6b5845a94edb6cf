// SLOWLOG.
#include <algorithm>
#include <string>

#include "core/number.hpp"
#include "resp/commands.hpp"

namespace weir::inline v0_1::resp {
namespace {

using service::SlowLog;

void get(RunningCommand& call) {
  std::size_t count = 10;
  if (call.words.size() == 3) {
    const auto given = core::parse_integer(call.words[2]);
    if (!given || *given < -1) return call.fail("ERR count should be greater than or equal to -1");
    count = *given == -1 ? SlowLog::kMost : static_cast<std::size_t>(*given);
  }
  Writer to = call.reply();
  const auto entries = call.service.slow_log.latest(count);
  to.array(entries.size());
  for (const SlowLog::Entry& each : entries) {
    to.array(6);
    to.integer(static_cast<std::int64_t>(each.id));
    to.integer(each.at.count());
    to.integer(std::chrono::floor<std::chrono::microseconds>(each.took).count());
    to.array(each.words.size());
    for (const std::string& word : each.words) to.bulk(word);
    to.bulk(each.address);
    to.bulk(each.name);
  }
}

}  // namespace

void run_slowlog(RunningCommand& call) {
  const std::string what = lower(call.words[1]);
  SlowLog& log = call.service.slow_log;
  if (what == "get" && call.words.size() <= 3) return get(call);
  if (what == "len" && call.words.size() == 2)
    return call.reply().integer(static_cast<std::int64_t>(log.size()));
  if (what != "reset" || call.words.size() != 2) return call.fail_subcommand(what);
  log.clear();
  call.reply().simple("OK");
}

}  // namespace weir::resp
