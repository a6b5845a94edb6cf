// YAML 1.1 as people write it by hand: anchors, aliases, merge keys and plain scalars with types, in a tree
// of nodes in which an alias points at what it stands for.
//
// One document in UTF-8 or UTF-16, bounded in bytes, depth and nodes. Pure, any thread. Not for: weir's own
// files, which are of a stricter kind (document.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "limits/file.hpp"

namespace weir::inline v0_1::limits {

struct YamlTree {
  static constexpr std::size_t kMostBytes = std::size_t{8} << 20;
  static constexpr std::size_t kMostTextBytes = std::size_t{64} << 10;  // of one scalar
  static constexpr std::size_t kMostNodes = 1'000'000;
  static constexpr std::size_t kDeepest = 200;

  struct Node {
    enum class Kind : std::uint8_t { scalar, list, map, alias };
    Kind kind = Kind::scalar;
    bool plain = false;  // a scalar without quotes and without a tag: its text says its type
    Position place{};
    std::string text;             // of a scalar; of an alias its name
    std::vector<Index> children;  // of a map: key, value, key, value
    Index target = kNone;         // of an alias; it may contain the alias
  };

  std::vector<Node> nodes;
  Index root = kNone;  // none: there is nothing in the file
};

struct YamlError {
  Position place{};
  std::string text;
};

// The first thing that is wrong ends the reading. A key twice in one map is wrong.
tl::expected<YamlTree, YamlError> read_yaml_tree(std::string_view text);

// What a scalar without quotes is by YAML 1.1, as Go's yaml.v2 reads it: no sexagesimal numbers, and times
// are texts.
using YamlScalar = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string_view>;
YamlScalar scalar_of(std::string_view plain);
inline YamlScalar scalar_of(const YamlTree::Node& node) {
  return node.plain ? scalar_of(std::string_view(node.text)) : YamlScalar(std::string_view(node.text));
}
inline bool is_merge_key(const YamlTree::Node& node) { return node.plain && node.text == "<<"; }

}  // namespace weir::limits
