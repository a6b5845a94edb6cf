#include "limits/conditions.hpp"

#include <string_view>

namespace weir::inline v0_1::limits {
namespace {

// Above that many a condition is not worth its place in an index.
constexpr std::size_t kMostEntries = 4096;

std::string_view beginning_of(const ListEntry& entry) {
  return std::string_view(entry.text).substr(0, entry.text.find('*'));
}

std::vector<const ListEntry*> entries_of(const Condition& said, std::span<const List> lists) {
  std::vector<const ListEntry*> all;
  for (const ListEntry& each : said.entries) all.push_back(&each);
  for (const Index list : said.lists) {
    for (const ListEntry& each : lists[list].entries) all.push_back(&each);
  }
  return all;
}

// How much of a value a condition tells at least: the shortest beginning. 0: nothing.
std::size_t tells(const Condition& said, std::span<const List> lists) {
  std::size_t size = said.entries.size();
  for (const Index list : said.lists) size += lists[list].entries.size();
  if (size > kMostEntries) return 0;
  std::size_t least = std::string_view::npos;
  for (const ListEntry* each : entries_of(said, lists)) {
    if (each->kind == ListEntry::Kind::network) return 0;
    // A whole text tells more than a pattern that begins with it.
    least = std::min(least, beginning_of(*each).size() * 2 + (each->kind == ListEntry::Kind::text ? 1 : 0));
  }
  return least;
}

// Whether a value meets the condition exactly when it begins with what an entry begins with.
bool is_told_by_beginnings(const Condition& said, std::span<const List> lists) {
  const std::vector<const ListEntry*> entries = entries_of(said, lists);
  return std::all_of(entries.begin(), entries.end(), [](const ListEntry* each) {
    return each->kind == ListEntry::Kind::text ||
           (each->kind == ListEntry::Kind::pattern && beginning_of(*each).size() + 1 == each->text.size());
  });
}

}  // namespace

Conditions::Conditions(const When& said, AttributeNames& names, std::span<const ValueSet> lists) {
  for (const Condition& each : said) {
    One one{names.add(each.attribute), ValueSet(each.entries), {}};
    for (const Index list : each.lists) one.lists.push_back(&lists[list]);
    all_.push_back(std::move(one));
  }
}

void Candidates::fill(std::span<const When* const> whens, AttributeNames& names,
                      std::span<const List> lists) {
  for (Index i = 0; i < whens.size(); ++i) {
    const Condition* best = nullptr;
    std::size_t most = 0;
    for (const Condition& each : *whens[i]) {
      if (const std::size_t told = tells(each, lists); told > most) {
        best = &each;
        most = told;
      }
    }
    certain_.push_back(whens[i]->empty() ||
                       (whens[i]->size() == 1 && best != nullptr && is_told_by_beginnings(*best, lists)));
    if (best == nullptr) {
      always_.push_back(i);
      continue;
    }
    const Index attribute = names.add(best->attribute);
    auto selector = std::find_if(selectors_.begin(), selectors_.end(),
                                 [attribute](const Selector& each) { return each.attribute == attribute; });
    if (selector == selectors_.end()) selector = selectors_.insert(selector, Selector{attribute, {}});
    for (const ListEntry* each : entries_of(*best, lists))
      selector->beginnings.add(beginning_of(*each), each->kind == ListEntry::Kind::text, i);
  }
  for (Selector& each : selectors_) each.beginnings.seal();
}

}  // namespace weir::limits
