// The compiled matcher against one that shares no code with it: it goes through the file as it was read, one
// thing after the other, over files and requests that chance makes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/chance_test.hpp"
#include "limits/world_test.hpp"

namespace weir::inline v0_1::limits {
namespace {

using Request = std::map<std::string, std::string>;

// What a request meets, as text; and how it is found slowly.
class Slow {
 public:
  Slow(const File& file, Time now) : file_(file), now_(now) {}

  std::string meets(const Request& request, std::uint64_t cost, const std::string& class_name) const {
    const Route* route = nullptr;
    for (const Route& each : file_.routes) {
      if (holds(each.when, request)) {
        route = &each;
        break;
      }
    }
    std::size_t class_of = 0;
    if (!file_.classes.empty()) class_of = class_for(class_name, route);
    if (route == nullptr) return "free";

    // All that the route names, and all that those are within, each once, ancestors first.
    std::vector<const NamedLimit*> all;
    for (const Index each : route->limits) add(file_.limits[each], all);
    std::vector<const NamedLimit*> counted;
    const NamedLimit* refuses = nullptr;
    for (const NamedLimit* limit : all) {
      const bool applies = std::all_of(limit->by.begin(), limit->by.end(),
                                       [&](const By& by) { return request.contains(by.attribute); });
      if (!applies) {
        if (limit->required) return "error";
        continue;
      }
      if (!limit->deny.empty() && holds(limit->deny, request)) {
        if (now_ >= limit->shadow_until && refuses == nullptr) refuses = limit;
        continue;
      }
      if (!limit->allow.empty() && holds(limit->allow, request)) continue;
      if (limit->windows.empty()) continue;
      if (!cost_of(*limit, request, cost)) return "error";
      counted.push_back(limit);
    }
    if (refuses != nullptr) return "refused by " + refuses->name;
    std::ostringstream text;
    for (const NamedLimit* limit : counted) {
      const std::uint64_t units = *cost_of(*limit, request, cost);
      std::string guarantee;
      for (const NamedLimit* child : counted) {
        if (child->within == kNone || &file_.limits[child->within] != limit || !guarantee.empty()) continue;
        const Guarantee* promised = child->guarantee.place.line > 0 ? &child->guarantee : nullptr;
        for (const Override& each : child->overrides) {
          if (applies(each, request) && each.guarantee.place.line > 0) promised = &each.guarantee;
        }
        if (promised != nullptr) {
          guarantee = child->name + " guarantee " + core::to_text(promised->rule) + " " +
                      key_of(*child, request) + " x" + std::to_string(units) + " shadow\n";
        }
      }
      const std::uint64_t kept = kept_of(*limit, request, class_of);
      for (Index w = 0; w < limit->windows.size(); ++w) {
        core::Rule rule = limit->windows[w].rule;
        bool lifted = false;
        for (const Override& each : limit->overrides) {
          if (!applies(each, request)) continue;
          for (const WindowChange& change : each.windows) {
            if (change.window != w) continue;
            lifted = change.lifted;
            if (!lifted) rule = change.rule;
          }
        }
        if (lifted) continue;
        text << guarantee;
        const bool inside = !guarantee.empty() || inside_;
        inside_ = inside;
        guarantee.clear();
        const auto full = static_cast<__uint128_t>(rule.quota.burst()) *
                          static_cast<__uint128_t>(rule.quota.emission_interval().count());
        const auto part = static_cast<std::uint64_t>((full * kept + 999'999) / 1'000'000);
        text << limit->name << " " << core::to_text(rule) << " " << key_of(*limit, request) << " x" << units
             << (now_ < limit->shadow_until ? " shadow" : "") << (inside ? " inside" : "");
        if (part > 0) text << " kept " << part;
        text << "\n";
      }
      inside_ = false;
    }
    return text.str().empty() ? "free" : text.str();
  }

 private:
  std::size_t class_for(const std::string& name, const Route* route) const {
    const std::size_t cap = route != nullptr && route->least_class != kNone ? route->least_class
                            : file_.ceiling != kNone                        ? file_.ceiling
                                                                            : 0;
    std::size_t mine =
        route != nullptr && route->least_class != kNone ? route->least_class : file_.default_class;
    for (std::size_t i = 0; i < file_.classes.size(); ++i) {
      if (file_.classes[i] == name) mine = i;
    }
    return std::max(mine, cap);
  }

  void add(const NamedLimit& limit, std::vector<const NamedLimit*>& all) const {
    if (limit.within != kNone) add(file_.limits[limit.within], all);
    if (std::find(all.begin(), all.end(), &limit) == all.end()) all.push_back(&limit);
  }

  bool applies(const Override& each, const Request& request) const {
    return now_ < each.until && holds(each.when, request);
  }

  bool holds(const When& when, const Request& request) const {
    for (const Condition& each : when) {
      const auto value = request.find(each.attribute);
      if (value == request.end()) return false;
      std::vector<const ListEntry*> entries;
      for (const ListEntry& entry : each.entries) entries.push_back(&entry);
      for (const Index list : each.lists) {
        for (const ListEntry& entry : file_.lists[list].entries) entries.push_back(&entry);
      }
      if (std::none_of(entries.begin(), entries.end(),
                       [&](const ListEntry* entry) { return is(*entry, value->second); }))
        return false;
    }
    return true;
  }

  static bool is(const ListEntry& entry, std::string_view value) {
    if (entry.kind == ListEntry::Kind::text) return entry.text == value;
    if (entry.kind == ListEntry::Kind::pattern) return like(entry.text, value);
    const auto bits = [](const core::Address& address) {
      std::string text;
      for (std::size_t i = 0; i < (address.v4 ? 4U : 16U); ++i) {
        for (int bit = 7; bit >= 0; --bit) text += (address.bytes[i] >> bit & 1) != 0 ? '1' : '0';
      }
      return text;
    };
    const auto address = core::parse_address(value);
    return address && address->v4 == entry.network.first.v4 &&
           bits(*address).substr(0, entry.network.bits) ==
               bits(entry.network.first).substr(0, entry.network.bits);
  }

  static bool like(std::string_view pattern, std::string_view text) {
    if (pattern.empty()) return text.empty();
    if (pattern[0] != '*')
      return !text.empty() && text[0] == pattern[0] && like(pattern.substr(1), text.substr(1));
    for (std::size_t i = 0; i <= text.size(); ++i) {
      if (like(pattern.substr(1), text.substr(i))) return true;
    }
    return false;
  }

  std::optional<std::uint64_t> cost_of(const NamedLimit& limit, const Request& request,
                                       std::uint64_t cost) const {
    const CostRule* rule = &limit.cost;
    for (const Override& each : limit.overrides) {
      if (applies(each, request) && each.cost.place.line > 0) rule = &each.cost;
    }
    if (!rule->from.empty()) {
      const auto said = request.find(rule->from);
      if (said == request.end() || said->second.empty() ||
          said->second.find_first_not_of("0123456789") != std::string::npos || said->second.size() > 9)
        return std::nullopt;
      return cost * std::stoull(said->second);
    }
    for (const CostCase& each : rule->cases) {
      if (holds(each.when, request)) return cost * each.cost;
    }
    return cost;
  }

  std::uint64_t kept_of(const NamedLimit& limit, const Request& request, std::size_t class_of) const {
    const Leave* leave = &limit.leave;
    const Reserve* reserve = &limit.reserve;
    for (const Override& each : limit.overrides) {
      if (!applies(each, request)) continue;
      if (each.leave.place.line > 0) leave = &each.leave;
      if (each.reserve.place.line > 0) reserve = &each.reserve;
    }
    std::uint64_t kept = reserve->share.millionths;
    if (class_of < leave->shares.size()) kept += leave->shares[class_of].millionths;
    return kept;
  }

  static std::string key_of(const NamedLimit& limit, const Request& request) {
    std::string key;
    for (const By& by : limit.by) {
      std::string value = request.at(by.attribute);
      std::string network;
      core::append_address(value, by.group, network);
      key += "<" + (core::is_address(value) ? network : value) + ">";
    }
    return key;
  }

  const File& file_;
  Time now_;
  mutable bool inside_ = false;
};

class Made {
 public:
  explicit Made(core::Chance& chance) : chance_(chance) {}

  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(chance_.up_to(static_cast<std::int64_t>(bound) - 1));
  }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class Of>
  auto pick(const Of& of) {
    return of[below(of.size())];
  }

  std::string value() {
    static const std::vector<std::string> known = {
        "a",        "b",        "ab",          "/v1/x",           "/v1/", "/v2/x/y",
        "10.0.0.1", "10.0.1.9", "2001:db8::1", "::ffff:10.0.0.1", "5",    "0"};
    return pick(known);
  }
  std::string text_of_when(int least) {
    std::string text = "{ ";
    std::set<std::string> used;
    for (std::size_t n = below(3) + static_cast<std::size_t>(least); n > 0; --n) {
      const std::string name = pick(names_);
      if (!used.insert(name).second) continue;
      if (used.size() > 1) text += ", ";
      static const std::vector<std::string> said = {
          "a",           "b",       "\"/v1/*\"",          "\"/v1*\"",          "\"*x\"",
          "10.0.0.0/24", "\"@l\"",  "[a, ab, \"/v2/*\"]", "[\"5\", 10.0.0.1]", "2001:db8::/32",
          "\"*\"",       "\"/v*y\""};
      text += name + ": " + pick(said);
    }
    return used.empty() ? "{ q: a }" : text + " }";
  }
  std::string rate(std::string_view period) {
    return std::to_string(1 + below(50)) + "/" + std::string(period) + " burst " +
           std::to_string(20 + below(80));
  }

  std::string file() {
    std::string text = "version: 1\nclasses: [critical, default, bulk]\n";
    if (one_in(2)) text += "ceiling: default\n";
    text += "lists:\n  l: [a, \"/v2/*\", 10.0.1.0/24]\nlimits:\n";
    const std::size_t count = 1 + below(6);
    std::vector<std::set<std::string>> by(count);
    for (std::size_t i = 0; i < count; ++i) {
      text += "  l" + std::to_string(i) + ":\n";
      std::optional<std::size_t> within;
      if (i > 0 && one_in(2)) {
        within = below(i);
        by[i] = by[*within];
      }
      while (one_in(2)) by[i].insert(pick(names_));
      if (!by[i].empty()) {
        text += "    by: [";
        bool first = true;
        for (const std::string& each : by[i]) {
          text += (first ? "" : ", ") + each;
          first = false;
        }
        text += "]\n";
      }
      if (within) text += "    within: l" + std::to_string(*within) + "\n";
      const bool two = one_in(3);
      text += "    rate: [" + rate("s") + (two ? ", " + rate("h") : "") + "]\n";
      if (one_in(3))
        text += "    leave: { default: 10%, bulk: " + std::to_string(10 + below(30)) + ".37% }\n";
      if (one_in(4)) text += "    reserve: 20%\n";
      if (one_in(5)) text += "    deny: " + text_of_when(1) + "\n";
      if (one_in(5)) text += "    allow: " + text_of_when(1) + "\n";
      if (one_in(8)) text += "    required: true\n";
      if (one_in(5)) text += "    shadow: until 2027-01-15\n";
      if (one_in(4))
        text += "    cost: [ { when: " + text_of_when(1) + ", cost: 3 }, { cost: 2 } ]\n";
      else if (one_in(8))
        text += "    cost: { from: n }\n";
      if (one_in(2)) {
        text += "    overrides:\n";
        for (std::size_t n = 1 + below(12); n > 0; --n) {
          text += "      - { when: " + text_of_when(1);
          if (one_in(3)) text += one_in(2) ? ", until: 2026-12-01" : ", until: 2026-11-01";
          const std::size_t names = 1 + below(7);
          if ((names & 1) != 0) text += ", rate: " + (one_in(4) ? std::string("unlimited/s") : rate("s"));
          if ((names & 2) != 0) text += ", leave: { default: " + std::to_string(below(20)) + "%, bulk: 30% }";
          if ((names & 4) != 0) text += ", cost: 7";
          text += " }\n";
        }
        if (within && one_in(2))
          text += "      - { when: { " + pick(names_) + ": [a, b] }, guarantee: 1/d burst 1 }\n";
      }
    }
    text += "routes:\n";
    for (std::size_t n = below(12); n > 0; --n) {
      text += "  - { when: " + text_of_when(1);
      if (one_in(4)) text += ", class: bulk";
      text += ", limits: [" + some(count) + "] }\n";
    }
    return text + "  - { limits: [" + some(count) + "] }\n";
  }

  Request request() {
    Request made;
    for (const std::string& each : names_) {
      if (!one_in(3)) made[each] = value();
    }
    if (one_in(2)) made["n"] = std::to_string(below(5));
    return made;
  }

 private:
  std::string some(std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      if (one_in(2)) text += (text.empty() ? "l" : ", l") + std::to_string(count - 1 - i);
    }
    return text;
  }

  core::Chance& chance_;
  const std::vector<std::string> names_ = {"p", "q", "ip", "user"};
};

// The compiled matcher's answer in the same words.
std::string met(const Set& set, const Matched& matched, const Request& request) {
  if (matched.outcome == Matched::Outcome::refused)
    return "refused by " + set.file().limits[matched.refused_by].name;
  std::ostringstream text;
  for (std::size_t i = 0; i < matched.count; ++i) {
    const store::Check& check = matched.checks[i];
    const NamedLimit& limit = set.file().limits[matched.limit_of[i]];
    core::Rule rule = check.limit->rule;
    const auto kept = rule.kept.count();
    rule.kept = {};
    std::string key;
    for (const By& by : limit.by) {
      std::string network;
      core::append_address(request.at(by.attribute), by.group, network);
      key += "<" + network + ">";
    }
    text << limit.name
         << (check.limit->name.find("guarantee") != std::string_view::npos ? " guarantee " : " ")
         << core::to_text(rule) << " " << key << " x" << check.cost.units << (check.shadow ? " shadow" : "")
         << (check.inside != store::Check::kNoGuarantee ? " inside" : "");
    if (kept > 0) text << " kept " << kept;
    text << "\n";
  }
  return text.str().empty() ? "free" : text.str();
}

TEST(SlowMatch, says_the_same_of_any_file_and_request) {
  core::Chance chance;
  Made made(chance);
  int used = 0;
  std::map<std::string, int> kinds;
  const int rounds = core::Chance::is_long() ? 3000 : 600;
  for (int round = 0; round < rounds; ++round) {
    const std::string text = made.file();
    ReadOptions options;
    options.now = std::chrono::sys_days{std::chrono::year{2026} / 11 / 21};
    const ReadResult reading = read(text, options);
    if (!reading.file) continue;  // chance makes errors too
    ++used;
    const auto set = Set::make(reading.file, {});
    ASSERT_TRUE(set) << text;
    const Slow slow(*reading.file, options.now);
    MatchMemory memory;
    Matched matched;
    for (int i = 0; i < 20; ++i) {
      const Request request = made.request();
      std::vector<Attribute> attributes;
      for (const auto& [name, value] : request) attributes.push_back({name, value});
      const std::uint64_t cost = made.below(4);
      const std::string class_name = made.pick(std::vector<std::string>{"", "critical", "default", "bulk"});
      const bool matches = match(**set, {attributes, cost, class_name}, options.now, memory, matched);
      if (!matches && matched.error.find("more than 16") != std::string::npos) continue;
      const std::string expected = slow.meets(request, cost, class_name);
      ++kinds[expected.substr(0, expected.find(' ') == 5 ? 4 : expected.find(' '))];
      std::string shown;
      for (const auto& [name, value] : request) shown += name + "=" + value + " ";
      ASSERT_EQ(matches ? met(**set, matched, request) : "error", expected)
          << text << shown << "COST " << cost << " CLASS " << class_name << " " << matched.error;
    }
  }
  EXPECT_GT(used, rounds / 10) << "chance makes enough files that are right";
  for (const char* kind : {"error", "free", "refused", "l0"}) EXPECT_GT(kinds[kind], rounds / 150) << kind;
}

}  // namespace
}  // namespace weir::limits
