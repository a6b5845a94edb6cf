#include "limits/set.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/duration.hpp"
#include "limits/findings.hpp"
#include "limits/identity.hpp"
#include "limits/read.hpp"

namespace weir::inline v0_1::limits {
namespace {

// "id|1s|gcra|tenant,user": all that says which state is meant, but for the values.
std::string identity(const NamedLimit& said, std::string_view state) {
  std::string text = said.id + "|" + std::string(state) + "|";
  for (std::size_t i = 0; i < said.by.size(); ++i) text += (i > 0 ? "," : "") + said.by[i].attribute;
  return text;
}

std::string state_of(const core::Rule& rule) {
  if (core::counts_slots(rule.algorithm)) return core::name_of(rule.algorithm);
  return core::period_name(rule) + "|" + core::name_of(rule.algorithm);
}

constexpr std::string_view kGuaranteeState = "guarantee|gcra";

// What a request costs may depend on the request.
bool cost_varies(const NamedLimit& said) {
  const auto varies = [](const CostRule& cost) {
    return !cost.from.empty() || cost.cases.size() > 1 ||
           (cost.cases.size() == 1 && !cost.cases[0].when.empty());
  };
  return varies(said.cost) || std::any_of(said.overrides.begin(), said.overrides.end(),
                                          [&](const Override& each) { return varies(each.cost); });
}

// Of a limit that counts by `rule`: what depends on its burst.
void fit(store::Limit& limit, const NamedLimit& said, const core::Rule& rule) {
  if (!limit.holding.settles || said.reserve_place().line != 0 || core::counts_slots(rule.algorithm)) return;
  const auto burst = static_cast<std::uint64_t>(rule.quota.burst());
  limit.holding.at_most = static_cast<std::uint64_t>(static_cast<unsigned __int128>(burst) *
                                                     said.hold.at_most.millionths / Share::kWhole);
}

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1) + 1;
}

}  // namespace

Set::Set(std::shared_ptr<const File> file) : file_(std::move(file)), serial_(next_serial()) {}

tl::expected<std::shared_ptr<const Set>, std::vector<Finding>> Set::make(std::shared_ptr<const File> file,
                                                                         const SetOptions& setting) {
  std::shared_ptr<Set> set(new Set(std::move(file)));
  set->unsuitable_ = setting.unsuitable;
  set->compile(setting);
  if (!set->wrong_.empty()) return tl::unexpected(std::move(set->wrong_));
  return set;
}

void Set::refuse(std::string path, Position place, std::string text) {
  wrong_.push_back({.file = file_->name, .place = place, .path = std::move(path), .text = std::move(text)});
}

void Set::compile(const SetOptions& setting) {
  for (const List& each : file_->lists) lists_.emplace_back(each.entries);
  attributes_.assign(file_->attributes.begin(), file_->attributes.end());
  std::sort(attributes_.begin(), attributes_.end());
  if (!file_->hash_tag.empty()) names_.add(file_->hash_tag);
  limits_.reserve(file_->limits.size());
  for (const NamedLimit& each : file_->limits) compile(each, setting);
  for (const CompiledLimit& each : limits_) {
    const bool has =
        each.guarantee || std::any_of(each.overrides.begin(), each.overrides.end(),
                                      [](const Override& change) { return change.guarantee.has_value(); });
    if (has && each.said->within != kNone) limits_[each.said->within].guarantees = true;
  }
  std::vector<const When*> whens;
  for (const limits::Route& each : file_->routes) {
    routes_.push_back({&each, Conditions(each.when, names_, lists_)});
    whens.push_back(&each.when);
  }
  route_candidates_.fill(whens, names_, file_->lists);
  for (const limits::Gateway& each : file_->gateways) compile(each, setting);
  names_.seal();

  std::unordered_map<std::uint64_t, std::string_view> ids;
  for (const auto& [each, id] : identities_) {
    const auto [known, fresh] = ids.emplace(id, each);
    if (!fresh) {
      refuse("limits", {},
             "'" + std::string(known->second) + "' and '" + each +
                 "' have the same short form; give one of them another id");
    }
  }
}

store::Limit Set::count(const NamedLimit& said, const core::Rule& rule, std::string_view state,
                        Position place, const SetOptions& setting) {
  if (auto why = setting.unsuitable(rule)) refuse("limits." + said.name, place, *std::move(why));
  if (said.penalty.rest && setting.cannot_pause) {
    if (auto why = setting.cannot_pause(rule))
      refuse("limits." + said.name + ".penalty", said.penalty.place, *std::move(why));
  }
  const auto [known, fresh] = identities_.emplace(identity(said, state), 0);
  const std::string& name = known->first;
  if (fresh) known->second = short_form(name);
  store::Limit limit{.rule = rule.on_clock(setting.wall, setting.utc_clock),
                     .id = known->second,
                     .name = name,
                     .on_store_error = setting.on_store_error,
                     .sharing = setting.sharing};
  if (said.on_store_error.place.line > 0) {
    limit.on_store_error = said.on_store_error.what;
    if (limit.on_store_error == OnStoreError::local)
      limit.local_share = said.on_store_error.share.millionths / static_cast<double>(Share::kWhole);
  }
  if (said.when_full != limits::FileWhenFull::unsaid)
    limit.when_full =
        said.when_full == limits::FileWhenFull::allow ? weir::WhenFull::allow : weir::WhenFull::deny;
  if (state != kGuaranteeState && core::can_pause(rule.algorithm, said.penalty.rest.afresh))
    limit.penalty = said.penalty.rest;
  if (said.hold.estimate != 0) limit.holding.longest = said.hold.ttl;
  // A limit of the file says for itself whether it is leased.
  limit.sharing.lease = said.lease.units;
  limit.sharing.lease_for = said.lease.time;
  limit.holding.settles = said.hold.estimate != 0;
  limit.holding.by_actual = said.hold.says_estimate || cost_varies(said);
  fit(limit, said, rule);
  return limit;
}

store::Limit Set::with_rule(const CompiledLimit& limit, Index window, const core::Rule& rule) const {
  store::Limit other = limit.windows[window].limit;
  const core::Rule before = std::exchange(other.rule, rule);
  other.rule.phase = before.phase;
  other.rule.utc_clock = before.utc_clock;
  fit(other, *limit.said, rule);
  return other;
}

Set::Cost Set::compile(const CostRule& said) {
  Cost cost;
  if (!said.from.empty()) cost.from = names_.add(said.from);
  for (const CostCase& each : said.cases)
    cost.cases.emplace_back(Conditions(each.when, names_, lists_), each.cost);
  return cost;
}

void Set::compile(const NamedLimit& said, const SetOptions& setting) {
  if (said.max_wait > setting.max_wait)
    refuse("limits." + said.name + ".max_wait", said.max_wait_place,
           above_max_wait(said.max_wait, setting.max_wait));
  CompiledLimit limit;
  limit.said = &said;
  std::string shown_as = said.id;
  for (const By& each : said.by) {
    shown_as += ' ' + each.attribute;
    if (each.attribute == file_->hash_tag) limit.tag = static_cast<Index>(limit.by.size());
    limit.by.push_back({names_.add(each.attribute), each.group});
  }
  limit.shown_as = short_form(shown_as);
  for (Index i = 0; i < said.windows.size(); ++i) {
    const core::Rule& rule = said.windows[i].rule;
    limit.windows.push_back({count(said, rule, state_of(rule), said.windows[i].place, setting), i});
    if (said.track && !said.windows[i].is_slots())
      tracked_.emplace(limit.windows.back().limit.id, static_cast<Index>(limits_.size()));
  }
  limit.leave = said.leave.shares;
  limit.reserve = said.reserve.share;
  if (said.guarantee.place.line > 0)
    limit.guarantee = count(said, said.guarantee.rule, kGuaranteeState, said.guarantee.place, setting);
  limit.cost = compile(said.cost);
  limit.deny = Conditions(said.deny, names_, lists_);
  limit.allow = Conditions(said.allow, names_, lists_);
  has_dates_ = has_dates_ || (said.shadow_until != kLongAgo && said.shadow_until != kNever);

  std::vector<const When*> whens;
  for (const limits::Override& each : said.overrides) {
    Override change{Conditions(each.when, names_, lists_), each.until, {}, {}, {}, {}, {}, {}};
    whens.push_back(&each.when);
    has_dates_ = has_dates_ || each.until != kNever;
    for (const WindowChange& window : each.windows) {
      const core::Rule& rule = window.lifted ? said.windows[window.window].rule : window.rule;
      change.windows.push_back(
          {window.window, window.lifted, count(said, rule, state_of(rule), window.place, setting)});
    }
    if (each.leave.place.line > 0) change.leave = each.leave.shares;
    if (each.reserve.place.line > 0) change.reserve = each.reserve.share;
    if (each.guarantee.place.line > 0)
      change.guarantee = count(said, each.guarantee.rule, kGuaranteeState, each.guarantee.place, setting);
    if (each.cost.place.line > 0) change.cost = compile(each.cost);
    if (each.penalty.place.line > 0) change.penalty = each.penalty.rest;
    limit.overrides.push_back(std::move(change));
  }
  limit.candidates.fill(whens, names_, file_->lists);
  limit.plain = !limit.windows.empty() && said.hold.estimate == 0 && limit.deny.empty() &&
                limit.allow.empty() && limit.overrides.empty() && limit.cost.from == kNone &&
                limit.cost.cases.empty();
  limits_.push_back(std::move(limit));
}

void Set::compile(const limits::Gateway& said, const SetOptions& setting) {
  Gateway gateway{&said, {}};
  const std::string path = "gateways." + said.name;
  if (said.token_header.empty()) {
    if (setting.gate_exposed) {
      refuse(
          path + ".token", said.place,
          "missing; the gate can be reached from beyond this machine, so anyone could ask it: write token: "
          "{ header: NAME, env: VARIABLE }, or give --tls-ca or --insecure");
    }
  } else if (setting.environment) {
    const std::optional<std::string> token = setting.environment(said.token_env);
    if (!token || token->empty()) {
      refuse(path + ".token.env", said.place, "the environment variable '" + said.token_env + "' is not set");
    } else {
      gateway.token = *token;
    }
  }
  gateways_.push_back(gateway);
}

const Set::CompiledLimit* Set::find(std::string_view name) const {
  const auto found = std::find_if(limits_.begin(), limits_.end(),
                                  [name](const CompiledLimit& each) { return each.said->name == name; });
  return found == limits_.end() ? nullptr : &*found;
}

bool Set::knows_attribute(std::string_view name) const {
  return std::binary_search(attributes_.begin(), attributes_.end(), name);
}

std::string Set::unknown_attribute(std::string_view name) const {
  return "unknown attribute " + in_quotes(name) + meant(name, file_->attributes);
}

std::string Set::unknown(std::string_view name) const {
  std::vector<std::string> known;
  for (const CompiledLimit& each : limits_) known.push_back(each.said->name);
  return "unknown limit " + in_quotes(name) + meant(name, known);
}

const Set::Gateway* Set::gateway(std::string_view name) const {
  const auto found = std::find_if(gateways_.begin(), gateways_.end(),
                                  [name](const Gateway& each) { return each.said->name == name; });
  return found == gateways_.end() ? nullptr : &*found;
}

const RlsDomain* Set::rls(std::string_view domain) const {
  const auto found = std::find_if(file_->rls.begin(), file_->rls.end(),
                                  [domain](const RlsDomain& each) { return each.name == domain; });
  return found == file_->rls.end() ? nullptr : &*found;
}

std::vector<std::string> Set::begins_empty_after(const Set& before) const {
  std::vector<std::string> sentences;
  for (const CompiledLimit& now : limits_) {
    const auto then =
        std::find_if(before.limits_.begin(), before.limits_.end(),
                     [&now](const CompiledLimit& each) { return each.said->id == now.said->id; });
    if (then == before.limits_.end()) continue;
    for (const Window& window : now.windows) {
      const auto same = [&window](const Window& each) { return each.limit.id == window.limit.id; };
      if (std::none_of(then->windows.begin(), then->windows.end(), same)) {
        sentences.push_back("limits." + now.said->name + ": '" +
                            core::to_text(now.said->windows[window.number].rule) +
                            "' begins empty, as its period, its algorithm or `by` is new");
      }
    }
  }
  return sentences;
}

}  // namespace weir::limits
