// What an attribute's value may be: texts, patterns and networks, compiled so that asking takes about as long
// for a million of them as for one. And a value, which is parsed as an address once, when that is first
// asked.
//
// A set is immutable after it is made: any thread. A Value belongs to one thread. Both hold views: of the
// file, of the request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/address.hpp"
#include "limits/file.hpp"

namespace weir::inline v0_1::limits {

class AttributeValue {
 public:
  AttributeValue() = default;
  explicit AttributeValue(std::string_view text) : text_(text), present_(true) {}

  // In place: a whole AttributeValue copied costs more than all else that a request's attribute does.
  void set(std::string_view text) {
    text_ = text;
    present_ = true;
    kind_ = Kind::unknown;
  }
  void clear() { present_ = false; }

  bool present() const { return present_; }
  std::string_view text() const { return text_; }
  // Null when it is not an address.
  const core::Address* address() const {
    if (kind_ == Kind::unknown) parse();
    return kind_ == Kind::address ? &address_ : nullptr;
  }

 private:
  void parse() const;
  enum class Kind : std::uint8_t { unknown, text, address };

  std::string_view text_;
  bool present_ = false;
  mutable Kind kind_ = Kind::unknown;
  mutable core::Address address_{};
};

// Whether `text` is what the pattern says, in which `*` is any run of characters.
bool matches_pattern(std::string_view pattern, std::string_view text);

// Which of many beginnings a text begins with. Sorted, so that they are found in the logarithm of their
// number; a beginning knows the longest other one that it begins with itself.
class Beginnings {
 public:
  // `whole`: the text must end there too.
  void add(std::string_view beginning, bool whole, Index what);
  void seal();
  bool empty() const { return nodes_.empty(); }

  // Calls visit(span of what was added, ascending) for each that the text begins with.
  template <class Visit>
  void find(std::string_view text, Visit visit) const {
    for (Index at = last_before(text); at != kNone; at = nodes_[at].shorter) {
      const Node& node = nodes_[at];
      if (!text.starts_with(node.text)) continue;
      if (!node.begins.empty()) visit(std::span<const Index>(node.begins));
      if (!node.is_whole.empty() && text.size() == node.text.size())
        visit(std::span<const Index>(node.is_whole));
    }
  }

 private:
  struct Node {
    std::string_view text;
    std::vector<Index> begins;
    std::vector<Index> is_whole;
    Index shorter = kNone;
  };
  struct Added {
    std::string_view text;
    bool whole;
    Index what;
  };
  Index last_before(std::string_view text) const;

  std::vector<Added> added_;
  std::vector<Node> nodes_;
};

class ValueSet {
 public:
  // The entries' texts are viewed.
  explicit ValueSet(std::span<const ListEntry> entries);

  bool has(const AttributeValue& value) const;

 private:
  static constexpr std::size_t kFew = 6;
  struct Hash {
    std::size_t operator()(const core::Network& network) const;
  };

  bool has_text(std::string_view text) const;
  bool has_address(const AttributeValue& value) const;

  std::vector<std::string_view> few_;
  std::unordered_set<std::string_view> many_;
  std::vector<std::string_view> patterns_;
  Beginnings beginnings_;  // of the patterns, when they are many
  std::vector<core::Network> few_networks_;
  std::unordered_set<core::Network, Hash> many_networks_;
  std::vector<std::uint8_t> bits_v4_;  // the lengths that occur among the many
  std::vector<std::uint8_t> bits_v6_;
};

}  // namespace weir::limits
