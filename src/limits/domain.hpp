// What a domain of Envoy's rate limit service says: plain data, as a file of envoyproxy/ratelimit or an xDS
// server has it. Whatever is left out has its default here.
//
// Any thread. Not for: reading files (envoy_file.hpp), deciding (compiled from this: descriptors.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "limits/file.hpp"

namespace weir::inline v0_1::limits {

// A value of google.protobuf.Struct, which dynamic metadata is.
struct Metadata {
  enum class Kind : std::uint8_t { null, boolean, number, text, list, map };

  Kind kind = Kind::null;
  bool boolean = false;
  double number = 0;
  std::string text{};              // UTF-8
  std::string name{};              // of a field of a map
  std::vector<Metadata> list{};    // of a list
  std::vector<Metadata> fields{};  // of a map: in order of their names, each once
};

// `rate_limit` of a descriptor.
struct DescriptorLimit {
  std::uint32_t requests_per_unit = 0;
  std::string unit;  // as written: "minute", in any case
  bool unlimited = false;
  std::string name;
  std::vector<std::string> replaces;  // names
  Position place{};
  Position unit_place{};
  Position replaces_place{};
};

struct Descriptor {
  std::string key;
  std::string value;  // empty: any that no other descriptor beside it says
  std::optional<DescriptorLimit> limit;
  std::vector<Descriptor> descriptors;
  bool shadow_mode = false;
  bool quota_mode = false;
  bool detailed_metric = false;  // read and without effect, as is the next: a limit has one series
  bool value_to_metric = false;
  bool share_threshold = false;
  Metadata metadata;  // Kind::map, or Kind::null where it is left out
  Position place{};
};

// Deeper ones are refused: no request has as many entries.
constexpr std::size_t kDeepestDescriptor = 64;

// One file, or one resource of xDS.
struct Domain {
  std::string file;  // how messages call it
  std::string domain;
  std::vector<Descriptor> descriptors;
  Position place{};
};

}  // namespace weir::limits
