#include "rls/request.hpp"

#include <algorithm>
#include <exception>
#include <protozero/pbf_reader.hpp>

#include "core/printable.hpp"

namespace weir::inline v0_1::rls {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

// A field of that number has that type, or it is one that we do not know. The numbers are those of
// go-control-plane 2b88c16; the third of an override is not in it yet.
constexpr auto kVarint = pbf_wire_type::varint;
constexpr auto kBytes = pbf_wire_type::length_delimited;
constexpr std::uint32_t field(std::uint32_t number, pbf_wire_type type) {
  return protozero::tag_and_type(number, type);
}

// Weeks are in answers alone.
limits::RateUnit unit_of(std::uint32_t number) {
  return number <= static_cast<std::uint32_t>(limits::RateUnit::year) ? static_cast<limits::RateUnit>(number)
                                                                      : limits::RateUnit::unknown;
}

std::string_view view_of(pbf_reader& reader) {
  const protozero::data_view view = reader.get_view();
  return {view.data(), view.size()};
}

// Of a wrapper (UInt64Value and its like); of several the last.
template <class Number>
Number read_wrapped(std::string_view message, Number value) {
  pbf_reader reader(message.data(), message.size());
  while (reader.next()) {
    if (reader.tag_and_type() == field(1, kVarint)) {
      value = static_cast<Number>(reader.get_uint64());
    } else {
      reader.skip();
    }
  }
  return value;
}

}  // namespace

std::string_view name_of(Wrong wrong) {
  switch (wrong) {
    case Wrong::utf8:
      return "utf8";
    case Wrong::key_size:
      return "key_size";
    case Wrong::value_size:
      return "value_size";
    case Wrong::entries:
      return "entries";
    case Wrong::descriptors:
      return "descriptors";
    case Wrong::unit:
      return "unit";
    case Wrong::key_twice:
      return "key_twice";
    case Wrong::limits:
      return "limits";
    default:
      return "attribute";
  }
}

std::string_view sentence_of(Wrong wrong) {
  switch (wrong) {
    case Wrong::nothing:
      return {};
    case Wrong::malformed:
      return "the message is not a RateLimitRequest";
    case Wrong::no_domain:
      return "rate limit domain must not be empty";
    case Wrong::no_descriptors:
      return "rate limit descriptor list must not be empty";
    case Wrong::empty_key:
      return "rate limit descriptor entry key must not be empty";
    case Wrong::windows:
      return "a window cannot be held: Reserve and Commit need limits of gcra";
    case Wrong::limits:
      return "more than 16 limits are to be held, or are met by descriptors of which one leaves the others "
             "free";
    case Wrong::utf8:
      return "a text of a descriptor is not UTF-8";
    case Wrong::key_size:
      return "a key of a descriptor is above 1024 bytes";
    case Wrong::value_size:
      return "a value of a descriptor is above 65536 bytes";
    case Wrong::entries:
      return "a descriptor has more than 64 entries";
    case Wrong::descriptors:
      return "more than 1000 descriptors";
    case Wrong::unit:
      return "an override has an unknown unit";
    case Wrong::key_twice:
      return "a descriptor has a key twice";
    case Wrong::attribute:
      break;
  }
  return "a limit cannot take a value of a descriptor";
}

void RateLimitRequest::find(Wrong wrong) {
  if (wrong_ == Wrong::nothing || (is_bad(wrong_) && !is_bad(wrong))) wrong_ = wrong;
}

Wrong RateLimitRequest::read(std::string_view message) {
  domain_ = {};
  hits_ = 0;
  descriptors_.clear();
  entries_.clear();
  wrong_ = Wrong::nothing;
  try {
    pbf_reader reader(message.data(), message.size());
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case field(1, kBytes):
          domain_ = view_of(reader);
          break;
        case field(2, kBytes):
          read_descriptor(view_of(reader));
          break;
        case field(3, kVarint):
          hits_ = reader.get_uint32();
          break;
        default:
          reader.skip();
      }
    }
  } catch (const std::exception&) {
    return Wrong::malformed;
  }
  if (!core::is_utf8(domain_)) find(Wrong::utf8);
  if (domain_.empty()) return Wrong::no_domain;
  if (descriptors_.empty()) return Wrong::no_descriptors;
  return wrong_;
}

void RateLimitRequest::read_descriptor(std::string_view message) {
  // Those beyond are read too, so that what is malformed is told as such, and forgotten.
  const bool too_many = descriptors_.size() >= kMostDescriptors;
  if (too_many) find(Wrong::descriptors);
  AskedDescriptor descriptor{.first = entries_.size()};
  pbf_reader reader(message.data(), message.size());
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case field(1, kBytes):
        read_entry(view_of(reader));
        break;
      case field(2, kBytes):
        if (!descriptor.limit) descriptor.limit.emplace();
        read_override(view_of(reader), *descriptor.limit);
        break;
      case field(3, kBytes):
        descriptor.hits = read_wrapped<std::uint64_t>(view_of(reader), descriptor.hits.value_or(0));
        break;
      case field(4, kVarint):
        descriptor.gives_back = reader.get_uint64() != 0;
        break;
      default:
        reader.skip();
    }
    if (entries_.size() - descriptor.first > kMostEntries) {
      find(Wrong::entries);
      entries_.pop_back();
    }
  }
  if (descriptor.limit && descriptor.limit->unit == limits::RateUnit::unknown) find(Wrong::unit);
  descriptor.count = entries_.size() - descriptor.first;
  if (too_many) return entries_.resize(descriptor.first);
  descriptors_.push_back(descriptor);
}

void RateLimitRequest::read_entry(std::string_view message) {
  limits::DescriptorEntry entry;
  pbf_reader reader(message.data(), message.size());
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case field(1, kBytes):
        entry.key = view_of(reader);
        break;
      case field(2, kBytes):
        entry.value = view_of(reader);
        break;
      default:
        reader.skip();
    }
  }
  if (entry.key.empty()) find(Wrong::empty_key);
  if (entry.key.size() > kLongestKey) find(Wrong::key_size);
  if (entry.value.size() > kLongestValue) find(Wrong::value_size);
  if (!core::is_utf8(entry.key) || !core::is_utf8(entry.value)) find(Wrong::utf8);
  entries_.push_back(entry);
}

void RateLimitRequest::read_override(std::string_view message, limits::DescriptorOverride& into) {
  pbf_reader reader(message.data(), message.size());
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case field(1, kVarint):
        into.requests_per_unit = reader.get_uint32();
        break;
      case field(2, kVarint):
        into.unit = unit_of(reader.get_uint32());
        break;
      case field(3, kBytes):
        into.unit_multiplier = read_wrapped<std::uint32_t>(view_of(reader), into.unit_multiplier);
        break;
      default:
        reader.skip();
    }
  }
}

std::uint64_t RateLimitRequest::hits(const AskedDescriptor& of) const {
  return of.hits.value_or(std::max(hits_, std::uint32_t{1}));
}

}  // namespace weir::rls
