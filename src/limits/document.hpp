// YAML as a tree of plain maps, lists and texts, each with its place: what a limits file and its tests are
// written in.
//
// A strict subset: UTF-8, one document, no anchors, aliases, tags, merge keys or directives, and no key
// twice. What a text means, a number or a date, is said by the reader of its field. Pure, any thread. Not
// for: writing YAML.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "limits/findings.hpp"

namespace weir::inline v0_1::limits {

struct Member;

constexpr std::size_t kMostKey = 64;  // bytes of a key that a path shows

struct YamlNode {
  enum class Kind : std::uint8_t {
    refused,  // and told already
    nothing,  // an empty value
    text,
    list,  // `members`, whose keys are empty
    map,
  };
  Kind kind = Kind::refused;
  Position place{};
  std::string text;
  std::vector<Member> members;
};

struct Member {
  std::string key;
  Position place{};  // of the key
  YamlNode value;
};

struct Bounds {
  std::size_t bytes = 1 << 20;
  std::size_t depth = 16;         // of maps and lists in each other
  std::size_t text_bytes = 4096;  // of one text
};

// Tells `findings` of everything that is wrong. What cannot be read is Kind::refused.
YamlNode read_document(std::string_view text, Findings& findings, const Bounds& bounds = {});

}  // namespace weir::limits
