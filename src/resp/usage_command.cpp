// WEIR.USAGE: how much of a limit that is tracked a key has used.
#include <memory>
#include <string>
#include <utility>

#include "core/utc_text.hpp"
#include "resp/commands.hpp"
#include "resp/limits_words.hpp"
#include "service/counting.hpp"

namespace weir::inline v0_1::resp {
namespace {

using service::Counting;
using UsageAnswer = Counting::UsageAnswer;

void write_usage(Writer& to, const UsageAnswer& answer) {
  if (!answer) return to.error("ERR " + answer.error());
  to.array(answer->windows.size() + 1);
  const auto text = [&to](std::string_view name, std::string_view value) {
    to.bulk(name);
    to.bulk(value);
  };
  const auto number = [&to](std::string_view name, std::uint64_t value) {
    to.bulk(name);
    to.integer(static_cast<std::int64_t>(value));
  };
  for (const auto& [window, told] : answer->windows) {
    to.array(14);
    text("limit", answer->limit);
    text("window", window);
    text("key", answer->key);
    number("used", told.used);
    number("last", told.last);
    text("began", core::utc_ms_text(told.period.began.count()));
    text("ends", core::utc_ms_text(told.period.ends.count()));
  }
  to.array(2);
  to.bulk("hours");
  to.array(answer->hours.size());
  for (const std::uint64_t each : answer->hours) to.integer(static_cast<std::int64_t>(each));
}

}  // namespace

void run_usage(RunningCommand& call) {
  const Arguments words = call.words;
  if (!is_word(words[1], "LIMIT") || !is_word(words[3], "AS"))
    return call.fail("ERR " + command_form("WEIR.USAGE"));
  Pipeline& pipeline = call.pipeline;
  if (!pipeline.has_file() || !call.deferred.possible())
    return call.fail("ERR " + std::string(service::kNoLimitsFile));
  service::Asker& asker = pipeline.asker();
  LimitsWords read;
  std::string error;
  if (!read_limits_words(words.subspan(4), 0, asker.attributes(), read, error)) return call.fail(error);
  asker.limits();
  auto asked = call.service.counting.usage_asked(asker.shared_limits(), words[2], read.attributes,
                                                 asker.match_memory());
  if (!asked) return call.fail("ERR " + asked.error());
  call.slow = true;  // it adds up what the loops have booked
  const auto what = std::make_shared<Counting::UsageAsked>(*std::move(asked));
  call.deferred.ask<UsageAnswer>(
      call.silent(),
      [&call, what](std::function<void(UsageAnswer)> told) {
        call.service.counting.usage(std::move(*what), std::move(told));
      },
      [](Writer& to, const UsageAnswer& answer) { write_usage(to, answer); });
}

}  // namespace weir::resp
