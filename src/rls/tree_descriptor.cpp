#include "rls/tree_descriptor.hpp"

#include <algorithm>
#include <limits>

#include "rls/form.hpp"

namespace weir::inline v0_1::rls {
namespace {

using limits::DescriptorMatch;
using service::Question;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using store::Verb;
using Outcome = limits::DescriptorMeets::Outcome;

bool counts(const DescriptorMatch& match) {
  return match.outcome == Outcome::limited || match.outcome == Outcome::zero;
}

// Those whose names another one replaces meet nothing.
void drop_replaced(RlsLoop& loop, std::size_t count) {
  auto& matches = loop.matches;
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::string& name : matches[i].replaces) {
      for (std::size_t j = 0; j < count; ++j) {
        if (counts(matches[j]) && !matches[j].limit_name.empty() && matches[j].limit_name == name)
          matches[j].outcome = Outcome::none;
      }
    }
  }
}

bool is_refund(RlsLoop& loop, const AskedDescriptor& descriptor) {
  return descriptor.gives_back && loop.request.hits(descriptor) != 0 &&
         loop.asker.service().options().allow_refunds;
}

// Whether it is charged only where it is over, once another descriptor is. What is given back is given back.
bool leaves_others_free(RlsLoop& loop, std::size_t i) {
  return counts(loop.matches[i]) && !is_refund(loop, loop.request.descriptors()[i]);
}

// The key and what is the match's own are the next message's when this one waits to be asked.
void keep(Question& question, const DescriptorMatch& match) {
  store::Check& check = question.room(1)[0];
  Question::More& more = question.more_of();
  more.keys = match.key;
  if (match.is_override) more.keys += match.limit->name;
  check.key = std::string_view(more.keys).substr(0, match.key.size());
  check.limit = match.limit;
  if (!match.is_override) return;
  std::vector<store::Limit>& limits = more.whole_of().limits;
  limits.assign(1, *match.limit);
  limits[0].name = std::string_view(more.keys).substr(match.key.size());
  check.limit = limits.data();
}

struct Hits {
  std::uint64_t units = 1;
  bool own = false;
  bool given_back = false;
};

Hits hits_of(RlsLoop& loop, const AskedDescriptor& descriptor) {
  if (loop.asks == Asks::whether) return {0, false, false};
  if (denies_nobody(loop.asks))
    return {std::clamp(loop.units(descriptor), std::uint64_t{1}, limits::kMostUnits), true, false};
  Hits hits{std::min(loop.request.hits(descriptor), limits::kMostUnits), descriptor.hits.has_value(), false};
  hits.given_back = is_refund(loop, descriptor);
  if (descriptor.gives_back && hits.units != 0 && !hits.given_back) {
    RlsCounts::count(loop.counts.ignored_refunds);
    hits = {0, true, false};
  }
  return hits;
}

// Whether a denial that a store remembers is the answer: no report, and nothing that is given back later. By
// gcra a descriptor's own hits are charged whatever is left; a window denies them as any others.
bool may_recall(RlsLoop& loop, const core::Rule& rule, const Hits& hits) {
  if (loop.asks != Asks::may_pass || loop.asker.service().options().allow_refunds) return false;
  return !hits.own || (hits.units != 0 && !core::can_give_back(rule.algorithm));
}

// A fixed window counts what it denies; gcra what is reported alone.
void ask(RlsLoop& loop, service::Asking& asking, const DescriptorMatch& match, const Hits& hits,
         nanoseconds patience) {
  const bool gcra = core::can_give_back(match.limit->rule.algorithm);
  const Outside outside{hits.given_back ? Outside::Form::refund : Outside::Form::cost, hits.units,
                        loop.asker.service().options().max_overdraft};
  Question& question = asking.add_charge(outside, denies_nobody(loop.asks), byte_of(Form::by_tree));
  if (gcra && !hits.own) question.verb = Verb::check;
  question.charge->recalls = may_recall(loop, match.limit->rule, hits);
  keep(question, match);
  question.checks[0].cost = Cost{hits.units};
  if (loop.asks == Asks::whether) {
    question.verb = Verb::look;
    // A limit of 0 counts as one of 1: of two units not even the first fits.
    question.checks[0].cost = Cost{match.outcome == Outcome::zero ? 2U : 1U};
  }
  question.patience = patience;
}

// One question for all descriptors that leave each other free, where there are two or more; it comes first.
Question* begin_joint(RlsLoop& loop, service::Asking& asking, nanoseconds patience, Wrong& wrong) {
  if (!loop.options.others_free || loop.asks != Asks::may_pass) return nullptr;
  std::size_t count = 0;
  for (std::size_t i = 0; i < loop.request.descriptors().size(); ++i)
    count += leaves_others_free(loop, i) ? 1 : 0;
  if (count > store::kMostChecks) wrong = Wrong::limits;
  if (count < 2 || wrong != Wrong::nothing) return nullptr;
  const nanoseconds overdraft = loop.asker.service().options().max_overdraft;
  Question& joint = asking.add_charge({Outside::Form::cost, 1, overdraft}, false, byte_of(Form::jointly));
  joint.charge->others_free.emplace();
  joint.charge->recalls = true;  // unless a part may not
  joint.more->whole_of().parts.clear();
  joint.room(count);
  joint.patience = patience;
  return &joint;
}

void add_part(RlsLoop& loop, service::Asking& asking, Question& joint, const DescriptorMatch& match,
              const Hits& hits) {
  joint.charge->recalls = joint.charge->recalls && may_recall(loop, match.limit->rule, hits);
  const std::size_t i = joint.more->whole_of().parts.size();
  Question& part = asking.add_part(joint, byte_of(Form::by_tree));
  keep(part, match);
  part.checks[0].cost = Cost{hits.units};
  store::Check& check = joint.checks[i];
  check.limit = part.checks[0].limit;
  check.key = part.checks[0].key;
  check.cost = part.checks[0].cost;
  const auto bit = static_cast<std::uint16_t>(1U << i);
  store::OthersFree how = joint.charge->others_free.value_or(store::OthersFree{});
  if (core::can_give_back(match.limit->rule.algorithm) && !hits.own) how.if_it_fits |= bit;
  // A limit of 0 counts as one of 1.
  if (match.outcome == Outcome::zero) how.leaves_one |= bit;
  joint.charge->others_free = how;
}

TreeLimit told_of(const DescriptorMatch& match, std::uint64_t hits) {
  return {.requests_per_unit = match.requests_per_unit,
          .unit = match.unit,
          .name = match.limit_name,
          .unit_text = std::string(match.is_override ? match.unit_text : std::string_view()),
          .series = match.series,
          .metadata = match.metadata,
          .hits = hits,
          .shadow = match.shadow_mode,
          .quota = match.quota_mode};
}

}  // namespace

Wrong ask_by_tree(RlsLoop& loop, service::Asking& asking, const limits::Descriptors& trees,
                  const limits::Descriptors::Tree& domain, nanoseconds patience,
                  std::vector<TreeLimit>& told) {
  const RateLimitRequest& request = loop.request;
  const auto descriptors = request.descriptors();
  while (loop.matches.size() < descriptors.size()) loop.matches.emplace_back();
  bool some_replace = false;
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    const auto& limit = descriptors[i].limit;
    trees.match(domain, request.entries(descriptors[i]), limit ? &*limit : nullptr, loop.matches[i]);
    if (loop.matches[i].outcome == Outcome::bad_override) return Wrong::unit;
    some_replace = some_replace || !loop.matches[i].replaces.empty();
  }
  if (some_replace) drop_replaced(loop, descriptors.size());
  Wrong wrong = Wrong::nothing;
  Question* const joint = begin_joint(loop, asking, patience, wrong);
  if (wrong != Wrong::nothing) return wrong;
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    const DescriptorMatch& match = loop.matches[i];
    if (!counts(match)) {
      asking.add_answered(byte_of(match.outcome == Outcome::unlimited ? Form::unlimited : Form::free) |
                          kLast);
      continue;
    }
    const Hits hits = hits_of(loop, descriptors[i]);
    if (joint != nullptr && !hits.given_back)
      add_part(loop, asking, *joint, match, hits);
    else
      ask(loop, asking, match, hits, patience);
    loop.asker[loop.asker.size() - 1].form |= kLast;
    told.push_back(told_of(match, hits.given_back ? 0 : hits.units));
  }
  return Wrong::nothing;
}

StatusOf tree_status_of(const Question& question, const TreeLimit& limit, nanoseconds now) {
  if (question.verb == Verb::charge) decide_charge(question);
  const store::Check& check = question.checks[0];
  const Decision& decision = check.decision;
  StatusOf made;
  Status& status = made.status;
  // A limit of 0 counts as one of 1, so that what was used shows.
  status.over = !decision.allowed() || (limit.requests_per_unit == 0 && decision.remaining == 0);
  status.limit = {limit.requests_per_unit, limit.unit,
                  limit.unit_text.empty() ? limit.name : limit.unit_text};
  nanoseconds until = status.over ? until_more(check.limit->rule, decision) : decision.reset_after;
  // A window that nobody has used ends, too.
  if (until.count() == 0 && !core::has_burst(check.limit->rule.algorithm))
    until = core::decide(check.limit->rule, {}, now, Cost{1}, now).decision().reset_after;
  status.until_reset = std::chrono::ceil<seconds>(until);
  made.helps = status.over && decision.verdict != Verdict::never && limit.requests_per_unit != 0;
  if (status.over) {
    status.until_reset = std::max(*status.until_reset, seconds{1});
  } else if (limit.requests_per_unit != 0) {
    constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
    status.remaining = static_cast<std::uint32_t>(std::clamp<std::int64_t>(decision.remaining, 0, kMost));
  }
  made.would_deny = limit.shadow && status.over;
  if (limit.shadow) status.over = made.helps = false;
  return made;
}

// As envoyproxy/ratelimit has it, in floats.
std::uint64_t near_hits(const TreeLimit& limit, const Status& status, float share) {
  const auto from = static_cast<std::uint64_t>(static_cast<float>(limit.requests_per_unit) * share);
  const std::uint64_t used = limit.requests_per_unit - std::min(limit.requests_per_unit, status.remaining);
  return used > from ? std::min(limit.hits, used - from) : 0;
}

}  // namespace weir::rls
