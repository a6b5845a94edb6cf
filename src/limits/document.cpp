#include "limits/document.hpp"

#include <yaml.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "core/printable.hpp"

namespace weir::inline v0_1::limits {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";  // with which some editors begin a UTF-8 file

Position place_of(const yaml_mark_t& mark) {
  return {static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)};
}

// The first character that no file may contain, and where; the end of `text` when there is none.
std::size_t first_refused(std::string_view text, Position& place) {
  std::size_t at = 0;
  place = {1, 1};
  while (at < text.size()) {
    const bool crlf = text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n';
    if (text[at] == '\n') {
      ++at;
      place = {place.line + 1, 1};
      continue;
    }
    const std::size_t size = text[at] == '\t' || crlf ? 1 : core::shown_as_it_is(text.substr(at));
    if (size == 0) return at;
    at += size;
    ++place.column;
  }
  return at;
}

// What is wrong with the bytes of a text, before anything is parsed.
bool refuse_bytes(std::string_view text, Findings& findings, const Bounds& bounds) {
  const auto refused = [&findings](FileRule rule, Position place, std::string what) {
    findings.error(rule, place, "", std::move(what));
    return true;
  };
  if (text.size() > bounds.bytes)
    return refused(FileRule::bounds, {},
                   "more than " + std::to_string(bounds.bytes) + " bytes (" +
                       std::to_string(bounds.bytes >> 20) + " MiB) are not read");
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return refused(FileRule::yaml, {1, 1}, "this is UTF-16; only UTF-8 is read");
  Position place;
  const std::size_t at = first_refused(text, place);
  if (at == text.size()) return false;
  if (text[at] == '\0')
    return refused(FileRule::yaml, place,
                   "a byte of 0, as UTF-16 and binary files have them; only UTF-8 is read");
  if (text[at] == '\r') return refused(FileRule::yaml, place, "a carriage return without a line feed");
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x20 || byte == 0x7F)
    return refused(FileRule::yaml, place, "the control character " + core::printable(text.substr(at, 1)));
  // A control character of several bytes begins with a byte that is itself fine.
  std::size_t size = byte >= 0xE0 ? 3 : 2;
  size = std::min(size, text.size() - at);
  const bool hidden =
      (byte == 0xC2 && size == 2) || text.substr(at, 2) == "\xE2\x80" || text.substr(at, 2) == "\xE2\x81";
  if (hidden)
    return refused(FileRule::yaml, place, "the control character " + core::printable(text.substr(at, size)));
  return refused(FileRule::yaml, place,
                 "the byte " + core::printable(text.substr(at, 1)) + ", which is not UTF-8");
}

class Parser {
 public:
  Parser(std::string_view text, Findings& findings, const Bounds& bounds)
      : text_(text), findings_(findings), bounds_(bounds) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
    lines_ = static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n')) +
             (text.empty() || text.back() != '\n' ? 1 : 0);
  }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  ~Parser() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }

  YamlNode document() {
    YamlNode root;
    if (!next(YAML_STREAM_START_EVENT) || !next()) return root;
    if (event_.type == YAML_STREAM_END_EVENT) {
      root.kind = YamlNode::Kind::nothing;
      return root;
    }
    if (event_.data.document_start.version_directive != nullptr ||
        event_.data.document_start.tag_directives.start != event_.data.document_start.tag_directives.end)
      refused("a directive (%); none is allowed");
    if (!next() || !value(root, 0)) return root;
    if (!next(YAML_DOCUMENT_END_EVENT) || !next()) return root;
    if (event_.type != YAML_STREAM_END_EVENT) refused("a second document; a file has one");
    return root;
  }

 private:
  // The next event; false when the text is not YAML, of which `findings_` has been told.
  bool next() {
    yaml_event_delete(&event_);
    if (yaml_parser_parse(&parser_, &event_) != 0) return true;
    event_ = {};
    not_yaml();
    return false;
  }
  bool next(yaml_event_type_t type) { return next() && event_.type == type; }

  Position here() const { return within(place_of(event_.start_mark)); }
  // What is missing at the end of a text is missing on its last line.
  Position within(Position place) const {
    if (place.line > lines_) place = {lines_, 1};
    return place;
  }

  void refused(std::string what) { findings_.error(FileRule::plain_yaml, here(), path_, std::move(what)); }

  void not_yaml() {
    // Of what its reader refuses, libyaml does not say the line.
    const bool of_reader = parser_.problem_mark.index == 0 && parser_.problem_offset != 0;
    Position place = of_reader ? place_at(parser_.problem_offset) : place_of(parser_.problem_mark);
    const std::size_t at = of_reader ? parser_.problem_offset : byte_at(place);
    const char first = at < text_.size() ? text_[at] : '\0';
    std::string what = "not YAML: ";
    if (first == '\t') {
      what += "a tab where YAML wants spaces";
    } else if (first == '@' || first == '`' || first == '%') {
      what += std::string("a text that begins with ") + first + " must be in quotes";
    } else if (parser_.context != nullptr && std::string_view(parser_.context) == "while scanning an alias") {
      what += "a text that begins with * must be in quotes";
    } else if (parser_.context != nullptr &&
               std::string_view(parser_.context) == "while scanning an anchor") {
      what += "a text that begins with & must be in quotes";
    } else {
      what += parser_.problem != nullptr ? parser_.problem : "out of memory";
      if (parser_.context != nullptr)
        what += std::string(" ") + parser_.context + " that begins on line " +
                std::to_string(within(place_of(parser_.context_mark)).line);
    }
    findings_.error(FileRule::yaml, within(place), "", std::move(what));
  }

  Position place_at(std::size_t offset) const {
    Position place{1, 1};
    for (std::size_t at = 0; at < std::min(offset, text_.size()); ++at) {
      const bool first_byte = (static_cast<unsigned char>(text_[at]) & 0xC0U) != 0x80;
      if (text_[at] == '\n') {
        place = {place.line + 1, 1};
      } else if (first_byte) {
        ++place.column;
      }
    }
    return place;
  }
  std::size_t byte_at(Position place) const {
    std::size_t at = 0;
    for (std::uint32_t line = 1; line < place.line; ++line) {
      at = text_.find('\n', at);
      if (at == std::string_view::npos) return text_.size();
      ++at;
    }
    for (std::uint32_t column = 1; column < place.column && at < text_.size(); ++column)
      at += std::max<std::size_t>(core::shown_as_it_is(text_.substr(at)), 1);
    return at;
  }

  void refuse_decorated(const yaml_char_t* anchor, const yaml_char_t* tag) {
    const auto text = [](const yaml_char_t* name) { return reinterpret_cast<const char*>(name); };
    if (anchor != nullptr)
      refused("the anchor " + in_quotes(std::string("&") + text(anchor)) + "; write things out");
    if (tag != nullptr) refused("the tag " + in_quotes(text(tag)) + "; none is needed");
  }

  // Reads the value that the current event begins. False when reading cannot go on.
  bool value(YamlNode& node, std::size_t depth) {
    node.place = here();
    switch (event_.type) {
      case YAML_ALIAS_EVENT:
        refused("the alias " +
                in_quotes(std::string("*") + reinterpret_cast<const char*>(event_.data.alias.anchor)) +
                "; write it out, or quote a pattern: \"*\"");
        return true;
      case YAML_SCALAR_EVENT:
        return scalar(node);
      case YAML_SEQUENCE_START_EVENT:
        refuse_decorated(event_.data.sequence_start.anchor, event_.data.sequence_start.tag);
        node.kind = YamlNode::Kind::list;
        break;
      case YAML_MAPPING_START_EVENT:
        refuse_decorated(event_.data.mapping_start.anchor, event_.data.mapping_start.tag);
        node.kind = YamlNode::Kind::map;
        break;
      default:
        return false;
    }
    if (depth == bounds_.depth) {
      findings_.error(FileRule::bounds, here(), path_,
                      "maps and lists in each other, more than " + std::to_string(bounds_.depth) + " deep");
      return false;
    }
    return node.kind == YamlNode::Kind::list ? list(node, depth + 1) : map(node, depth + 1);
  }

  bool scalar(YamlNode& node) {
    const auto& scalar = event_.data.scalar;
    // `!` alone, and quotes, are told apart by libyaml in `quoted_implicit`; a tag is what has a name.
    refuse_decorated(scalar.anchor, scalar.tag);
    if (scalar.length > bounds_.text_bytes) {
      findings_.error(FileRule::bounds, here(), path_,
                      "a text of " + std::to_string(scalar.length) + " bytes; at most " +
                          std::to_string(bounds_.text_bytes) + " are read");
      return true;
    }
    const bool nothing = scalar.length == 0 && scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node.kind = nothing ? YamlNode::Kind::nothing : YamlNode::Kind::text;
    node.text.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
    return true;
  }

  bool list(YamlNode& node, std::size_t depth) {
    for (;;) {
      if (!next()) return false;
      if (event_.type == YAML_SEQUENCE_END_EVENT) return true;
      Member& member = node.members.emplace_back();
      member.place = here();
      const std::size_t length = path_.size();
      path_ += "[" + std::to_string(node.members.size() - 1) + "]";
      if (!value(member.value, depth)) return false;
      path_.resize(length);
    }
  }

  bool map(YamlNode& node, std::size_t depth) {
    for (;;) {
      if (!next()) return false;
      if (event_.type == YAML_MAPPING_END_EVENT) break;
      const bool plain =
          event_.type == YAML_SCALAR_EVENT && event_.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
      YamlNode key;
      if (!value(key, depth)) return false;
      YamlNode read;
      const std::size_t length = path_.size();
      if (!path_.empty()) path_ += '.';
      path_ += core::printable(std::string_view(key.text).substr(0, kMostKey));
      if (!next() || !value(read, depth)) return false;
      path_.resize(length);
      if (plain && key.text == "<<") {
        findings_.error(FileRule::plain_yaml, key.place, path_, "the merge key '<<'; write things out");
      } else if (key.kind == YamlNode::Kind::list || key.kind == YamlNode::Kind::map) {
        findings_.error(FileRule::plain_yaml, key.place, path_,
                        "a key that is a list or a map; a key is a text");
      } else if (key.kind == YamlNode::Kind::nothing) {
        findings_.error(FileRule::plain_yaml, key.place, path_, "a key that is empty; a key is a text");
      } else if (key.kind == YamlNode::Kind::text) {
        node.members.push_back({std::move(key.text), key.place, std::move(read)});
      }
    }
    refuse_twice(node);
    return true;
  }

  void refuse_twice(YamlNode& node) {
    std::vector<const Member*> members;
    members.reserve(node.members.size());
    for (const Member& member : node.members) members.push_back(&member);
    std::sort(members.begin(), members.end(), [](const Member* a, const Member* b) {
      return std::tie(a->key, a->place) < std::tie(b->key, b->place);
    });
    for (std::size_t i = 1; i < members.size(); ++i) {
      if (members[i]->key != members[i - 1]->key) continue;
      const std::string shown = core::printable(std::string_view(members[i]->key).substr(0, kMostKey));
      findings_.error(
          FileRule::once, members[i]->place, path_.empty() ? shown : path_ + "." + shown,
          "a second time; it is on line " + std::to_string(members[i - 1]->place.line) + " already");
    }
  }

  std::string_view text_;
  Findings& findings_;
  const Bounds& bounds_;
  std::uint32_t lines_ = 1;
  std::string path_;  // of the value that is being read
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

}  // namespace

YamlNode read_document(std::string_view text, Findings& findings, const Bounds& bounds) {
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  if (refuse_bytes(text, findings, bounds)) return {};
  return Parser(text, findings, bounds).document();
}

}  // namespace weir::limits
