#include "limits/limit_reader.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "limits/keys.hpp"
#include "limits/lists.hpp"
#include "limits/parts.hpp"
#include "limits/scalars.hpp"

namespace weir::inline v0_1::limits {
namespace {

constexpr std::uint64_t kMostUnits = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMostBy = 16;

// What an address called `ip` is grouped by: an IPv6 client owns a /64.
constexpr core::Prefixes kClients{32, 64};

void read_by(Context& context, const Field& by, NamedLimit& limit) {
  for (const Field& item : texts_of(context, by)) {
    const std::string& name = item.text();
    if (!judge_attribute(context, item, item.place(), name)) continue;
    if (std::any_of(limit.by.begin(), limit.by.end(),
                    [&](const By& each) { return each.attribute == name; })) {
      context.error(FileRule::names, item, quoted(name) + " a second time");
    } else {
      limit.by.push_back({name, name == "ip" ? kClients : core::Prefixes{}});
    }
  }
  if (limit.by.size() > kMostBy)
    context.error(FileRule::bounds, by,
                  std::to_string(limit.by.size()) + " attributes; at most " + std::to_string(kMostBy));
}

void read_group_ip(Context& context, const Field& field, NamedLimit& limit) {
  if (!is_map(context, field)) return;
  if (limit.by.empty())
    context.error_at_key(FileRule::names, field, "the limit has no by, so there is nothing to group");
  const Map map(context, field, keys::kGroupIp);
  core::Prefixes group = kClients;
  const auto bits = [&](const char* key, std::uint64_t most, int& value) {
    const Field field_of = map[key];
    std::uint64_t read = 0;
    if (field_of && read_text(context, field_of, FileRule::form, read,
                              [most](std::string_view text) { return read_integer(text, 1, most); }))
      value = static_cast<int>(read);
  };
  bits("v4", 32, group.v4);
  bits("v6", 128, group.v6);
  for (By& by : limit.by) by.group = group;
}

void read_shadow(Context& context, const Field& shadow, NamedLimit& limit) {
  if (!is_text(context, shadow)) return;
  constexpr std::string_view kUntil = "until ";
  limit.shadow_place = shadow.place();
  const std::string_view text = shadow.text();
  if (text == "true") {
    limit.shadow_until = kNever;
    context.findings.warn(FileRule::shadow_end, shadow.place(), shadow.path,
                          "has no end; write until 2026-12-01");
  } else if (text.starts_with(kUntil)) {
    read_end(context, shadow, text.substr(kUntil.size()), limit.shadow_until);
  } else if (text != "false") {
    context.error(FileRule::form, shadow, quoted(text) + " is none of: until DATE, true, false");
  }
}

void read_store_error(Context& context, const Field& field, StoreError& read) {
  if (!is_text(context, field)) return;
  const std::string_view text = field.text();
  constexpr std::string_view kLocal = "local";
  read.place = field.place();
  if (text == "allow" || text == "deny") {
    read.what = text == "allow" ? OnStoreError::allow : OnStoreError::deny;
  } else if (text.starts_with("local ")) {
    auto share = read_share(text.substr(kLocal.size() + 1));
    if (!share) {
      context.error(FileRule::form, field, std::move(share.error()));
    } else if (share->millionths == 0) {
      context.error(FileRule::form, field, "'local 0%' hands out nothing; write deny");
    } else {
      read.share = *share;
    }
  } else if (text != kLocal) {
    context.error(FileRule::form, field, quoted(text) + " is none of: local, local N%, allow, deny");
  }
}

void read_hold(Context& context, const Field& field, Hold& hold) {
  if (!is_map(context, field)) return;
  const Map map(context, field, keys::kHold);
  hold.place = field.key;
  hold.estimate = 1;
  if (const Field estimate = map["estimate"]) {
    hold.says_estimate = true;
    read_text(context, estimate, FileRule::form, hold.estimate,
              [](std::string_view text) { return read_integer(text, 1, kMostUnits); });
  }
  if (const Field ttl = map["ttl"]) {
    hold.ttl_place = ttl.place();
    if (read_text(context, ttl, FileRule::form, hold.ttl, read_time_span) && hold.ttl.count() == 0)
      context.error(FileRule::form, ttl, "'" + ttl.text() + "' leaves no time to settle in");
  } else {
    context.error_at_key(FileRule::form, field, "missing ttl: how long a hold may be open");
  }
  if (const Field at_most = map["at_most"]) {
    hold.at_most_place = at_most.place();
    if (read_text(context, at_most, FileRule::form, hold.at_most, read_share) && hold.at_most.millionths == 0)
      context.error(FileRule::form, at_most, "'0%' allows no hold");
  }
}

void read_lease(Context& context, const Field& field, Lease& lease) {
  if (!is_map(context, field)) return;
  const Map map(context, field, keys::kLease);
  lease.place = field.key;
  if (const Field units = map["units"]) {
    read_text(context, units, FileRule::form, lease.units,
              [](std::string_view text) { return read_integer(text, 2, kMostUnits); });
  } else {
    context.error_at_key(FileRule::form, field, "missing units: how many a server takes at a time");
  }
  if (const Field time = map["for"]) {
    if (read_text(context, time, FileRule::form, lease.time, read_time_span) && lease.time.count() == 0)
      context.error(FileRule::form, time, "'" + time.text() + "' leaves no time to spend it in");
  }
}

Override read_override(Context& context, const Field& field, const NamedLimit& limit, bool windows_right) {
  Override read;
  read.place = field.place();
  if (!is_map(context, field)) return read;
  const Map map(context, field, keys::kOverride);
  if (const Field when = map["when"]) read.when = read_when(context, when);
  if (const Field until = map["until"]; until && is_text(context, until)) {
    read.until_place = until.place();
    read_end(context, until, until.text(), read.until);
  }
  if (const Field reason = map["reason"]; reason && is_text(context, reason)) read.reason = reason.text();
  if (const Field rate = map["rate"]) {
    if (limit.windows.empty() && windows_right) {
      context.error_at_key(FileRule::override_window, rate, "the limit has no rate");
    } else {
      read.windows = read_changes(context, rate, windows_right ? limit.windows : std::vector<Window>{});
    }
  }
  if (const Field leave = map["leave"]) read.leave = read_leave(context, leave);
  if (const Field reserve = map["reserve"]) read.reserve = read_reserve(context, reserve);
  if (const Field guarantee = map["guarantee"]) read.guarantee = read_guarantee(context, guarantee);
  if (const Field cost = map["cost"]) read.cost = read_cost(context, cost);
  return read;
}

// What the other algorithms cannot do.
void refuse_with_windows(Context& context, const Map& map, const NamedLimit& limit) {
  constexpr std::array kOfGcra = {"leave", "reserve", "guarantee", "within", "max_wait", "hold", "lease"};
  const auto other = std::find_if(limit.windows.begin(), limit.windows.end(),
                                  [](const Window& each) { return each.rule.algorithm != Algorithm::gcra; });
  if (other == limit.windows.end()) return;
  const auto refuse = [&](const Field& field) {
    if (field)
      context.error_at_key(FileRule::of_gcra, field,
                           "only gcra can do this; " + quoted(core::to_text(other->rule)) + " counts by " +
                               core::name_of(other->rule.algorithm));
  };
  for (const char* key : kOfGcra) refuse(map[key]);
  const Field overrides = map["overrides"];
  if (!overrides || overrides.node->kind != Node::Kind::list) return;
  for (const Field& item : items_of(overrides)) {
    if (item.node->kind != Node::Kind::map) continue;
    for (const Field& field : members_of(item)) {
      const std::string key = field.path.substr(field.path.rfind('.') + 1);
      if (key == "leave" || key == "reserve" || key == "guarantee") refuse(field);
    }
  }
}

// What says something about a burst needs one.
void refuse_without_windows(Context& context, const Map& map) {
  constexpr std::array kOfRate = {"leave", "reserve", "guarantee", "cost", "hold", "max_wait", "lease"};
  if (map["rate"] || (!map["deny"] && !map["allow"])) return;  // of the second, more is told
  for (const char* key : kOfRate) {
    if (const Field field = map[key]) context.error_at_key(FileRule::rate, field, "the limit has no rate");
  }
}

}  // namespace

NamedLimit read_limit(Context& context, const std::string& name, const Field& field) {
  NamedLimit limit;
  limit.name = limit.id = name;
  limit.place = field.key;
  if (!is_map(context, field)) return limit;
  const Map map(context, field, keys::kLimit);
  if (const Field id = map["id"]; id && is_text(context, id)) {
    if (std::string wrong = wrong_name(id.text()); !wrong.empty())
      context.error(FileRule::names, id, std::move(wrong));
    limit.id = id.text();
  }
  if (const Field by = map["by"]) read_by(context, by, limit);
  if (const Field group = map["group_ip"]) read_group_ip(context, group, limit);
  limit.show = !limit.by.empty();
  if (const Field show = map["show"]) read_text(context, show, FileRule::form, limit.show, read_switch);
  if (const Field required = map["required"])
    read_text(context, required, FileRule::form, limit.required, read_switch);
  bool windows_right = true;
  const Field rate = map["rate"];
  if (rate) windows_right = read_windows(context, rate, limit.windows);
  if (const Field within = map["within"]) {
    limit.within = find_name(context, within, context.limits, FileRule::within, "limit");
    limit.within_place = within.place();
  }
  if (const Field deny = map["deny"]) limit.deny = read_when(context, deny);
  if (const Field allow = map["allow"]) limit.allow = read_when(context, allow);
  if (const Field leave = map["leave"]) limit.leave = read_leave(context, leave);
  if (const Field reserve = map["reserve"]) limit.reserve = read_reserve(context, reserve);
  if (const Field guarantee = map["guarantee"]) limit.guarantee = read_guarantee(context, guarantee);
  if (const Field cost = map["cost"]) limit.cost = read_cost(context, cost);
  if (const Field shadow = map["shadow"]) read_shadow(context, shadow, limit);
  if (const Field what = map["on_store_error"]) read_store_error(context, what, limit.on_store_error);
  if (const Field full = map["when_full"]; full && is_text(context, full)) {
    limit.when_full = full.text() == "allow" ? WhenFull::allow : WhenFull::deny;
    if (full.text() != "allow" && full.text() != "deny")
      context.error(FileRule::form, full, quoted(full.text()) + " is none of: deny, allow");
  }
  if (const Field wait = map["max_wait"]) {
    read_text(context, wait, FileRule::form, limit.max_wait, read_time_span);
    limit.max_wait_place = wait.place();
  }
  if (const Field hold = map["hold"]) read_hold(context, hold, limit.hold);
  if (const Field lease = map["lease"]) read_lease(context, lease, limit.lease);
  if (const Field overrides = map["overrides"]; overrides && is_list(context, overrides)) {
    for (const Field& item : items_of(overrides))
      limit.overrides.push_back(read_override(context, item, limit, windows_right));
  }
  if (!rate && !map["deny"] && !map["allow"] && !map.has_unknown())
    context.error_at_key(FileRule::rate, field, "has neither a rate nor deny or allow");
  refuse_with_windows(context, map, limit);
  refuse_without_windows(context, map);
  return limit;
}

}  // namespace weir::limits
