#include "limits/values.hpp"

#include <algorithm>
#include <cstring>

#include "core/pattern.hpp"

namespace weir::inline v0_1::limits {
namespace {

// The longest address in text is shorter than this.
constexpr std::size_t kLongestAddress = 46;

// Most texts that are not addresses are told by their first characters.
bool looks_like_address(std::string_view text) {
  if (text.size() >= kLongestAddress) return false;
  bool marked = false;
  for (const char c : text) {
    const bool mark = c == ':' || c == '.';
    marked = marked || mark;
    if (!mark && !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f') && !(c >= 'A' && c <= 'F')) return false;
  }
  return marked;
}

core::Network network_of(const core::Address& address, std::uint8_t bits) {
  core::Network network{address, bits};
  const std::size_t size = address.v4 ? 4 : 16;
  for (std::size_t i = 0; i < size; ++i) {
    const int left = std::clamp(static_cast<int>(bits) - static_cast<int>(i) * 8, 0, 8);
    network.first.bytes[i] &= static_cast<std::uint8_t>(0xFF00U >> left);
  }
  return network;
}

}  // namespace

void AttributeValue::parse() const {
  kind_ = Kind::text;
  if (!looks_like_address(text_)) return;
  if (const auto parsed = core::parse_address(text_)) {
    address_ = *parsed;
    kind_ = Kind::address;
  }
}

// The pieces between the stars are looked for from left to right: what is found first leaves most for the
// others. The last piece has to be the end.
bool matches_pattern(std::string_view pattern, std::string_view text) {
  return core::matches_pattern(pattern, text);
}

void Beginnings::add(std::string_view beginning, bool whole, Index what) {
  added_.push_back({beginning, whole, what});
}

void Beginnings::seal() {
  std::sort(added_.begin(), added_.end(), [](const Added& a, const Added& b) {
    return a.text != b.text ? a.text < b.text : a.what < b.what;
  });
  std::vector<Index> open;  // those that the present one begins with, the longest last
  for (const Added& each : added_) {
    if (nodes_.empty() || nodes_.back().text != each.text) {
      while (!open.empty() && !each.text.starts_with(nodes_[open.back()].text)) open.pop_back();
      nodes_.push_back({each.text, {}, {}, open.empty() ? kNone : open.back()});
      open.push_back(static_cast<Index>(nodes_.size() - 1));
    }
    Node& node = nodes_.back();
    std::vector<Index>& to = each.whole ? node.is_whole : node.begins;
    if (to.empty() || to.back() != each.what) to.push_back(each.what);
  }
  std::vector<Added>().swap(added_);
}

Index Beginnings::last_before(std::string_view text) const {
  const auto after = std::upper_bound(nodes_.begin(), nodes_.end(), text,
                                      [](std::string_view of, const Node& node) { return of < node.text; });
  return after == nodes_.begin() ? kNone : static_cast<Index>(after - nodes_.begin() - 1);
}

ValueSet::ValueSet(std::span<const ListEntry> entries) {
  for (const ListEntry& each : entries) {
    switch (each.kind) {
      case ListEntry::Kind::text:
        few_.push_back(each.text);
        break;
      case ListEntry::Kind::pattern:
        patterns_.push_back(each.text);
        break;
      case ListEntry::Kind::network:
        few_networks_.push_back(each.network);
        break;
    }
  }
  if (few_.size() > kFew) {
    many_.insert(few_.begin(), few_.end());
    few_.clear();
  }
  if (patterns_.size() > kFew) {
    for (std::size_t i = 0; i < patterns_.size(); ++i)
      beginnings_.add(patterns_[i].substr(0, patterns_[i].find('*')), false, static_cast<Index>(i));
    beginnings_.seal();
  }
  if (few_networks_.size() > kFew) {
    many_networks_.insert(few_networks_.begin(), few_networks_.end());
    few_networks_.clear();
    for (const core::Network& each : many_networks_)
      (each.first.v4 ? bits_v4_ : bits_v6_).push_back(each.bits);
    for (auto* bits : {&bits_v4_, &bits_v6_}) {
      std::sort(bits->begin(), bits->end());
      bits->erase(std::unique(bits->begin(), bits->end()), bits->end());
    }
  }
}

bool ValueSet::has(const AttributeValue& value) const { return has_text(value.text()) || has_address(value); }

bool ValueSet::has_text(std::string_view text) const {
  for (const std::string_view each : few_) {
    if (each == text) return true;
  }
  if (!many_.empty() && many_.contains(text)) return true;
  if (beginnings_.empty()) {
    return std::any_of(patterns_.begin(), patterns_.end(),
                       [text](std::string_view each) { return matches_pattern(each, text); });
  }
  bool found = false;
  beginnings_.find(text, [&](std::span<const Index> which) {
    found = found || std::any_of(which.begin(), which.end(),
                                 [&](Index i) { return matches_pattern(patterns_[i], text); });
  });
  return found;
}

bool ValueSet::has_address(const AttributeValue& value) const {
  if (few_networks_.empty() && many_networks_.empty()) return false;
  const core::Address* address = value.address();
  if (address == nullptr) return false;
  for (const core::Network& each : few_networks_) {
    if (each.has(*address)) return true;
  }
  const auto& lengths = address->v4 ? bits_v4_ : bits_v6_;
  return std::any_of(lengths.begin(), lengths.end(),
                     [&](std::uint8_t bits) { return many_networks_.contains(network_of(*address, bits)); });
}

std::size_t ValueSet::Hash::operator()(const core::Network& network) const {
  const std::string_view bytes(reinterpret_cast<const char*>(network.first.bytes.data()),
                               network.first.bytes.size());
  return std::hash<std::string_view>{}(bytes) * 131 + network.bits * std::size_t{2} +
         (network.first.v4 ? 1 : 0);
}

}  // namespace weir::limits
