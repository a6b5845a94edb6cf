#include "rls/file_descriptor.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "core/overdraft.hpp"
#include "limits/attribute.hpp"
#include "limits/one_limit.hpp"
#include "limits/scalars.hpp"
#include "rls/form.hpp"
#include "store/charging.hpp"

namespace weir::inline v0_1::rls {
namespace {

using service::Question;
using std::chrono::nanoseconds;
using store::Verb;

struct Asked {
  RlsLoop& loop;
  service::Asking& asking;
  nanoseconds patience;
  bool reports = false;  // it says its own hits, none too
  bool looks = false;

  const limits::NamedLimit& limit_of(const limits::Matched& matched, std::size_t i) const {
    return *loop.asker.limits()->limits()[matched.limit_of[i]].said;
  }
  Outside outside() const { return {Outside::Form::cost, 0, loop.asker.service().options().max_overdraft}; }
};

// Its entries as attributes; null: a key comes twice.
std::optional<std::size_t> read_attributes(RlsLoop& loop, const AskedDescriptor& descriptor,
                                           const limits::RlsDomain& domain) {
  const std::span<const limits::DescriptorEntry> entries = loop.request.entries(descriptor);
  const limits::Set& set = *loop.asker.limits();
  auto& attributes = loop.asker.attributes();
  std::size_t count = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto same = [&](const limits::DescriptorEntry& other) { return other.key == entries[i].key; };
    if (std::any_of(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(i), same))
      return std::nullopt;
    const std::string_view name = domain.attribute_of(entries[i].key);
    const bool known = set.takes_any_attribute() ? !name.empty() && limits::wrong_attribute(name).empty()
                                                 : set.knows_attribute(name);
    if (known) attributes[count++] = {name, entries[i].value};
  }
  return count;
}

// Whether a limit with `charge: after` is charged whatever there is room for. A fixed window counts what it
// denies; gcra what is reported alone.
bool is_charged(const Asked& asked, const limits::Matched& matched, std::size_t i) {
  return asked.limit_of(matched, i).charged_after &&
         (asked.reports || !core::can_give_back(matched.checks[i].limit->rule.algorithm));
}

void charge(const Asked& asked, Question& question) {
  question.by_file = true;
  question.patience = asked.patience;
  question.checks = question.more->matched.all();
  store::Check& check = question.checks[0];
  if (asked.looks) check.cost = Cost{0};
  if (check.shadow) question.form |= kShadow;
  check.shadow = false;  // a store tells nothing of a shadow's charge
}

// Each of those limits alone: what one of them makes of it is nothing to the others.
void charge_apart(const Asked& asked, Question& question) {
  limits::Matched& matched = question.more->matched;
  for (std::size_t i = 0; i < matched.count;) {
    if (!is_charged(asked, matched, i)) {
      ++i;
      continue;
    }
    Question& alone = asked.asking.add_charge(asked.outside(), false, byte_of(Form::by_file));
    // What is denied so is not counted; nobody must be given it back.
    alone.charge->recalls = !asked.reports && !asked.looks && !asked.limit_of(matched, i).refunds &&
                            !asked.loop.asker.service().options().allow_refunds;
    limits::move_one(matched, i, alone.more->matched);
    charge(asked, alone);
  }
  question.checks = matched.all();
  if (matched.count == 0 && question.state != store::Request::State::answered)
    asked.asking.need_no_store(question);
}

// Null: nothing that it meets can take it back, so it looks.
Question* give_back(const Asked& asked, service::Ask ask) {
  ask.verb = Verb::charge;
  ask.form = Outside::Form::refund;
  Question* const question = asked.asking.add(ask, byte_of(Form::by_file), false);
  if (question == nullptr) return nullptr;
  question->patience = asked.patience;
  if (!store::cannot_charge(question->checks, question->charge->outside)) return question;
  asked.loop.asker.drop_last();
  return nullptr;
}

// Kuadrant's: nothing is charged, or all that it meets is. Null: as Asker::refusal() says.
Question* ask_kuadrants(const Asked& asked, service::Ask ask) {
  const bool reports = denies_nobody(asked.loop.asks);
  const Form form = reports ? Form::by_file : Form::whether;
  ask.verb = reports ? Verb::charge : Verb::look;
  Question* question = asked.asking.add(ask, byte_of(form), false);
  const bool cannot = question != nullptr && reports &&
                      store::cannot_charge(question->checks, question->charge->outside).has_value();
  if (cannot) {  // charged where there is room
    asked.loop.asker.drop_last();
    ask.verb = Verb::check;
    question = asked.asking.add(ask, byte_of(form), false);
  }
  if (question != nullptr) question->patience = asked.patience;
  return question;
}

// Why it is not asked, or what is told without asking.
Wrong answer_refused(const Asked& asked) {
  if (asked.loop.asker.refusal().what != service::Refusal::What::required) return Wrong::attribute;
  asked.asking.add_answered(byte_of(Form::refused));
  return Wrong::nothing;
}

}  // namespace

Wrong ask_by_file(RlsLoop& loop, service::Asking& asking, const AskedDescriptor& descriptor,
                  const limits::RlsDomain& domain, nanoseconds patience) {
  if (descriptor.limit) RlsCounts::count(loop.counts.ignored_overrides);
  const auto count = read_attributes(loop, descriptor, domain);
  if (!count) return Wrong::key_twice;
  if (*count == 0) {
    asking.add_answered(byte_of(Form::free));
    return Wrong::nothing;
  }
  const std::uint64_t said = std::min(loop.units(descriptor), limits::kMostUnits);
  const std::uint64_t hits = loop.asks == Asks::whether ? 1 : said;
  Asked asked{loop, asking, patience, descriptor.hits.has_value(), hits == 0};
  const limits::Description description{.attributes = std::span(loop.asker.attributes()).first(*count),
                                        .cost = std::max<std::uint64_t>(hits, 1)};
  service::Ask ask{.verb = Verb::check, .as = &description};
  if (loop.asks != Asks::may_pass)
    return ask_kuadrants(asked, ask) != nullptr ? Wrong::nothing : answer_refused(asked);
  if (descriptor.gives_back && !asked.looks) {
    if (give_back(asked, ask) != nullptr) return Wrong::nothing;
    RlsCounts::count(loop.counts.ignored_refunds);
    asked.looks = asked.reports = true;
  }
  if (asked.looks) ask.verb = Verb::look;
  Question* const question = asking.add(ask, byte_of(Form::by_file), false);
  if (question == nullptr) return answer_refused(asked);
  question->patience = patience;
  charge_apart(asked, *question);
  return Wrong::nothing;
}

Wrong match_by_file(RlsLoop& loop, service::Asking& asking, const AskedDescriptor& descriptor,
                    const limits::RlsDomain& domain, bool& denied) {
  const auto count = read_attributes(loop, descriptor, domain);
  if (!count) return Wrong::key_twice;
  if (*count == 0) return Wrong::nothing;
  const limits::Description description{.attributes = std::span(loop.asker.attributes()).first(*count)};
  const Question* const question =
      asking.add({.verb = Verb::check, .as = &description}, byte_of(Form::by_file), false);
  if (question == nullptr && loop.asker.refusal().what != service::Refusal::What::required)
    return Wrong::attribute;
  using Outcome = limits::Matched::Outcome;
  denied = denied || question == nullptr || question->more->matched.outcome == Outcome::refused;
  return Wrong::nothing;
}

}  // namespace weir::rls
