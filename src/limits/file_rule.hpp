// What a limits file has to keep to: one row for each rule, in the order of docs/limits.md, "What is
// refused", where a rule's number is its place here, from 1. The table there is made of this one
// (file_keys_test.cpp).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weir::inline v0_1::limits {

enum class FileRule : std::uint8_t {
  none,  // the file could not be read, or is of tests
  yaml,
  plain_yaml,
  once,
  form,
  version,
  rate,
  burst,
  classes,
  lists,
  cidr,
  names,
  route_limits,
  reached,
  used,
  within,
  guarantees,
  override_window,
  override_counts,
  past,
  binds,
  cost,
  hold,
  max_wait,
  needs_store,
  shadow_end,
  bounds,
  of_gcra,
  gateways,
  local_share,
  lease,
  attributes,
  counted_here,
  server_wait,
  penalty,
  charge_after,
  rls,
};

constexpr int number_of(FileRule rule) { return static_cast<int>(rule); }

struct FileRuleText {
  FileRule rule;
  std::string_view refused;
};
inline constexpr std::array kFileRules = {
    FileRuleText{FileRule::yaml, "not YAML, or not UTF-8"},
    FileRuleText{
        FileRule::plain_yaml,
        "anchors, aliases, tags, merge keys, directives, a second document, a key that is a list or a map"},
    FileRuleText{FileRule::once, "a key twice; two limits with one id"},
    FileRuleText{FileRule::form, "an unknown key, or a value of a form that its key does not have"},
    FileRuleText{FileRule::version, "`version` is missing, or not 1"},
    FileRuleText{
        FileRule::rate,
        "what is not a rate, a time zone that is not there, a period twice, a limit without rate, `deny` "
        "and `allow`"},
    FileRuleText{FileRule::burst, "a burst below 1"},
    FileRuleText{
        FileRule::classes,
        "an unknown class, no `default`, more than 6; `leave` that shrinks, or takes all with the `reserve`"},
    FileRuleText{FileRule::lists,
                 "a list that is unknown, empty (in a file a warning, of `weir lint` a note), unreadable, or "
                 "has a pattern twice"},
    FileRuleText{FileRule::cidr, "a CIDR with bits beyond its prefix"},
    FileRuleText{FileRule::names,
                 "a name that cannot be one, or an attribute that is listed twice. Warning: a `hash_tag` "
                 "that no limit has in its `by`"},
    FileRuleText{FileRule::route_limits, "a route names an unknown limit, or one twice"},
    FileRuleText{FileRule::reached,
                 "a route that cannot be reached: after one without `when`, or with the same"},
    FileRuleText{FileRule::used, "warning: a limit that no route uses"},
    FileRuleText{FileRule::within,
                 "`within` is unknown, leads in a circle, or counts by what the limit does not"},
    FileRuleText{FileRule::guarantees, "guarantees that cannot be kept"},
    FileRuleText{FileRule::override_window,
                 "an override for a window that the limit does not have, or by another algorithm"},
    FileRuleText{FileRule::override_counts,
                 "warning: an override that changes nothing, or never counts because of a later one. Noted "
                 "only: an attribute outside `by`"},
    FileRuleText{FileRule::past,
                 "an `until` in the past: an error of `weir lint`, a warning elsewhere, so that no date "
                 "keeps a server down"},
    FileRuleText{FileRule::binds,
                 "a window that can never bind: by `gcra` or `sliding_window_log`, another of the limit has "
                 "a burst that is not greater and an emission interval that is not shorter"},
    FileRuleText{FileRule::cost, "a cost above the burst"},
    FileRuleText{FileRule::hold,
                 "`hold`: the estimate does not fit into `at_most` of the burst; `at_most` beside a "
                 "`reserve`. Noted only: a `ttl` beyond the time in which the burst drains"},
    FileRuleText{
        FileRule::max_wait,
        "warning: `max_wait` of a limit whose requests meet one that counts by a sliding window too: "
        "they cannot wait"},
    FileRuleText{FileRule::needs_store,
                 "warning of `weir serve`: `on_store_error` or `lease` without a shared store"},
    FileRuleText{FileRule::shadow_end, "warning: `shadow` without an end"},
    FileRuleText{
        FileRule::bounds,
        "more than 1,024 limits, 8 windows a limit, 16 checks a request, 64 gateways or domains, 1 MiB"},
    FileRuleText{FileRule::of_gcra, "what is GCRA's alone, with another algorithm"},
    FileRuleText{FileRule::gateways,
                 "of gateways: an attribute that cannot be mapped, a header that is never read. Warnings: "
                 "trusting every address, `trusted` where it is not used, a limit with `in_flight` for a "
                 "profile without `hold: true`"},
    FileRuleText{FileRule::local_share,
                 "warning: `local N%` of a burst is less than one unit; by how much all servers together "
                 "exceed the burst is told"},
    FileRuleText{FileRule::lease,
                 "warning: a `lease` that takes the whole burst, or that no request can spend, because all "
                 "of them meet a limit without one"},
    FileRuleText{FileRule::attributes,
                 "an attribute that `attributes` does not name. Noted only: a file without `attributes`, "
                 "with the list to write"},
    FileRuleText{FileRule::counted_here,
                 "of `weir lint` without `--store`: `sliding_window_log`, which the table of one process "
                 "does not count"},
    FileRuleText{FileRule::server_wait,
                 "`max_wait` above `--max-wait`: a server does not start; a warning of `weir lint`, which "
                 "has the flag too (1h)"},
    FileRuleText{FileRule::penalty,
                 "a `penalty` above 24h, or beside a `reserve`; `most` shorter than `for`, or with nothing "
                 "that is `growing`. Noted only: on a limit whose key many share, as one of them makes all "
                 "wait"},
    FileRuleText{FileRule::charge_after,
                 "`charge: after` with another algorithm than `gcra` and fixed windows, beside `in_flight`, "
                 "`leave`, `reserve`, `guarantee`, `lease` or `penalty`, or in a hierarchy"},
    FileRuleText{FileRule::rls,
                 "of `rls`: a route that its descriptors may take meets a limit with `in_flight`, or with "
                 "`hold` without `charge: after`"},
};

}  // namespace weir::limits
