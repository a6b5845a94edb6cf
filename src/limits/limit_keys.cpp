#include "limits/limit_keys.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "core/duration.hpp"
#include "core/overdraft.hpp"
#include "core/reservation.hpp"
#include "limits/file_keys.hpp"
#include "limits/file_text.hpp"
#include "limits/lists.hpp"
#include "limits/parts.hpp"
#include "limits/scalars.hpp"
#include "weir/charge.hpp"

namespace weir::inline v0_1::limits {
namespace {

constexpr std::size_t kMostBy = 16;

// What an address called `ip` is grouped by: an IPv6 client owns a /64.
constexpr core::Prefixes kClients{32, 64};

void read_by(Context& context, const FileField& by, NamedLimit& limit) {
  for (const FileField& item : texts_of(context, by)) {
    const std::string& name = item.text();
    if (!judge_attribute(context, item, item.place(), name)) continue;
    if (std::any_of(limit.by.begin(), limit.by.end(),
                    [&](const By& each) { return each.attribute == name; })) {
      context.error(FileRule::names, item, in_quotes(name) + " a second time");
    } else {
      limit.by.push_back({name, name == "ip" ? kClients : core::Prefixes{}});
    }
  }
  limit.show = !limit.by.empty();
  if (limit.by.size() > kMostBy)
    context.error(FileRule::bounds, by,
                  std::to_string(limit.by.size()) + " attributes; at most " + std::to_string(kMostBy));
}

void read_group_ip(Context& context, const FileField& field, NamedLimit& limit) {
  if (!is_map(context, field)) return;
  if (limit.by.empty())
    context.error_at_key(FileRule::names, field, "the limit has no by, so there is nothing to group");
  const Map map(context, field, keys::kGroupIp);
  core::Prefixes group = kClients;
  const auto bits = [&](const char* key, std::uint64_t most, int& value) {
    const FileField field_of = map[key];
    std::uint64_t read = 0;
    if (field_of && read_text(context, field_of, read,
                              [most](std::string_view text) { return read_integer(text, 1, most); }))
      value = static_cast<int>(read);
  };
  bits("v4", 32, group.v4);
  bits("v6", 128, group.v6);
  for (By& by : limit.by) by.group = group;
}

void read_shadow(Context& context, const FileField& shadow, NamedLimit& limit) {
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
    context.error(FileRule::form, shadow, in_quotes(text) + " is none of: until DATE, true, false");
  }
}

void read_store_error(Context& context, const FileField& field, StoreError& read) {
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
    context.error(FileRule::form, field, in_quotes(text) + " is none of: local, local N%, allow, deny");
  }
}

void read_hold(Context& context, const FileField& field, Hold& hold) {
  if (!is_map(context, field)) return;
  const Map map(context, field, keys::kHold);
  hold.place = field.key;
  hold.estimate = 1;
  if (const FileField estimate = map["estimate"]) {
    hold.says_estimate = true;
    read_text(context, estimate, hold.estimate,
              [](std::string_view text) { return read_integer(text, 1, kMostUnits); });
  }
  if (const FileField ttl = map["ttl"]) {
    hold.ttl_place = ttl.place();
    if (read_text(context, ttl, hold.ttl, read_time_span) && hold.ttl.count() == 0)
      context.error(FileRule::form, ttl, "'" + ttl.text() + "' leaves no time to settle in");
    if (hold.ttl > Hold::kLongest) context.error(FileRule::form, ttl, above(ttl, Hold::kLongest));
  } else {
    context.error_at_key(FileRule::form, field, "missing ttl: how long a hold may be open");
  }
  if (const FileField at_most = map["at_most"]) {
    hold.at_most_place = at_most.place();
    if (read_text(context, at_most, hold.at_most, read_share) && hold.at_most.millionths == 0)
      context.error(FileRule::form, at_most, "'0%' allows no hold");
  }
}

void read_lease(Context& context, const FileField& field, LeaseTerms& lease) {
  if (!is_map(context, field)) return;
  const Map map(context, field, keys::kLease);
  lease.place = field.key;
  if (const FileField units = map["units"]) {
    read_text(context, units, lease.units,
              [](std::string_view text) { return read_integer(text, 2, kMostUnits); });
  } else {
    context.error_at_key(FileRule::form, field, "missing units: how many a server takes at a time");
  }
  if (const FileField time = map["for"]) {
    if (read_text(context, time, lease.time, read_time_span) && lease.time.count() == 0)
      context.error(FileRule::form, time, "'" + time.text() + "' leaves no time to spend it in");
  }
}

std::string shadow_text(const NamedLimit& limit) {
  if (limit.shadow_until == kLongAgo) return "";
  return limit.shadow_until == kNever ? "true" : "until " + to_text(limit.shadow_until);
}

void read_id(Context& context, const FileField& field, NamedLimit& limit) {
  if (!is_text(context, field)) return;
  if (std::string wrong = wrong_name(field.text()); !wrong.empty())
    context.error(FileRule::names, field, std::move(wrong));
  limit.id = field.text();
}

void read_when_full(Context& context, const FileField& field, FileWhenFull& full) {
  if (!is_text(context, field)) return;
  full = field.text() == "allow" ? FileWhenFull::allow : FileWhenFull::deny;
  if (field.text() != "allow" && field.text() != "deny")
    context.error(FileRule::form, field, in_quotes(field.text()) + " is none of: deny, allow");
}

// A number of slots.
void read_slots(Context& context, const FileField& field, core::Rule& rule, Position& place) {
  if (!is_text(context, field)) return;
  if (auto read = core::Rule::slots(field.text())) {
    rule = *read;
    place = field.place();
  } else {
    context.error(FileRule::form, field, read.error().substr(read.error().find(": ") + 2));
  }
}

void read_slots_change(Context& context, const FileField& field, const LimitReading& of, Override& change) {
  if (of.limit.slots.place.line == 0)
    return context.error_at_key(FileRule::override_window, field, "the limit has no in_flight");
  WindowChange& slots = change.slots;
  if (field.node->kind == YamlNode::Kind::text && field.text() == "unlimited") {
    slots.lifted = true;
    slots.place = field.place();
  } else {
    read_slots(context, field, slots.rule, slots.place);
  }
}

// The slots of a limit are the last of its windows.
void add_slots(NamedLimit& limit) {
  if (limit.slots.place.line == 0) return;
  const auto last = static_cast<Index>(limit.windows.size());
  limit.windows.push_back(limit.slots);
  for (Override& change : limit.overrides) {
    change.slots.window = last;
    if (change.slots.place.line > 0) change.windows.push_back(change.slots);
  }
}

void read_rate_change(Context& context, const FileField& rate, const LimitReading& of, Override& change) {
  if (of.limit.windows.empty() && of.windows_right)
    return context.error_at_key(FileRule::override_window, rate, "the limit has no rate");
  change.windows = read_changes(context, rate, of.windows_right ? of.limit.windows : std::vector<Window>{});
}

template <class Row>
std::vector<FileKey> keys_of(std::span<const Row> rows) {
  std::vector<FileKey> keys;
  for (const Row& each : rows) keys.push_back(each.key);
  return keys;
}

void read_overrides(Context& context, const FileField& overrides, LimitReading& reading) {
  static const std::vector<FileKey> kKeys = keys_of(override_keys());
  if (!is_list(context, overrides)) return;
  for (const FileField& item : items_of(overrides)) {
    Override& change = reading.limit.overrides.emplace_back();
    change.place = item.place();
    if (!is_map(context, item)) continue;
    const Map map(context, item, kKeys);
    for (const OverrideKey& each : override_keys()) {
      if (const FileField field = map[each.key.name]) each.read(context, field, reading, change);
    }
  }
}

void visit_cases(const CostRule& cost, const LimitKey::Visit& visit) {
  for (const CostCase& each : cost.cases) visit(each.when);
}

constexpr auto kLimitKeys = std::to_array<LimitKey>({
    {.key = {.name = "by",
             .unsaid = "one counter for everybody",
             .meaning = "the attributes that make the key, at most 16",
             .example = "[tenant, user]",
             .form = R"({
  "description": "The attributes that make the key; without them, one counter for everybody.",
  "oneOf": [
    { "$ref": "#/$defs/attribute" },
    { "type": "array", "maxItems": 16, "uniqueItems": true, "items": { "$ref": "#/$defs/attribute" } }
  ]
})"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { read_by(context, field, reading.limit); }},
    {.key = {.name = "group_ip",
             .unsaid = "of `ip`: 32 and 64 bits; else whole",
             .meaning = "how many bits of an address in `by` count",
             .example = "{ v4: 24, v6: 56 }",
             .form = R"({
  "description": "How many bits of an address count.",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    @
  }
})"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { read_group_ip(context, field, reading.limit); }},
    {.key = {.name = "rate",
             .unsaid = "none",
             .meaning = "one window or several, at most 8, of different periods",
             .example = "[20/s burst 40, 1000/day]",
             .form = R"({ "$ref": "#/$defs/rates" })"},
     .read =
         [](Context& context, const FileField& field, LimitReading& reading) {
           reading.windows_right = read_windows(context, field, reading.limit.windows);
         }},
    {.key = {.name = "in_flight",
             .unsaid = "any number",
             .meaning = "how many holds of a key may be open at once: slots, each taken by a reservation "
                        "until its end; needs a `hold`, with or without `rate`",
             .example = "5",
             .form = R"({ "$ref": "#/$defs/slots" })"},
     .read =
         [](Context& context, const FileField& field, LimitReading& reading) {
           read_slots(context, field, reading.limit.slots.rule, reading.limit.slots.place);
         }},
    {.key = {.name = "within",
             .rule = FileRule::within,
             .unsaid = "none",
             .meaning = "the limit that is charged together with this one",
             .example = "tenant",
             .form =
                 R"({ "description": "The limit that is charged with this one.", "$ref": "#/$defs/name" })"},
     .read =
         [](Context& context, const FileField& field, LimitReading& reading) {
           reading.limit.within = find_name(context, field, context.limits, "limit");
           reading.limit.within_place = field.place();
         },
     .of_gcra = true},
    {.key = {.name = "leave",
             .rule = FileRule::classes,
             .unsaid = "nothing",
             .meaning = "for each class but the first, what it leaves of the burst; a class left out leaves "
                        "what the one before it does",
             .example = "{ bulk: 50% }",
             .form = R"({ "$ref": "#/$defs/leave" })"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { reading.limit.leave = read_leave(context, field); },
     .of_rate = true,
     .of_gcra = true,
     .said = [](const File& file, const NamedLimit& limit) { return text_of(file, limit.leave); },
     .place = [](const NamedLimit& limit) { return limit.leave.place; }},
    {.key = {.name = "reserve",
             .rule = FileRule::classes,
             .unsaid = "nothing",
             .meaning = "the share of the burst for requests inside a guarantee only",
             .example = "25%",
             .form = R"({ "$ref": "#/$defs/reserve" })"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { reading.limit.reserve = read_reserve(context, field); },
     .of_rate = true,
     .of_gcra = true,
     .said = [](const File&, const NamedLimit& limit) { return text_of(limit.reserve); },
     .place = [](const NamedLimit& limit) { return limit.reserve.place; }},
    {.key = {.name = "guarantee",
             .unsaid = "none",
             .meaning = "what requests may count on from `within`",
             .example = "200/s burst 100",
             .form = R"({ "$ref": "#/$defs/guarantee" })"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { reading.limit.guarantee = read_guarantee(context, field); },
     .of_rate = true,
     .of_gcra = true,
     .said = [](const File&, const NamedLimit& limit) { return text_of(limit.guarantee); },
     .place = [](const NamedLimit& limit) { return limit.guarantee.place; }},
    {.key = {.name = "overrides",
             .unsaid = "none",
             .meaning = "other numbers for some keys, see below",
             .form = R"({
  "description": "Other numbers for some keys; the last that matches wins, for what it names.",
  "type": "array",
  "items": { "$ref": "#/$defs/override" }
})"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { read_overrides(context, field, reading); },
     .whens =
         [](const NamedLimit& limit, const LimitKey::Visit& visit) {
           for (const Override& each : limit.overrides) {
             visit(each.when);
             visit_cases(each.cost, visit);
           }
         }},
    {.key = {.name = "deny",
             .unsaid = "nobody",
             .meaning = "attributes: such a request is denied, and `deny` wins over `allow`",
             .example = R"({ ip: "@bad_nets" })",
             .form = R"({ "$ref": "#/$defs/when", "description": "Whom it always denies." })"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { reading.limit.deny = read_when(context, field); },
     .said = [](const File& file, const NamedLimit& limit) { return text_of(file, limit.deny); },
     .whens = [](const NamedLimit& limit, const LimitKey::Visit& visit) { visit(limit.deny); }},
    {.key = {.name = "allow",
             .unsaid = "nobody",
             .meaning = "attributes: such a request is exempt from this limit",
             .example = "{ ip: 10.0.0.0/8 }",
             .form = R"({ "$ref": "#/$defs/when", "description": "Whom it exempts." })"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { reading.limit.allow = read_when(context, field); },
     .said = [](const File& file, const NamedLimit& limit) { return text_of(file, limit.allow); },
     .whens = [](const NamedLimit& limit, const LimitKey::Visit& visit) { visit(limit.allow); }},
    {.key = {.name = "cost",
             .unsaid = "1",
             .meaning = "what one unit of a request costs: a number; a list of `{ when, cost }`, the first "
                        "that matches; or `{ from: ATTRIBUTE }`",
             .example = "{ from: tokens }",
             .form = R"({ "$ref": "#/$defs/cost" })"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { reading.limit.cost = read_cost(context, field); },
     .of_rate = true,
     .said = [](const File& file, const NamedLimit& limit) { return text_of(file, limit.cost); },
     .place = [](const NamedLimit& limit) { return limit.cost.place; },
     .whens = [](const NamedLimit& limit, const LimitKey::Visit& visit) { visit_cases(limit.cost, visit); }},
    {.key = {.name = "required",
             .unsaid = "`false`",
             .meaning = "a request without an attribute of `by` is an error, and not exempt",
             .example = "true",
             .form = R"({
  "description": "A request without an attribute of `by` is an error.",
  "enum": [true, false, "true", "false"]
})"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { read_text(context, field, reading.limit.required, read_switch); },
     .said = [](const File&, const NamedLimit& limit) { return limit.required ? std::string("true") : ""; }},
    {.key = {.name = "shadow",
             .unsaid = "`false`",
             .meaning = "counted and reported, not enforced: `until TIME`, or `true`",
             .example = "until 2027-01-15",
             .form = R"({
  "description": "Counted and reported, not enforced: `until DATE`, or true.",
  "anyOf": [{ "enum": [true, false, "true", "false"] }, { "type": "string", "pattern": "^until " }]
})"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { read_shadow(context, field, reading.limit); },
     .said = [](const File&, const NamedLimit& limit) { return shadow_text(limit); },
     .place = [](const NamedLimit& limit) { return limit.shadow_place; }},
    {.key = {.name = "refunds",
             .unsaid = "`false`",
             .meaning = "callers without an id may take back what they did not use (`WEIR.REFUND`); so they "
                        "may undo the limit",
             .example = "true",
             .form = R"({
  "description": "Callers without an id may take back what they did not use.",
  "enum": [true, false, "true", "false"]
})"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { read_text(context, field, reading.limit.refunds, read_switch); },
     .of_rate = true,
     .said = [](const File&, const NamedLimit& limit) { return limit.refunds ? std::string("true") : ""; }},
    {.key = {.name = "track",
             .unsaid = "`false`",
             .meaning =
                 "what each key uses is kept for `WEIR.USAGE`, by period and by hour: for a bill's page, "
                 "not a ledger",
             .example = "true",
             .form = R"({
  "description": "What each key uses is kept for WEIR.USAGE, by period and by hour.",
  "enum": [true, false, "true", "false"]
})"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { read_text(context, field, reading.limit.track, read_switch); },
     .of_rate = true,
     .said = [](const File&, const NamedLimit& limit) { return limit.track ? std::string("true") : ""; }},
    {.key = {.name = "show",
             .unsaid = "`true` with a `by`, else `false`",
             .meaning = "clients are told its numbers in `RateLimit` fields: a limit without `by` would tell "
                        "them a whole service's traffic",
             .example = "false",
             .form = R"({
  "description": "Clients are told its numbers in RateLimit fields; unless said, those of a limit with a `by`.",
  "enum": [true, false, "true", "false"]
})"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { read_text(context, field, reading.limit.show, read_switch); },
     .said =
         [](const File&, const NamedLimit& limit) {
           return limit.show != limit.by.empty() ? std::string() : limit.show ? "true" : "false";
         }},
    {.key = {.name = "id",
             .unsaid = "the name",
             .meaning =
                 "the identity of its state; a limit that is renamed keeps its debts by `id: old-name`",
             .example = "people",
             .form = R"({ "description": "Keeps its debts over a renaming.", "$ref": "#/$defs/name" })"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { read_id(context, field, reading.limit); }},
    {.key = {.name = "on_store_error",
             .unsaid = "the server's flag",
             .meaning = "what decides while a shared store does not: `local`, `local N%`, `allow`, `deny`",
             .example = "local 25%",
             .form = R"({ "type": "string", "pattern": "^(local( [0-9.]+%)?|allow|deny)$" })"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { read_store_error(context, field, reading.limit.on_store_error); },
     .said = [](const File&, const NamedLimit& limit) { return text_of(limit.on_store_error); },
     .place = [](const NamedLimit& limit) { return limit.on_store_error.place; }},
    {.key = {.name = "when_full",
             .unsaid = "the server's flag",
             .meaning = "what new keys get while the table is full: `deny`, `allow`",
             .example = "allow",
             .form = R"({ "enum": ["deny", "allow"] })"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { read_when_full(context, field, reading.limit.when_full); },
     .said =
         [](const File&, const NamedLimit& limit) {
           return limit.when_full == FileWhenFull::unsaid  ? std::string()
                  : limit.when_full == FileWhenFull::allow ? "allow"
                                                           : "deny";
         }},
    {.key = {.name = "max_wait",
             .unsaid = "none",
             .meaning = "default and cap of how long a request that meets it may wait",
             .example = "1s",
             .form = R"({ "$ref": "#/$defs/span" })"},
     .read =
         [](Context& context, const FileField& field, LimitReading& reading) {
           read_text(context, field, reading.limit.max_wait, read_time_span);
           reading.limit.max_wait_place = field.place();
         },
     .of_rate = true,
     .of_gcra = true,
     .said =
         [](const File&, const NamedLimit& limit) {
           return limit.max_wait.count() < 0 ? std::string() : core::to_text(limit.max_wait);
         }},
    {.key =
         {.name = "hold",
          .unsaid = "none",
          .meaning =
              "`ttl` (a time span, at most `24h`), `estimate` (units, 1), `at_most` (a share of the burst, "
              "`100%`; not beside a `reserve`): for costs that are known only afterwards",
          .example = "{ estimate: 2000, ttl: 60s }",
          .form = R"({
  "description": "For costs that are known only afterwards.",
  "type": "object",
  "required": ["ttl"],
  "additionalProperties": false,
  "properties": {
    @
  }
})"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { read_hold(context, field, reading.limit.hold); },
     .of_rate = true,
     .said = [](const File&, const NamedLimit& limit) { return text_of(limit.hold); },
     .place = [](const NamedLimit& limit) { return limit.hold.place; }},
    {.key = {.name = "charge",
             .rule = FileRule::charge_after,
             .unsaid = "when it is asked",
             .meaning =
                 "`after`: what descriptors of [Envoy](#envoy) report is charged though it is more than "
                 "is left",
             .example = "after",
             .form = R"({
  "description": "What descriptors of Envoy's rate limit service report is charged though it is more than is left.",
  "enum": ["after"]
})"},
     .read =
         [](Context& context, const FileField& field, LimitReading& reading) {
           if (!is_text(context, field)) return;
           reading.limit.charged_after = field.text() == "after";
           if (!reading.limit.charged_after)
             context.error(FileRule::form, field, in_quotes(field.text()) + " is none of: after");
         },
     .of_rate = true,
     .said = [](const File&,
                const NamedLimit& limit) { return limit.charged_after ? std::string("after") : ""; }},
    {.key = {.name = "penalty",
             .rule = FileRule::penalty,
             .unsaid = "none",
             .meaning =
                 "how long nobody acts under a key once it has denied a request, at most `24h`; "
                 "`{ for: 15m, growing: 2, most: 24h }`: longer each time; `then: afresh`: and then as "
                 "if never used: "
                 "[charging.md](charging.md#a-rest-after-a-breach)",
             .example = "15m",
             .form = R"({ "$ref": "#/$defs/penalty" })"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { reading.limit.penalty = read_penalty(context, field); },
     .of_rate = true,
     .said = [](const File&, const NamedLimit& limit) { return text_of(limit.penalty); },
     .place = [](const NamedLimit& limit) { return limit.penalty.place; }},
    {.key = {.name = "lease",
             .unsaid = "none",
             .meaning = "`units` that a server takes from a shared store at a time and spends without asking "
                        "it, `for` (`1s`, the most) at the longest: [redis.md](redis.md#leases)",
             .example = "{ units: 100, for: 1s }",
             .form = R"({
  "description": "Units that a server takes from a shared store at a time, and spends without asking it.",
  "type": "object",
  "required": ["units"],
  "additionalProperties": false,
  "properties": {
    @
  }
})"},
     .read = [](Context& context, const FileField& field,
                LimitReading& reading) { read_lease(context, field, reading.limit.lease); },
     .of_rate = true,
     .of_gcra = true,
     .said = [](const File&, const NamedLimit& limit) { return text_of(limit.lease); },
     .place = [](const NamedLimit& limit) { return limit.lease.place; }},
});

constexpr auto kOverrideKeys = std::to_array<OverrideKey>({
    {.key = {.name = "when", .form = R"({ "$ref": "#/$defs/when" })"},
     .read = [](Context& context, const FileField& field, const LimitReading&,
                Override& change) { change.when = read_when(context, field); }},
    {.key = {.name = "until", .form = R"({ "$ref": "#/$defs/end" })"},
     .read =
         [](Context& context, const FileField& field, const LimitReading&, Override& change) {
           if (is_text(context, field)) read_end(context, field, field.text(), change.until);
         }},
    {.key = {.name = "reason",
             .form = R"({ "type": ["string", "number", "boolean", "null"], "description": "For people." })"},
     .read =
         [](Context& context, const FileField& field, const LimitReading&, Override& change) {
           if (is_text(context, field)) change.reason = field.text();
         }},
    {.key = {.name = "rate", .form = R"({ "$ref": "#/$defs/changes" })"},
     .read = [](Context& context, const FileField& field, const LimitReading& of,
                Override& change) { read_rate_change(context, field, of, change); }},
    {.key = {.name = "in_flight",
             .form = R"({ "anyOf": [{ "$ref": "#/$defs/slots" }, { "enum": ["unlimited"] }] })"},
     .read = [](Context& context, const FileField& field, const LimitReading& of,
                Override& change) { read_slots_change(context, field, of, change); }},
    {.key = {.name = "leave", .rule = FileRule::classes, .form = R"({ "$ref": "#/$defs/leave" })"},
     .read = [](Context& context, const FileField& field, const LimitReading&,
                Override& change) { change.leave = read_leave(context, field); },
     .of_gcra = true},
    {.key = {.name = "reserve", .rule = FileRule::classes, .form = R"({ "$ref": "#/$defs/reserve" })"},
     .read = [](Context& context, const FileField& field, const LimitReading&,
                Override& change) { change.reserve = read_reserve(context, field); },
     .of_gcra = true},
    {.key = {.name = "guarantee", .form = R"({ "$ref": "#/$defs/guarantee" })"},
     .read = [](Context& context, const FileField& field, const LimitReading&,
                Override& change) { change.guarantee = read_guarantee(context, field); },
     .of_gcra = true},
    {.key = {.name = "cost", .form = R"({ "$ref": "#/$defs/cost" })"},
     .read = [](Context& context, const FileField& field, const LimitReading&,
                Override& change) { change.cost = read_cost(context, field); }},
    {.key = {.name = "penalty", .rule = FileRule::penalty, .form = R"({ "$ref": "#/$defs/penalty" })"},
     .read = [](Context& context, const FileField& field, const LimitReading&,
                Override& change) { change.penalty = read_penalty(context, field); }},
});

// What the other algorithms cannot do.
void refuse_with_windows(Context& context, const Map& map, const NamedLimit& limit) {
  const auto other = std::ranges::find_if(
      limit.windows, [](const Window& each) { return !core::can_give_back(each.rule.algorithm); });
  if (other == limit.windows.end()) return;
  const auto refuse = [&](const FileField& field) {
    context.error_at_key(FileRule::of_gcra, field,
                         "only gcra can do this; " + in_quotes(core::to_text(other->rule)) + " counts by " +
                             core::name_of(other->rule.algorithm));
  };
  for (const LimitKey& each : kLimitKeys) {
    if (const FileField field = map[each.key.name]; field && each.of_gcra) refuse(field);
  }
  const FileField overrides = map["overrides"];
  if (!overrides || overrides.node->kind != YamlNode::Kind::list) return;
  for (const FileField& item : items_of(overrides)) {
    if (item.node->kind != YamlNode::Kind::map) continue;
    for (const FileField& field : members_of(item)) {
      const std::string key = field.path.substr(field.path.rfind('.') + 1);
      const auto of_gcra = [&key](const OverrideKey& each) { return each.of_gcra && each.key.name == key; };
      if (std::any_of(kOverrideKeys.begin(), kOverrideKeys.end(), of_gcra)) refuse(field);
    }
  }
}

// What a reservation does not meet has no hold.
void refuse_hold(Context& context, const Map& map, const NamedLimit& limit) {
  const FileField hold = map["hold"];
  if (!hold) return;
  for (const Window& each : limit.windows) {
    const Algorithm algorithm = each.rule.algorithm;
    if (core::can_reserve(algorithm) || core::counts_at_grant(algorithm)) continue;
    return context.error_at_key(FileRule::of_gcra, hold,
                                "gcra and fixed windows can do this; " + in_quotes(core::to_text(each.rule)) +
                                    " counts by " + core::name_of(algorithm));
  }
}

// What is charged afterwards stands alone.
void refuse_beside_charge(Context& context, const Map& map, const NamedLimit& limit) {
  if (!limit.charged_after) return;
  for (const char* each : {"in_flight", "within", "leave", "reserve", "guarantee", "lease", "penalty"}) {
    if (const FileField field = map[each])
      context.error_at_key(FileRule::charge_after, field, "does not go with charge: after");
  }
  for (const Window& each : limit.windows) {
    if (core::can_overdraw(each.rule.algorithm)) continue;
    return context.error_at_key(FileRule::charge_after, map["charge"],
                                "gcra and fixed windows can do this; " + in_quotes(core::to_text(each.rule)) +
                                    " counts by " + core::name_of(each.rule.algorithm));
  }
}

// What says something about a burst needs one.
void refuse_without_windows(Context& context, const Map& map) {
  if (const FileField slots = map["in_flight"]) {
    if (!map["hold"])
      context.error_at_key(FileRule::hold, slots,
                           "needs a hold, which takes the slot and ends by itself: write hold: { ttl: 60s }");
    if (map["rate"]) return;
    for (const char* each : {"reserve", "guarantee", "lease", "penalty", "refunds", "track"})
      if (const FileField field = map[each])
        context.error_at_key(FileRule::rate, field, "is of rates, and the limit has in_flight alone");
    return;
  }
  if (map["rate"] || (!map["deny"] && !map["allow"])) return;  // of the second, more is told
  for (const LimitKey& each : kLimitKeys) {
    if (const FileField field = map[each.key.name]; field && each.of_rate)
      context.error_at_key(FileRule::rate, field, "the limit has no rate");
  }
}

}  // namespace

std::span<const LimitKey> limit_keys() { return kLimitKeys; }
std::span<const OverrideKey> override_keys() { return kOverrideKeys; }

NamedLimit read_limit(Context& context, const std::string& name, const FileField& field) {
  static const std::vector<FileKey> kKeys = keys_of(limit_keys());
  LimitReading reading;
  NamedLimit& limit = reading.limit;
  limit.name = limit.id = name;
  limit.place = field.key;
  if (!is_map(context, field)) return limit;
  const Map map(context, field, kKeys);
  for (const LimitKey& each : kLimitKeys) {
    if (const FileField written = map[each.key.name]) each.read(context, written, reading);
  }
  if (!map["rate"] && !map["in_flight"] && !map["deny"] && !map["allow"] && !map.has_unknown())
    context.error_at_key(FileRule::rate, field, "has neither a rate nor deny or allow");
  refuse_with_windows(context, map, limit);
  refuse_hold(context, map, limit);
  refuse_beside_charge(context, map, limit);
  refuse_without_windows(context, map);
  add_slots(limit);
  return std::move(reading.limit);
}

}  // namespace weir::limits
