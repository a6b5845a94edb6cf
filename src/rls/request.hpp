// A RateLimitRequest of envoy.service.ratelimit.v3, read.
//
// Views the message. Memory is used again. The thread of its loop. Not for: what its descriptors mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "limits/descriptors.hpp"

namespace weir::inline v0_1::rls {

struct AskedDescriptor {
  std::size_t first = 0;  // of RateLimitRequest::entries
  std::size_t count = 0;
  std::optional<limits::DescriptorOverride> limit{};
  std::optional<std::uint64_t> hits{};
  bool gives_back = false;
};

// Why a message is not asked about. The first ones can be caused by Envoy's configuration alone, and are
// errors; the others by all that send requests through Envoy, and must not be a way around a limit.
enum class Wrong : std::uint8_t {
  nothing,
  malformed,
  no_domain,
  no_descriptors,
  empty_key,
  windows,  // of what is to be held
  utf8,
  key_size,
  value_size,
  entries,
  descriptors,
  unit,
  key_twice,
  attribute,  // a limit of the limits file cannot take it
  limits,     // of what is decided jointly, or is to be held
};
constexpr Wrong kFirstBad = Wrong::utf8;
constexpr std::size_t kWrongs = static_cast<std::size_t>(Wrong::limits) + 1;
inline bool is_bad(Wrong wrong) { return wrong >= kFirstBad; }
std::string_view name_of(Wrong wrong);      // of a bad one, as metrics say it
std::string_view sentence_of(Wrong wrong);  // no byte of the caller's is in it

class RateLimitRequest {
 public:
  static constexpr std::size_t kLongestKey = 1024;
  static constexpr std::size_t kLongestValue = std::size_t{64} << 10;
  static constexpr std::size_t kMostEntries = 64;
  static constexpr std::size_t kMostDescriptors = 1000;

  Wrong read(std::string_view message);

  std::string_view domain() const { return domain_; }
  std::span<const AskedDescriptor> descriptors() const { return descriptors_; }
  std::span<const limits::DescriptorEntry> entries(const AskedDescriptor& of) const {
    return std::span(entries_).subspan(of.first, of.count);
  }
  std::uint32_t own_hits() const { return hits_; }  // 0: it says none
  // Of one descriptor: its own, else the message's, else 1.
  std::uint64_t hits(const AskedDescriptor& of) const;

 private:
  void find(Wrong wrong);  // what is found first is told, but an error before what is bad
  void read_descriptor(std::string_view message);
  void read_entry(std::string_view message);
  void read_override(std::string_view message, limits::DescriptorOverride& into);

  std::string_view domain_;
  std::uint32_t hits_ = 0;
  std::vector<AskedDescriptor> descriptors_;
  std::vector<limits::DescriptorEntry> entries_;
  Wrong wrong_ = Wrong::nothing;
};

}  // namespace weir::rls
