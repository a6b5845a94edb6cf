#include "rls/hold_messages.hpp"

#include <algorithm>
#include <exception>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace weir::inline v0_1::rls {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;

constexpr std::uint32_t varint_field(std::uint32_t number) {
  return protozero::tag_and_type(number, pbf_wire_type::varint);
}
constexpr std::uint32_t bytes_field(std::uint32_t number) {
  return protozero::tag_and_type(number, pbf_wire_type::length_delimited);
}

// A google.protobuf.Duration; one that is not above 0 is as if it said nothing.
std::chrono::nanoseconds read_ttl(pbf_reader duration) {
  std::int64_t seconds = 0;
  std::int64_t nanos = 0;
  while (duration.next()) {
    switch (duration.tag_and_type()) {
      case varint_field(1):
        seconds = duration.get_int64();
        break;
      case varint_field(2):
        nanos = duration.get_int32();
        break;
      default:
        duration.skip();
    }
  }
  constexpr std::int64_t kMost = std::chrono::duration_cast<std::chrono::seconds>(kLongestHold).count();
  const std::chrono::nanoseconds ttl =
      std::chrono::seconds{std::clamp(seconds, -kMost, kMost)} + std::chrono::nanoseconds{nanos};
  return ttl.count() > 0 ? std::min(ttl, kLongestHold) : kLongestHold;
}

}  // namespace

ReserveTerms read_reserve(std::string_view message) {
  ReserveTerms terms;
  try {
    for (pbf_reader reader(message.data(), message.size()); reader.next();) {
      switch (reader.tag_and_type()) {
        case varint_field(3):
          terms.amount = reader.get_uint64();
          break;
        case bytes_field(4):
          terms.ttl = read_ttl(reader.get_message());
          break;
        default:
          reader.skip();
      }
    }
  } catch (const std::exception&) {
    terms.ttl = kLongestHold;  // its duration is malformed
  }
  return terms;
}

CommitTerms read_commit(std::string_view message) {
  CommitTerms terms;
  for (pbf_reader reader(message.data(), message.size()); reader.next();) {
    switch (reader.tag_and_type()) {
      case bytes_field(3): {
        const protozero::data_view view = reader.get_view();
        terms.id = {view.data(), view.size()};
        break;
      }
      case varint_field(4):
        terms.actual = reader.get_uint64();
        break;
      default:
        reader.skip();
    }
  }
  return terms;
}

void write_reserved(std::string& out, bool over, std::string_view id) {
  pbf_writer answer(out);
  answer.add_enum(1, over ? 2 : 1);
  if (!id.empty()) answer.add_string(2, id.data(), id.size());
}

void write_committed(std::string& out, bool released) {
  if (released) pbf_writer(out).add_bool(1, true);
}

}  // namespace weir::rls
