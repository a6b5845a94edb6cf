#include "logs/member_tree.hpp"

#include <algorithm>

#include "logs/splitter.hpp"

namespace weir::inline v0_1::logs {
namespace {

// Each dot may separate two members or be part of a name, so the ways double with each. Of a name with more,
// all of them separate, or none does.
constexpr std::ptrdiff_t kMostDots = 8;

}  // namespace

void MemberTree::add(std::string_view name, Target target) {
  add(name, target, std::count(name.begin(), name.end(), '.') <= kMostDots);
}

void MemberTree::add(std::string_view name, Target target, bool all_ways) {
  make_member(name).targets_.push_back(target);
  // a[0], a[0][-1]: the elements from the outermost one, each of which may be of an array or of a list.
  std::vector<int> indexes;
  std::string_view whole = name;
  for (auto [list, element] = element_name(whole); element; std::tie(list, element) = element_name(whole)) {
    indexes.insert(indexes.begin(), *element);
    whole = list;
  }
  if (!indexes.empty()) {
    MemberTree* at = &make_member(whole);
    for (const int index : indexes) at = &at->make_element(index);
    at->targets_.push_back(target);
  }
  for (std::size_t dot = name.find('.'); dot != kNone; dot = all_ways ? name.find('.', dot + 1) : kNone) {
    const std::string_view rest = name.substr(dot + 1);
    const auto [list, element] = element_name(name.substr(0, dot));
    if (element) make_member(list).make_element(*element).add(rest, target, all_ways);
    if (all_ways || !element) make_member(name.substr(0, dot)).add(rest, target, all_ways);
  }
}

MemberTree& MemberTree::make_member(std::string_view name) {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [name](const Member& member) { return member.name == name; });
  if (found != members_.end()) return *found->tree;
  const auto place = std::find_if(members_.begin(), members_.end(),
                                  [name](const Member& member) { return member.name.size() > name.size(); });
  const auto made = members_.insert(place, Member{std::string(name), std::make_unique<MemberTree>()});
  for (std::size_t size = std::min(name.size(), kLongest) + 1; size < begin_.size(); ++size) ++begin_[size];
  return *made->tree;
}

MemberTree& MemberTree::make_element(int index) {
  for (Element& element : elements_) {
    if (element.index == index) return *element.tree;
  }
  return *elements_.emplace_back(Element{index, std::make_unique<MemberTree>()}).tree;
}

const MemberTree* MemberTree::member(std::string_view name) const {
  const std::size_t size = std::min(name.size(), kLongest);
  for (std::size_t i = begin_[size]; i < begin_[size + 1]; ++i) {
    if (members_[i].name == name) return members_[i].tree.get();
  }
  return nullptr;
}

}  // namespace weir::logs
