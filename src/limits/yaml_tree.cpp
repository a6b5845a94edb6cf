#include "limits/yaml_tree.hpp"

#include <yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "limits/findings.hpp"

namespace weir::inline v0_1::limits {
namespace {

const char* chars(const yaml_char_t* text) { return reinterpret_cast<const char*>(text); }

Position position_of(const yaml_mark_t& mark) {
  return {static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)};
}

class TreeParser {
 public:
  explicit TreeParser(std::string_view text)
      : lines_(static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n')) +
               (text.empty() || text.back() != '\n' ? 1 : 0)) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  TreeParser(const TreeParser&) = delete;
  TreeParser& operator=(const TreeParser&) = delete;
  ~TreeParser() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }

  tl::expected<YamlTree, YamlError> document() {
    if (next() && next() && event_.type != YAML_STREAM_END_EVENT) {
      Index root = kNone;
      if (next() && value(root, 0) && next() && next() && event_.type != YAML_STREAM_END_EVENT)
        refuse("a second document; a file has one");
      tree_.root = root;
    }
    if (wrong_) return tl::unexpected(*std::move(wrong_));
    return std::move(tree_);
  }

 private:
  using Node = YamlTree::Node;

  // What is missing at the end of a text is missing on its last line.
  bool refuse(Position place, std::string text) {
    if (place.line > lines_) place = {lines_, 1};
    wrong_ = YamlError{place, std::move(text)};
    return false;
  }
  bool refuse(std::string text) { return refuse(position_of(event_.start_mark), std::move(text)); }

  // The next event; false when the text is not YAML.
  bool next() {
    yaml_event_delete(&event_);
    if (yaml_parser_parse(&parser_, &event_) != 0) return true;
    event_ = {};
    std::string text = parser_.problem != nullptr ? parser_.problem : "out of memory";
    if (parser_.context != nullptr) text += std::string(" ") + parser_.context;
    return refuse(position_of(parser_.problem_mark), std::move(text));
  }

  // A new node of what the current event begins.
  bool begin(Index& number, Node::Kind kind, const yaml_char_t* anchor) {
    if (tree_.nodes.size() == YamlTree::kMostNodes)
      return refuse("more than " + std::to_string(YamlTree::kMostNodes) + " values are not read");
    number = static_cast<Index>(tree_.nodes.size());
    Node& node = tree_.nodes.emplace_back();
    node.kind = kind;
    node.place = position_of(event_.start_mark);
    if (anchor != nullptr) anchors_[chars(anchor)] = number;
    return true;
  }

  bool takes_tag(const yaml_char_t* tag, std::string_view plain_type) {
    if (tag == nullptr) return true;
    constexpr std::string_view kOfYaml = "tag:yaml.org,2002:";
    const std::string_view name = chars(tag);
    if (name == "!" || (name.starts_with(kOfYaml) && name.substr(kOfYaml.size()) == plain_type)) return true;
    return refuse("the tag " + in_quotes(name) + "; none is needed");
  }

  // Reads the value that the current event begins.
  bool value(Index& number, std::size_t depth) {
    if (depth > YamlTree::kDeepest)
      return refuse("maps and lists in each other, more than " + std::to_string(YamlTree::kDeepest) +
                    " deep");
    switch (event_.type) {
      case YAML_ALIAS_EVENT:
        return alias(number);
      case YAML_SCALAR_EVENT:
        return scalar(number);
      case YAML_SEQUENCE_START_EVENT:
        return takes_tag(event_.data.sequence_start.tag, "seq") &&
               begin(number, Node::Kind::list, event_.data.sequence_start.anchor) &&
               children(number, YAML_SEQUENCE_END_EVENT, depth);
      case YAML_MAPPING_START_EVENT:
        return takes_tag(event_.data.mapping_start.tag, "map") &&
               begin(number, Node::Kind::map, event_.data.mapping_start.anchor) &&
               children(number, YAML_MAPPING_END_EVENT, depth) && has_each_key_once(number);
      default:
        return refuse("an event that no value begins with");
    }
  }

  bool alias(Index& number) {
    const std::string name = chars(event_.data.alias.anchor);
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) return refuse("unknown anchor " + in_quotes(name) + " referenced");
    const Index target = found->second;
    if (!begin(number, Node::Kind::alias, nullptr)) return false;
    tree_.nodes[number].text = name;
    tree_.nodes[number].target = target;
    return true;
  }

  bool scalar(Index& number) {
    const auto& scalar = event_.data.scalar;
    if (scalar.length > YamlTree::kMostTextBytes)
      return refuse("a text of " + std::to_string(scalar.length) + " bytes; at most " +
                    std::to_string(YamlTree::kMostTextBytes) + " are read");
    if (!takes_tag(scalar.tag, "str") || !begin(number, Node::Kind::scalar, scalar.anchor)) return false;
    Node& node = tree_.nodes[number];
    node.plain = scalar.plain_implicit != 0 && scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node.text.assign(chars(scalar.value), scalar.length);
    return true;
  }

  bool children(Index number, yaml_event_type_t end, std::size_t depth) {
    for (;;) {
      if (!next()) return false;
      if (event_.type == end) return true;
      Index child = kNone;
      if (!value(child, depth + 1)) return false;
      tree_.nodes[number].children.push_back(child);
    }
  }

  bool has_each_key_once(Index number) {
    std::vector<const Node*> keys;
    const std::vector<Index>& all = tree_.nodes[number].children;
    for (std::size_t i = 0; i < all.size(); i += 2) {
      const Node& key = tree_.nodes[all[i]];
      if (key.kind == Node::Kind::scalar && !is_merge_key(key)) keys.push_back(&key);
    }
    const auto before = [](const Node* a, const Node* b) {
      return a->text != b->text ? a->text < b->text : a->place < b->place;
    };
    std::sort(keys.begin(), keys.end(), before);
    const auto twice =
        std::adjacent_find(keys.begin(), keys.end(), [](auto* a, auto* b) { return a->text == b->text; });
    if (twice == keys.end()) return true;
    return refuse(twice[1]->place, "key " + in_quotes(twice[1]->text) + " already set in map, on line " +
                                       std::to_string(twice[0]->place.line));
  }

  const std::uint32_t lines_;
  yaml_parser_t parser_{};
  yaml_event_t event_{};
  YamlTree tree_;
  std::unordered_map<std::string, Index> anchors_;
  std::optional<YamlError> wrong_;
};

struct YamlWord {
  std::string_view text;
  YamlScalar value;
};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array kYamlWords = {
    YamlWord{"", {}},
    YamlWord{"~", {}},
    YamlWord{"null", {}},
    YamlWord{"Null", {}},
    YamlWord{"NULL", {}},
    YamlWord{"y", true},
    YamlWord{"Y", true},
    YamlWord{"yes", true},
    YamlWord{"Yes", true},
    YamlWord{"YES", true},
    YamlWord{"true", true},
    YamlWord{"True", true},
    YamlWord{"TRUE", true},
    YamlWord{"on", true},
    YamlWord{"On", true},
    YamlWord{"ON", true},
    YamlWord{"n", false},
    YamlWord{"N", false},
    YamlWord{"no", false},
    YamlWord{"No", false},
    YamlWord{"NO", false},
    YamlWord{"false", false},
    YamlWord{"False", false},
    YamlWord{"FALSE", false},
    YamlWord{"off", false},
    YamlWord{"Off", false},
    YamlWord{"OFF", false},
    YamlWord{".nan", std::numeric_limits<double>::quiet_NaN()},
    YamlWord{".NaN", std::numeric_limits<double>::quiet_NaN()},
    YamlWord{".NAN", std::numeric_limits<double>::quiet_NaN()},
    YamlWord{".inf", kInfinity},
    YamlWord{".Inf", kInfinity},
    YamlWord{".INF", kInfinity},
    YamlWord{"+.inf", kInfinity},
    YamlWord{"+.Inf", kInfinity},
    YamlWord{"+.INF", kInfinity},
    YamlWord{"-.inf", -kInfinity},
    YamlWord{"-.Inf", -kInfinity},
    YamlWord{"-.INF", -kInfinity},
};

bool is_digit_of(char c, int base) {
  const int digit = c >= '0' && c <= '9'                     ? c - '0'
                    : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                             : 16;
  return digit < base;
}

// "12", "-0x1F", "0b11", "0o17", "017": as strconv.ParseInt and ParseUint read them with base 0.
std::optional<YamlScalar> integer_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  const bool is_signed = negative || text.starts_with('+');
  if (is_signed) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
    text.remove_prefix(mark == 'x' || mark == 'b' || mark == 'o' ? 2 : 1);
  }
  if (text.empty() || !std::all_of(text.begin(), text.end(), [base](char c) { return is_digit_of(c, base); }))
    return std::nullopt;
  std::uint64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value, base).ec != std::errc{})
    return std::nullopt;
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (negative)
    return value > kMost + 1 ? std::nullopt : std::optional<YamlScalar>(static_cast<std::int64_t>(0 - value));
  if (value <= kMost) return static_cast<std::int64_t>(value);
  return is_signed ? std::nullopt : std::optional<YamlScalar>(value);
}

// "1.5", ".5e3", "1e-9": as the pattern of yaml.v2 has them.
std::optional<YamlScalar> decimal_of(std::string_view text) {
  std::size_t at = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  const auto digits = [&] {
    const std::size_t first = at;
    while (at < text.size() && is_digit_of(text[at], 10)) ++at;
    return at - first;
  };
  std::size_t mantissa = digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    mantissa += digits();
  }
  if (mantissa == 0) return std::nullopt;
  bool is_small = false;
  if (at < text.size() && (text[at] | 0x20) == 'e') {
    ++at;
    is_small = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (digits() == 0) return std::nullopt;
  }
  if (at != text.size()) return std::nullopt;
  if (text.front() == '+') text.remove_prefix(1);
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec == std::errc::result_out_of_range && is_small) return 0.0;
  if (read.ec != std::errc{}) return std::nullopt;
  return value;
}

}  // namespace

tl::expected<YamlTree, YamlError> read_yaml_tree(std::string_view text) {
  if (text.size() > YamlTree::kMostBytes)
    return tl::unexpected(
        YamlError{{}, "more than " + std::to_string(YamlTree::kMostBytes) + " bytes (8 MiB) are not read"});
  return TreeParser(text).document();
}

YamlScalar scalar_of(std::string_view plain) {
  for (const YamlWord& each : kYamlWords)
    if (each.text == plain) return each.value;
  const char first = plain.front();
  if (first != '+' && first != '-' && first != '.' && !is_digit_of(first, 10)) return plain;
  std::string digits(plain);
  std::erase(digits, '_');
  if (const auto integer = integer_of(digits)) return *integer;
  return decimal_of(digits).value_or(plain);
}

}  // namespace weir::limits
