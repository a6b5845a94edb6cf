#include "limits/envoy_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/printable.hpp"
#include "limits/findings.hpp"
#include "limits/yaml_tree.hpp"

namespace weir::inline v0_1::limits {
namespace {

using YamlKind = YamlTree::Node::Kind;

// Each is known wherever it stands, and skipped where it says nothing.
constexpr std::array<std::string_view, 16> kEnvoyKeys = {
    "domain",     "key",      "value",           "descriptors",
    "rate_limit", "unit",     "shadow_mode",     "quota_mode",
    "name",       "replaces", "detailed_metric", "requests_per_unit",
    "unlimited",  "metadata", "value_to_metric", "share_threshold"};

// What aliases stand for is read again for each of them.
constexpr std::size_t kMostOfAliases = 100'000;

// A type of YAML and of the original's, as its messages call them.
constexpr std::string_view kDescriptorList = "[]config.YamlDescriptor";

std::string_view tag_of(const YamlTree::Node& node) {
  if (node.kind == YamlKind::list) return "!!seq";
  if (node.kind == YamlKind::map) return "!!map";
  constexpr std::array<std::string_view, std::variant_size_v<YamlScalar>> kTags = {
      "!!null", "!!bool", "!!int", "!!int", "!!float", "!!str"};
  return kTags[scalar_of(node).index()];
}

bool is_null(const YamlTree::Node& node) {
  return node.kind == YamlKind::scalar && std::holds_alternative<std::monostate>(scalar_of(node));
}

// As Go prints them with %v.
std::string printed(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "+Inf" : "-Inf";
  const double size = std::abs(number);
  const bool is_plain = size == 0 || (size >= 1e-4 && size < 1e21);
  std::array<char, 64> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number,
                                 is_plain ? std::chars_format::fixed : std::chars_format::scientific);
  return {text.data(), end.ptr};
}

std::string printed(const YamlTree::Node& node) {
  if (node.kind == YamlKind::list) return "a list";
  if (node.kind == YamlKind::map) return "a map";
  const YamlScalar value = scalar_of(node);
  if (std::holds_alternative<std::monostate>(value)) return "<nil>";
  if (const bool* const is = std::get_if<bool>(&value)) return *is ? "true" : "false";
  if (const auto* const whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  if (const auto* const large = std::get_if<std::uint64_t>(&value)) return std::to_string(*large);
  if (const auto* const number = std::get_if<double>(&value)) return printed(*number);
  return node.text;
}

// Reads the nodes of one file, as Go's yaml.v2 does: what comes later in a map, a merge key too, is laid over
// what came before, member by member.
class EnvoyReader {
 public:
  using Node = YamlTree::Node;

  EnvoyReader(const YamlTree& tree, Findings& findings) : tree_(tree), findings_(findings) {}

  Domain read() {
    Domain domain;
    if (tree_.root == kNone) return domain;
    const Node& root = node(tree_.root);
    domain.place = root.place;
    if (is_null(root)) return domain;
    if (root.kind != YamlKind::map) {
      wrong_type(root, "map[interface {}]interface {}");
      return domain;
    }
    check_keys(tree_.root);
    of_aliases_ = 0;
    if (!findings_.has_errors()) read(tree_.root, domain);
    return domain;
  }

 private:
  void error(Position place, std::string text) {
    findings_.error(FileRule::form, place, "", std::move(text));
  }
  void not_loaded(Position place, const std::string& text) {
    findings_.error(FileRule::yaml, place, "", "error loading config file: yaml: " + text);
  }
  void wrong_type(const Node& what, std::string_view wanted, std::string_view allowed = "") {
    std::string shown;
    if (what.kind == YamlKind::scalar) {
      constexpr std::size_t kShown = 10;
      const bool cut = what.text.size() > kShown;
      shown = " `" + core::printable(cut ? what.text.substr(0, kShown - 3) + "..." : what.text) + "`";
    }
    not_loaded(what.place, "unmarshal errors: cannot unmarshal " + std::string(tag_of(what)) + shown +
                               " into " + std::string(wanted) + std::string(allowed));
  }

  const Node& node(Index number) const { return tree_.nodes[number]; }

  // Calls `use` with what is there: of an alias what it stands for. Not when there is too much of it.
  template <class Use>
  void with(Index number, const Use& use) {
    const Node& there = node(number);
    const bool is_alias = there.kind == YamlKind::alias;
    if (gives_up_ || depth_ > YamlTree::kDeepest || (aliases_ > 0 && ++of_aliases_ > kMostOfAliases)) {
      if (!std::exchange(gives_up_, true))
        not_loaded(there.place, depth_ > YamlTree::kDeepest
                                    ? "maps and lists in each other, more than " +
                                          std::to_string(YamlTree::kDeepest) + " deep, as aliases are counted"
                                    : "document contains excessive aliasing: more than " +
                                          std::to_string(kMostOfAliases) + " values");
      return;
    }
    if (is_alias && std::find(open_.begin(), open_.end(), number) != open_.end()) {
      gives_up_ = true;
      return not_loaded(there.place, "anchor '" + core::printable(there.text) + "' value contains itself");
    }
    ++depth_;
    if (is_alias) {
      open_.push_back(number);
      ++aliases_;
      with(there.target, use);
      --aliases_;
      open_.pop_back();
    } else {
      use(there, number);
    }
    --depth_;
  }

  // Calls `member` with each key and the number of its value, and `merged` with each map that a merge key
  // names, so that those which come first in a list are laid over the others.
  template <class Member, class Merged>
  void each_member(const Node& map, const Member& member, const Merged& merged) {
    for (std::size_t i = 0; i < map.children.size(); i += 2) {
      if (const Node& key = node(map.children[i]); is_merge_key(key)) {
        merge(map.children[i + 1], merged);
      } else {
        with(map.children[i], [&](const Node& read, Index) { member(read, map.children[i + 1]); });
      }
    }
  }

  template <class Merged>
  void merge(Index number, const Merged& merged) {
    const auto map_of = [&](Index each) {
      const Node& there = node(each);
      const bool is_map = there.kind == YamlKind::map ||
                          (there.kind == YamlKind::alias && node(there.target).kind == YamlKind::map);
      if (!is_map) return not_loaded(there.place, "map merge requires map or sequence of maps as the value");
      with(each, [&](const Node&, Index map) { merged(map); });
    };
    const Node& there = node(number);
    if (there.kind != YamlKind::list) return map_of(number);
    for (auto each = there.children.rbegin(); each != there.children.rend(); ++each) map_of(*each);
  }

  // -------------------------------------------------------------------------------------- which keys there
  // are

  void check_keys(Index number) {
    each_member(
        node(number), [&](const Node& key, Index value) { check(key, value); },
        [&](Index map) { check_keys(map); });
  }

  void check(const Node& key, Index value) {
    if (key.kind != YamlKind::scalar || !std::holds_alternative<std::string_view>(scalar_of(key)))
      return error(key.place, "config error, key is not of type string: " + core::printable(printed(key)));
    if (std::find(kEnvoyKeys.begin(), kEnvoyKeys.end(), key.text) == kEnvoyKeys.end())
      return error(key.place, "config error, unknown key '" + core::printable(key.text) + "'" +
                                  meant(key.text, {kEnvoyKeys.begin(), kEnvoyKeys.end()}));
    if (key.text == "metadata") return;
    with(value, [&](const Node& read, Index there) {
      if (read.kind == YamlKind::map) return check_keys(there);
      if (read.kind == YamlKind::list) return check_list(read);
      const YamlScalar scalar = scalar_of(read);
      if (std::holds_alternative<double>(scalar) || std::holds_alternative<std::uint64_t>(scalar))
        error(read.place, "error checking config: '" + core::printable(read.text) + "' of " + key.text +
                              " is a number that is not whole or above 2^63 - 1; a text is put in quotes");
    });
  }

  void check_list(const Node& list) {
    for (const Index each : list.children) {
      with(each, [&](const Node& read, Index there) {
        if (read.kind == YamlKind::map) return check_keys(there);
        error(read.place, "config error, yaml file contains list of type other than map: " +
                              core::printable(printed(read)));
      });
    }
  }

  // ------------------------------------------------------------------------------------------ what they say

  void read(Index number, Domain& into) {
    each_member(
        node(number),
        [&](const Node& key, Index value) {
          if (key.text == "domain") take(value, into.domain);
          if (key.text == "descriptors") take(value, into.descriptors);
        },
        [&](Index map) { read(map, into); });
  }

  void read(Index number, Descriptor& into) {
    each_member(
        node(number),
        [&](const Node& key, Index value) {
          if (key.text == "key") take(value, into.key);
          if (key.text == "value") take(value, into.value);
          if (key.text == "rate_limit") take(value, into.limit);
          if (key.text == "descriptors") take(value, into.descriptors);
          if (key.text == "shadow_mode") take(value, into.shadow_mode);
          if (key.text == "quota_mode") take(value, into.quota_mode);
          if (key.text == "detailed_metric") take(value, into.detailed_metric);
          if (key.text == "value_to_metric") take(value, into.value_to_metric);
          if (key.text == "share_threshold") take(value, into.share_threshold);
          if (key.text == "metadata") take(value, into.metadata);
        },
        [&](Index map) { read(map, into); });
  }

  void read(Index number, DescriptorLimit& into) {
    each_member(
        node(number),
        [&](const Node& key, Index value) {
          if (key.text == "requests_per_unit") take(value, into.requests_per_unit);
          if (key.text == "unlimited") take(value, into.unlimited);
          if (key.text == "name") take(value, into.name);
          if (key.text == "unit") {
            take(value, into.unit);
            into.unit_place = node(value).place;
          }
          if (key.text == "replaces") {
            take(value, into.replaces);
            into.replaces_place = node(value).place;
          }
        },
        [&](Index map) { read(map, into); });
  }

  void take(Index number, std::string& into) {
    with(number, [&](const Node& value, Index) {
      if (value.kind != YamlKind::scalar) return wrong_type(value, "string");
      into = is_null(value) ? "" : value.text;
    });
  }

  void take(Index number, bool& into) {
    with(number, [&](const Node& value, Index) {
      const YamlScalar scalar = scalar_or_text(value);
      const bool* const said = std::get_if<bool>(&scalar);
      if (said == nullptr && !is_null(value))
        return wrong_type(value, "bool", "; it is true or false, without quotes");
      into = said != nullptr && *said;
    });
  }

  void take(Index number, std::uint32_t& into) {
    with(number, [&](const Node& value, Index) {
      constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
      const YamlScalar scalar = scalar_or_text(value);
      const auto* const said = std::get_if<std::int64_t>(&scalar);
      const bool fits = said != nullptr && *said >= 0 && *said <= kMost;
      if (!fits && !is_null(value))
        return wrong_type(value, "uint32",
                          "; it is a whole number from 0 to " + std::to_string(kMost) + ", without quotes");
      into = fits ? static_cast<std::uint32_t>(*said) : 0;
    });
  }

  // What stands for a list or a map has none of the types that are taken.
  static YamlScalar scalar_or_text(const Node& value) {
    return value.kind == YamlKind::scalar ? scalar_of(value) : YamlScalar(std::string_view());
  }

  void take(Index number, std::optional<DescriptorLimit>& into) {
    with(number, [&](const Node& value, Index map) {
      if (is_null(value)) return into.reset();
      if (value.kind != YamlKind::map) return wrong_type(value, "config.YamlRateLimit");
      if (!into) into.emplace();
      into->place = into->unit_place = into->replaces_place = value.place;
      read(map, *into);
    });
  }

  template <class Taken>
  void take_list(Index number, std::string_view type, std::vector<Taken>& into) {
    with(number, [&](const Node& value, Index) {
      if (!is_null(value) && value.kind != YamlKind::list) return wrong_type(value, type);
      into.clear();
      for (const Index each : value.children)
        with(each, [&](const Node&, Index map) { read_element(map, into.emplace_back()); });
    });
  }
  void read_element(Index map, Descriptor& into) {
    into.place = node(map).place;
    read(map, into);
  }
  void read_element(Index map, std::string& name) {
    each_member(
        node(map),
        [&](const Node& key, Index value) {
          if (key.text == "name") take(value, name);
        },
        [&](Index merged) { read_element(merged, name); });
  }
  void take(Index number, std::vector<Descriptor>& into) { take_list(number, kDescriptorList, into); }
  void take(Index number, std::vector<std::string>& into) {
    take_list(number, "[]config.yamlReplaces", into);
  }

  // ---------------------------------------------------------------------------------------------- metadata

  void take(Index number, Metadata& into) {
    with(number, [&](const Node& value, Index map) {
      if (is_null(value)) {
        into = {};
      } else if (value.kind != YamlKind::map) {
        wrong_type(value, "map[string]interface {}");
      } else {
        read_fields(map, into, [](const Node& key) { return is_null(key) ? "" : key.text; });
        if (into.fields.empty()) into = {};
      }
    });
  }

  template <class NameOf>
  void read_fields(Index map, Metadata& into, const NameOf& name_of) {
    lay_fields(map, into, name_of);
    // Of those with one name the last counts.
    std::map<std::string, Metadata> by_name;
    for (Metadata& each : into.fields) by_name.insert_or_assign(each.name, std::move(each));
    into.fields.clear();
    for (auto& [name, field] : by_name) into.fields.push_back(std::move(field));
  }

  template <class NameOf>
  void lay_fields(Index map, Metadata& into, const NameOf& name_of) {
    into.kind = Metadata::Kind::map;
    each_member(
        node(map),
        [&](const Node& key, Index value) {
          if (key.kind != YamlKind::scalar)
            return not_loaded(key.place, "invalid map key: " + printed(key) + "; a key is a text");
          Metadata field;
          read_any(value, field);
          field.name = name_of(key);
          into.fields.push_back(std::move(field));
        },
        [&](Index merged) { lay_fields(merged, into, name_of); });
  }

  void read_any(Index number, Metadata& into) {
    using Kind = Metadata::Kind;
    with(number, [&](const Node& value, Index there) {
      if (value.kind == YamlKind::map)
        return read_fields(there, into, [](const Node& key) { return printed(key); });
      if (value.kind == YamlKind::list) {
        into.kind = Kind::list;
        for (const Index each : value.children) read_any(each, into.list.emplace_back());
        return;
      }
      const YamlScalar scalar = scalar_of(value);
      if (const bool* const is = std::get_if<bool>(&scalar)) {
        into.kind = Kind::boolean;
        into.boolean = *is;
      } else if (std::holds_alternative<std::string_view>(scalar)) {
        into.kind = Kind::text;
        into.text = value.text;
      } else if (!std::holds_alternative<std::monostate>(scalar)) {
        into.kind = Kind::number;
        into.number = number_of(scalar);
      }
    });
  }

  static double number_of(const YamlScalar& scalar) {
    if (const auto* const whole = std::get_if<std::int64_t>(&scalar)) return static_cast<double>(*whole);
    if (const auto* const large = std::get_if<std::uint64_t>(&scalar)) return static_cast<double>(*large);
    return std::get<double>(scalar);
  }

  const YamlTree& tree_;
  Findings& findings_;
  std::vector<Index> open_;  // the aliases on the way here
  std::size_t aliases_ = 0;
  std::size_t of_aliases_ = 0;
  std::size_t depth_ = 0;
  bool gives_up_ = false;
};

}  // namespace

Domain read_envoy_file(std::string_view text, const std::string& name, std::vector<Finding>& findings) {
  Findings of_file(name);
  Domain domain;
  if (const auto tree = read_yaml_tree(text)) {
    domain = EnvoyReader(*tree, of_file).read();
  } else {
    of_file.error(FileRule::yaml, tree.error().place, "",
                  "error loading config file: yaml: " + core::printable(tree.error().text));
  }
  domain.file = name;
  for (Finding& each : of_file.take()) findings.push_back(std::move(each));
  return domain;
}

std::string envoy_text(const Finding& finding) {
  std::string text = core::printable(finding.file);
  if (!text.empty()) text += ": ";
  if (finding.severity == Severity::warning) text += "warning: ";
  text += finding.text;
  if (finding.place.line > 0)
    text += " (line " + std::to_string(finding.place.line) + ", column " +
            std::to_string(finding.place.column) + ")";
  return text;
}

}  // namespace weir::limits
