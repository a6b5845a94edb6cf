#include "http/json.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "core/duration.hpp"
#include "core/json_writer.hpp"
#include "http/writer.hpp"
#include "service/ask.hpp"

namespace weir::inline v0_1::http {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

using enum service::BodyMember;
using service::BodyMember;
using service::kMemberNames;
using service::MemberSet;

constexpr MemberSet kOfOneCheck = service::set_of(kKey, kLimit, kCost);

// The members of an object, each once.
struct Members {
  MemberSet have = 0;
  std::array<element, kMembers> values{};
  bool has(BodyMember member) const { return (have & service::set_of(member)) != 0; }
};

std::string list_of(MemberSet allowed) {
  std::string text;
  for (std::size_t i = 0; i < kMembers; ++i) {
    if ((allowed & service::set_of(i)) != 0)
      text += (text.empty() ? "" : ", ") + std::string(kMemberNames[i]);
  }
  return text;
}

std::string seconds_text(std::chrono::nanoseconds time) {
  std::string text;
  core::append_seconds(text, time);
  return text;
}

constexpr std::uint64_t kMostCost = std::numeric_limits<std::int64_t>::max();

using service::About;
using service::Refusal;
using service::Tells;

// Of what the body asks once, or of one part of a batch.
class Reader {
 public:
  Reader(Exchange& exchange, Faults& faults, std::string at)
      : exchange_(exchange), asker_(exchange.loop.asker), faults_(faults), at_(std::move(at)) {}

  // Asks what they say; else there are faults.
  void read(const Members& members) {
    const bool reset = verb_.about == About::state;
    ask_.verb = verb_.verb;
    if (verb_.about == About::id) {
      read_id(members);
      return ask();
    }
    if (verb_.about == About::limit) return read_holds(members);
    if (service::takes(verb_, kMaxWait)) read_waiting(members);
    if (ask_.verb == store::Verb::charge) read_outside(members);
    if (verb_.refunds()) ask_.form = Outside::Form::refund;
    ask_.explains = verb_.tells == Tells::explanation;
    if (members.has(kExplain)) read_flag(members.values[kExplain], ask_.explains);
    const bool costs_by_name = members.has(kCost) && read_costs(members, kCost);
    if (members.has(kCost) && !costs_by_name) {
      as_.costs_an_estimate = false;
      if (!read_units(members.values[kCost], pointer_to(at_, "cost"), as_.cost)) as_.cost = kMostCost;
    }
    if (members.has(kAtLeast)) read_at_least(members, costs_by_name);
    if (members.has(kClass)) read_class(members);
    const unsigned forms =
        unsigned{members.has(kAttributes)} + unsigned{members.has(kKey)} + unsigned{members.has(kChecks)};
    if (forms != 1) return judge_forms(members, forms, reset);
    if (members.has(kAttributes)) {
      read_attributes(members);
    } else if (members.has(kChecks)) {
      read_checks(members);
    } else {
      reset ? read_reset_key(members) : read_key(members);
    }
    ask();
  }

  bool collect(element value, MemberSet allowed, Members& members) {
    object all;
    if (value.get(all) != simdjson::SUCCESS) {
      fault("", "must be an object");
      return false;
    }
    for (const auto& [name, member] : all) {
      const BodyMember number = service::member_called(name);
      if (number == kAtLeast && (allowed & service::set_of(kAtLeast)) == 0 && allowed != kOfOneCheck) {
        fault(name,
              "is only for /v1/check, /v1/look and /v1/explain; all else has its whole cost or none of it");
      } else if (number == kMembers || (allowed & service::set_of(number)) == 0) {
        faults_.full() ? faults_.count()
                       : faults_.add(pointer_to(at_, name), "unknown member; known are " + list_of(allowed));
      } else if ((members.have & service::set_of(number)) != 0) {
        faults_.full() ? faults_.count() : faults_.add(pointer_to(at_, name), "is given twice");
      } else {
        members.have |= service::set_of(number);
        members.values[number] = member;
      }
    }
    return true;
  }

 private:
  void fault(std::string_view member, std::string detail) {
    faults_.add(member.empty() ? at_ : pointer_to(at_, member), std::move(detail));
  }

  void ask() {
    if (!faults_.empty()) {
      asker_.drop_rules();
      if (verb_.verb == store::Verb::acquire && !says_wait_ && !exchange_.prefers) fault_of_wait();
      return;
    }
    if (exchange_.asking->add(ask_, 0, false) == nullptr) refuse(asker_.refusal());
  }

  void fault_of_wait() {
    fault("max_wait", "missing: how many seconds it may wait, here or as the field 'Prefer: wait=10'");
  }

  void fault_of_hold(std::chrono::nanoseconds most) {
    fault("hold", "must be a number of seconds from 0 to " + seconds_text(most) +
                      ", the shortest ttl of the limits that the request meets");
  }

  void refuse(const Refusal& why) {
    using What = Refusal::What;
    switch (why.what) {
      case What::max_wait:
        if (why.most_hold.count() != 0) fault_of_hold(why.most_hold);
        return fault("max_wait", "must be a number of seconds from 0 to " + seconds_text(why.most) +
                                     ", the least of the limits that the request meets");
      case What::hold:
        return fault_of_hold(why.most);
      case What::no_max_wait:
        return fault_of_wait();
      case What::class_name:
        return fault("class", why.sentence);
      case What::limit:
        return fault("limit", why.sentence);
      case What::actual:
        return fault("actual", why.sentence);
      case What::refunds:
        return fault(ask_.as == nullptr ? "limit" : "attributes", why.sentence);
      default:
        return fault("attributes", why.sentence);
    }
  }

  void judge_forms(const Members& members, unsigned forms, bool reset) {
    if (forms == 0) {
      if (members.has(kLimit)) return fault("key", "missing beside 'limit'");
      return fault("", reset ? "missing 'key' or 'attributes'"
                             : "missing 'attributes', or 'key' and 'limit', or 'checks'");
    }
    for (const BodyMember each : {kKey, kChecks}) {
      if (members.has(each))
        fault(kMemberNames[each], "cannot stand beside the other of 'attributes', 'key', 'checks'");
    }
  }

  void read_flag(element value, bool& into) {
    bool flag = false;
    if (value.get(flag) != simdjson::SUCCESS) return fault("explain", "must be true or false");
    into = into || flag;
  }

  bool read_units(element value, std::string pointer, std::uint64_t& into) {
    std::int64_t units = -1;
    if (value.get(units) != simdjson::SUCCESS || units < 0) {
      faults_.add(std::move(pointer), "must be an integer from 0 to " + std::to_string(kMostCost));
      return false;
    }
    into = static_cast<std::uint64_t>(units);
    return true;
  }

  // As much as there is of that cost, of which each limit then takes one unit's.
  void read_at_least(const Members& members, bool costs_by_name) {
    if (!members.has(kCost)) return fault("at_least", "needs 'cost', which is the most");
    if (costs_by_name) return fault("at_least", "is not for a cost by limit");
    std::int64_t least = 0;
    const bool is_integer = members.values[kAtLeast].get(least) == simdjson::SUCCESS;
    if (as_.cost == 0) return fault("at_least", "a cost of 0 takes nothing");
    if (!is_integer || least < 1 || static_cast<std::uint64_t>(least) > as_.cost)
      return fault("at_least", "must be an integer from 1 to " + std::to_string(as_.cost) + ", the cost");
    ask_.verb = store::Verb::take;
    units_ = {std::exchange(as_.cost, 1), static_cast<std::uint64_t>(least),
              verb_.verb != store::Verb::check};
    ask_.units = &units_;
  }

  // Units by limit, as an object. False when the member is something else.
  bool read_costs(const Members& members, BodyMember member) {
    object all;
    if (members.values[member].get(all) != simdjson::SUCCESS) return false;
    const std::string at = pointer_to(at_, kMemberNames[member]);
    if (member == kCost && !members.has(kAttributes)) {
      fault("cost", "by limit is only for 'attributes'");
      return true;
    }
    const limits::Set* const set = asker_.limits();
    if (set == nullptr) {
      faults_.add(at, std::string(service::kNoLimitsFile));
      return true;
    }
    for (const auto& [name, value] : all) {
      const auto same = [wanted = name](const limits::NamedCost& other) { return other.limit == wanted; };
      limits::NamedCost& cost = costs_.emplace_back(limits::NamedCost{name, 0});
      if (set->find(name) == nullptr) {
        faults_.add(pointer_to(at, name), set->unknown(name));
      } else if (std::any_of(costs_.begin(), costs_.end() - 1, same)) {
        faults_.add(pointer_to(at, name), "is given twice");
      } else {
        read_units(value, pointer_to(at, name), cost.units);
      }
      if (faults_.full()) break;
    }
    return true;
  }

  void read_actual(const Members& members) {
    if (read_costs(members, kActual)) {
      ask_.actuals = costs_;
    } else {
      read_units(members.values[kActual], pointer_to(at_, "actual"), ask_.actual.emplace(0));
    }
  }

  void read_seconds(const Members& members, BodyMember member,
                    std::optional<std::chrono::nanoseconds>& into) {
    if (!members.has(member)) return;
    const auto most = member == kMaxWait ? exchange_.service.options().max_wait : service::longest_of(member);
    double seconds = -1;
    const auto top = std::chrono::duration<double>(most).count();
    if (members.values[member].get(seconds) == simdjson::SUCCESS && seconds >= 0 && seconds <= top) {
      into = std::chrono::nanoseconds{std::llround(seconds * 1e9)};
      return;
    }
    fault(kMemberNames[member], "must be a number of seconds from 0 to " + seconds_text(most));
  }

  void read_waiting(const Members& members) {
    read_seconds(members, kMaxWait, ask_.max_wait);
    read_seconds(members, kHold, ask_.hold);
    ask_.patience = exchange_.prefers;
    says_wait_ = members.has(kMaxWait);
  }

  void read_outside(const Members& members) {
    as_.costs_an_estimate = false;
    if (members.has(kRemaining)) {
      if (members.has(kCost)) fault("remaining", "cannot stand beside 'cost'");
      ask_.form = Outside::Form::remaining;
      read_units(members.values[kRemaining], pointer_to(at_, "remaining"), ask_.remaining);
    }
    if (members.has(kPause)) {
      if (members.has(kCost)) fault("pause", "cannot stand beside 'cost'");
      if (members.has(kRemaining)) fault("pause", "cannot stand beside 'remaining'");
      ask_.form = Outside::Form::pause;
      std::optional<std::chrono::nanoseconds> length;
      read_seconds(members, kPause, length);
      ask_.pause.length = length.value_or(std::chrono::nanoseconds{0});
    }
    if (members.has(kAfresh)) {
      if (!members.has(kPause)) fault("afresh", "is only for 'pause'");
      if (members.values[kAfresh].get(ask_.pause.afresh) != simdjson::SUCCESS)
        fault("afresh", "must be true or false");
    }
    if (!members.has(kWindow)) return;
    if (!members.has(kAttributes)) return fault("window", "is only for 'attributes'");
    std::string_view period;
    if (!read_text(members.values[kWindow], pointer_to(at_, "window"), period)) return;
    ask_.window = core::parse_period(period);
    if (!ask_.window) fault("window", "must be a period, as in 1min");
  }

  void read_id(const Members& members) {
    if (!members.has(kId)) {
      fault("id", "missing");
    } else {
      read_text(members.values[kId], pointer_to(at_, "id"), ask_.id);
    }
    if (members.has(kActual)) read_actual(members);
    if (!service::takes(verb_, kHold)) return;
    if (!members.has(kHold)) return fault("hold", "missing: for how many seconds from now it may be open");
    read_seconds(members, kHold, ask_.hold);
  }

  void read_class(const Members& members) {
    if (!members.has(kAttributes)) return fault("class", "is only for 'attributes'");
    if (members.values[kClass].get(as_.class_name) != simdjson::SUCCESS || as_.class_name.empty())
      fault("class", "must be a text");
  }

  bool read_text(element value, const std::string& pointer, std::string_view& into) {
    if (value.get(into) == simdjson::SUCCESS) return true;
    faults_.add(pointer, "must be a text");
    return false;
  }

  void read_one(const Members& members, const std::string& at) {
    std::string_view key;
    std::string_view rule;
    Cost cost{as_.cost};
    if (members.has(kCost) && at != at_)
      read_units(members.values[kCost], pointer_to(at, "cost"), cost.units);
    const auto read = [&](BodyMember member, std::string_view& text) {
      const std::string pointer = pointer_to(at, kMemberNames[member]);
      if (members.has(member)) return read_text(members.values[member], pointer, text);
      faults_.add(pointer, "missing");
      return false;
    };
    const bool has_key = read(kKey, key);
    if (!read(kLimit, rule)) return;
    if (has_key ? asker_.add_rule(key, rule, cost) : asker_.find_rule(rule) != nullptr) return;
    const Refusal& why = asker_.refusal();
    if (why.what == Refusal::What::key_twice) {
      faults_.add(pointer_to(at, "key"), "is given twice; one request charges each key once");
    } else {
      faults_.add(pointer_to(at, "limit"), why.sentence);
    }
  }

  void read_key(const Members& members) {
    asker_.begin_rules(1, ask_.explains);
    read_one(members, at_);
  }

  void read_checks(const Members& members) {
    const std::string at = pointer_to(at_, "checks");
    if (members.has(kLimit)) fault("limit", "each of 'checks' has its own");
    array all;
    if (members.values[kChecks].get(all) != simdjson::SUCCESS || all.size() == 0 ||
        all.size() > store::kMostChecks) {
      faults_.add(at, "must be a list of 1 to " + std::to_string(store::kMostChecks));
      return;
    }
    asker_.begin_rules(all.size(), ask_.explains);
    std::size_t count = 0;
    for (const element each : all) {
      const std::string here = at + "/" + std::to_string(count++);
      Members parts;
      if (Reader(exchange_, faults_, here).collect(each, kOfOneCheck, parts)) read_one(parts, here);
    }
  }

  void read_holds(const Members& members) {
    if (!members.has(kLimit)) fault("limit", "missing: whose holds");
    if (!members.has(kAttributes)) fault("attributes", "missing: of which key");
    std::uint64_t count = ask_.most;
    if (members.has(kCount) && (members.values[kCount].get(count) != simdjson::SUCCESS || count < 1 ||
                                count > store::OpenHold::kMost))
      fault("count", "must be an integer from 1 to " + std::to_string(store::OpenHold::kMost));
    ask_.most = static_cast<std::size_t>(count);
    if (members.has(kAttributes)) read_attributes(members);
    ask();
  }

  void read_reset_key(const Members& members) {
    if (members.has(kLimit)) return fault("limit", "is only for 'attributes'");
    read_text(members.values[kKey], pointer_to(at_, "key"), key_);
    ask_.keys = {&key_, 1};
  }

  void read_attributes(const Members& members) {
    const std::string at = pointer_to(at_, "attributes");
    if (members.has(kLimit)) {
      if (!service::may_name_limit(verb_))
        return fault("limit", "is only for 'key': the limits file says which limits attributes meet");
      read_text(members.values[kLimit], pointer_to(at_, "limit"), ask_.limit);
    }
    object all;
    if (members.values[kAttributes].get(all) != simdjson::SUCCESS) {
      faults_.add(at, "must be an object");
      return;
    }
    auto& room = asker_.attributes();
    if (all.size() > room.size()) {
      faults_.add(at, "has more than " + std::to_string(room.size()) + " members");
      return;
    }
    std::size_t count = 0;
    for (const auto& [name, value] : all) {
      const auto same_name = [wanted = name](const limits::Attribute& other) { return other.name == wanted; };
      if (std::any_of(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(count), same_name)) {
        faults_.add(pointer_to(at, name), "is given twice");
      } else if (name.empty()) {
        faults_.add(pointer_to(at, name), "an attribute's name is empty");
      } else if (read_text(value, pointer_to(at, name), room[count].value)) {
        room[count++].name = name;
      }
    }
    as_.attributes = std::span(room).first(count);
    as_.costs = costs_;
    ask_.as = &as_;
  }

  Exchange& exchange_;
  const service::VerbRow& verb_ = *exchange_.verb;
  service::Asker& asker_;
  Faults& faults_;
  std::string at_;
  service::Ask ask_;
  service::Ask::Units units_;
  limits::Description as_{.attributes = {}, .costs_an_estimate = true};
  std::vector<limits::NamedCost> costs_;
  std::string_view key_;
  bool says_wait_ = false;
};

std::string sentence_of(simdjson::error_code error) {
  switch (error) {
    case simdjson::EMPTY:
      return "the body is empty, and should be a JSON object";
    case simdjson::UTF8_ERROR:
      return "the body is not UTF-8";
    case simdjson::DEPTH_ERROR:
      return "the body is nested too deeply";
    case simdjson::NUMBER_ERROR:
      return "the body has a number that is malformed or too large";
    case simdjson::STRING_ERROR:
      return "the body has a malformed text";
    default:
      return "the body is not JSON";
  }
}

// A reader of a body that is larger than this leaves its memory to nobody.
constexpr std::size_t kSmall = std::size_t{64} << 10;
constexpr std::size_t kDepth = 16;

void read_batch(element requests, Exchange& exchange, Faults& faults) {
  array all;
  if (requests.get(all) != simdjson::SUCCESS || all.size() == 0 || all.size() > kMostRequests) {
    faults.add("/requests", "must be a list of 1 to " + std::to_string(kMostRequests));
    return;
  }
  exchange.batch = true;
  std::size_t room = Faults::kMost;  // of all requests together
  for (const element each : all) {
    Faults& own = exchange.faults.emplace_back(room);
    Reader reader(exchange, own, "");
    Members members;
    if (reader.collect(each, exchange.verb->takes & ~service::set_of(kRequests), members))
      reader.read(members);
    room -= own.told().size();
    if (!own.empty()) exchange.asking->add_answered(0);
  }
}

}  // namespace

bool parse_body(std::string_view body, HttpLoop::Json& json, element& root, Faults& faults) {
  if (json.parser.capacity() > kSmall) {
    json.parser = simdjson::dom::parser();
    json.padded = std::string();
  }
  json.padded.reserve(body.size() + simdjson::SIMDJSON_PADDING);
  json.padded.assign(body);
  simdjson::error_code error = simdjson::SUCCESS;
  // Each body that is larger than any before makes it allocate, and the depth is part of that.
  if (json.parser.capacity() < body.size() || json.parser.max_depth() != kDepth)
    error = json.parser.allocate(std::max<std::size_t>(body.size(), 4096), kDepth);
  if (error == simdjson::SUCCESS) error = json.parser.parse(json.padded.data(), body.size(), false).get(root);
  if (error != simdjson::SUCCESS) faults.add("", sentence_of(error));
  return error == simdjson::SUCCESS;
}

void read_questions(std::string_view body, Exchange& exchange, Faults& faults) {
  element root;
  if (!parse_body(body, *exchange.loop.json, root, faults)) return;
  Reader reader(exchange, faults, "");
  Members members;
  if (!reader.collect(root, exchange.verb->takes, members)) return;
  if (members.has(kRequests)) {
    if (members.have != service::set_of(kRequests))
      faults.add("/requests", "stands alone; each request has its own members");
    if (faults.empty()) read_batch(members.values[kRequests], exchange, faults);
    return;
  }
  reader.read(members);
}

}  // namespace weir::http
