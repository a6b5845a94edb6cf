#include "rls/request.hpp"

#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>
#include <string>

namespace weir::inline v0_1::rls {
namespace {

using protozero::pbf_writer;

std::string entry(std::string_view key, std::string_view value) {
  std::string out;
  pbf_writer to(out);
  to.add_string(1, key.data(), key.size());
  to.add_string(2, value.data(), value.size());
  return out;
}
std::string descriptor(const std::string& entry_bytes, std::string more = {}) {
  std::string out;
  pbf_writer(out).add_message(1, entry_bytes);
  return out += more;
}
std::string message(std::string_view domain, const std::string& descriptor_bytes, std::string more = {}) {
  std::string out;
  pbf_writer to(out);
  to.add_string(1, domain.data(), domain.size());
  to.add_message(2, descriptor_bytes);
  return out += more;
}
template <class Add>
std::string bytes(const Add& add) {
  std::string out;
  pbf_writer to(out);
  add(to);
  return out;
}

TEST(RateLimitRequest, is_read_whole) {
  RateLimitRequest request;
  const std::string override_ = bytes([](pbf_writer& to) {
    to.add_uint32(1, 7);
    to.add_enum(2, 3);
  });
  const std::string more = bytes([&](pbf_writer& to) {
    to.add_message(2, override_);
    to.add_message(3, bytes([](pbf_writer& of) { of.add_uint64(1, 5'000'000'000); }));
    to.add_bool(4, true);
    to.add_string(9, "from a later version");
  });
  const std::string all =
      message("edge", descriptor(entry("k", "v"), more), bytes([](pbf_writer& to) { to.add_uint32(3, 9); }));
  ASSERT_EQ(request.read(all), Wrong::nothing);
  EXPECT_EQ(request.domain(), "edge");
  EXPECT_EQ(request.own_hits(), 9U);
  ASSERT_EQ(request.descriptors().size(), 1U);
  const AskedDescriptor& read = request.descriptors()[0];
  EXPECT_EQ(request.entries(read)[0].key, "k");
  EXPECT_EQ(request.entries(read)[0].value, "v");
  ASSERT_TRUE(read.limit);
  EXPECT_EQ(read.limit->requests_per_unit, 7U);
  EXPECT_EQ(read.limit->unit, limits::RateUnit::hour);
  EXPECT_EQ(read.limit->unit_multiplier, 1U);
  EXPECT_TRUE(read.gives_back);
  EXPECT_EQ(request.hits(read), 5'000'000'000U);
}

TEST(RateLimitRequest, hits_are_the_descriptors_own_or_the_messages_and_at_least_one) {
  RateLimitRequest request;
  const auto hits = [&](const std::string& more, std::uint32_t of_message) {
    const std::string all = message("d", descriptor(entry("k", "v"), more),
                                    bytes([&](pbf_writer& to) { to.add_uint32(3, of_message); }));
    EXPECT_EQ(request.read(all), Wrong::nothing);
    return request.hits(request.descriptors()[0]);
  };
  EXPECT_EQ(hits("", 0), 1U);
  EXPECT_EQ(hits("", 4), 4U);
  EXPECT_EQ(hits(bytes([](pbf_writer& to) { to.add_message(3, std::string()); }), 4), 0U);  // an explicit 0
}

// As protocol buffers say: the last scalar wins, messages are merged, a list goes on.
TEST(RateLimitRequest, fields_that_come_twice) {
  RateLimitRequest request;
  const auto units = [](std::uint32_t count, std::uint32_t unit) {
    return bytes([&](pbf_writer& to) {
      to.add_message(2, bytes([&](pbf_writer& of) {
                       if (count != 0) of.add_uint32(1, count);
                       if (unit != 0) of.add_enum(2, static_cast<std::int32_t>(unit));
                     }));
    });
  };
  const std::string more = units(7, 1) + units(0, 4) + descriptor(entry("l", "w"));
  const std::string twice = entry("a", "b") + entry("k", "v");
  const std::string all =
      message("first", descriptor(twice, more)) + message("second", descriptor(entry("x", "")));
  ASSERT_EQ(request.read(all), Wrong::nothing);
  EXPECT_EQ(request.domain(), "second");
  ASSERT_EQ(request.descriptors().size(), 2U);
  const AskedDescriptor& read = request.descriptors()[0];
  ASSERT_EQ(read.count, 2U);
  EXPECT_EQ(request.entries(read)[0].key, "k");
  EXPECT_EQ(request.entries(read)[1].value, "w");
  EXPECT_EQ(read.limit->requests_per_unit, 7U);
  EXPECT_EQ(read.limit->unit, limits::RateUnit::day);
  EXPECT_EQ(request.entries(request.descriptors()[1])[0].value, "");
}

TEST(RateLimitRequest, a_known_field_of_another_wire_type_is_one_that_is_not_known) {
  RateLimitRequest request;
  const std::string odd = bytes([](pbf_writer& to) {
    to.add_fixed32(1, 1);
    to.add_uint32(2, 7);
    to.add_string(3, "x");
    to.add_fixed64(3, 1);
  });
  const std::string inner = bytes([](pbf_writer& to) {
    to.add_uint32(1, 7);
    to.add_fixed64(2, 7);
    to.add_uint32(3, 7);
    to.add_string(4, "x");
  });
  ASSERT_EQ(request.read(odd + message("d", descriptor(entry("k", "v"), inner))), Wrong::nothing);
  EXPECT_EQ(request.own_hits(), 0U);
  EXPECT_FALSE(request.descriptors()[0].limit);
  EXPECT_FALSE(request.descriptors()[0].hits);
  EXPECT_FALSE(request.descriptors()[0].gives_back);
  EXPECT_EQ(request.descriptors()[0].count, 1U);
}

TEST(RateLimitRequest, what_is_wrong_with_it) {
  RateLimitRequest request;
  const std::string ok = descriptor(entry("k", "v"));
  EXPECT_EQ(request.read(""), Wrong::no_domain);
  EXPECT_EQ(request.read(message("", ok)), Wrong::no_domain);
  EXPECT_EQ(request.read(bytes([](pbf_writer& to) { to.add_string(1, "d"); })), Wrong::no_descriptors);
  EXPECT_EQ(request.read(message("d", descriptor(entry("", "v")))), Wrong::empty_key);
  EXPECT_EQ(request.read(message("d", descriptor(entry("k", "\xff")))), Wrong::utf8);
  EXPECT_EQ(request.read(message("d", descriptor(entry("\xed\xa0\x80", "v")))), Wrong::utf8);
  EXPECT_EQ(request.read(message("\xc0\x80", ok)), Wrong::utf8);
  EXPECT_EQ(request.read(message("d", descriptor(entry(std::string(1024, 'k'), "v")))), Wrong::nothing);
  EXPECT_EQ(request.read(message("d", descriptor(entry(std::string(1025, 'k'), "v")))), Wrong::key_size);
  EXPECT_EQ(request.read(message("d", descriptor(entry("k", std::string(65'536, 'v'))))), Wrong::nothing);
  EXPECT_EQ(request.read(message("d", descriptor(entry("k", std::string(65'537, 'v'))))), Wrong::value_size);
  for (const std::uint32_t unit : {0U, 7U, 8U, 4'000'000'000U}) {
    const std::string limit = bytes([unit](pbf_writer& to) {
      to.add_message(2, bytes([unit](pbf_writer& of) { of.add_uint32(2, unit); }));
    });
    EXPECT_EQ(request.read(message("d", descriptor(entry("k", "v"), limit))), Wrong::unit) << unit;
  }
  std::string entries;
  for (int i = 0; i < 64; ++i) entries += descriptor(entry("k", "v"));
  EXPECT_EQ(request.read(message("d", entries)), Wrong::nothing);
  EXPECT_EQ(request.read(message("d", entries + descriptor(entry("k", "v")))), Wrong::entries);
  std::string descriptors;
  for (int i = 0; i < 999; ++i) descriptors += bytes([&](pbf_writer& to) { to.add_message(2, ok); });
  EXPECT_EQ(request.read(message("d", ok, descriptors)), Wrong::nothing);
  EXPECT_EQ(request.descriptors().size(), 1000U);
  descriptors += bytes([&](pbf_writer& to) { to.add_message(2, ok); });
  EXPECT_EQ(request.read(message("d", ok, descriptors)), Wrong::descriptors);
  EXPECT_EQ(request.descriptors().size(), 1000U);
  // An error that the configuration alone can cause is told before what its callers can.
  EXPECT_EQ(request.read(message("", descriptor(entry("k", "\xff")))), Wrong::no_domain);
}

TEST(RateLimitRequest, bytes_that_end_too_early_are_malformed) {
  RateLimitRequest request;
  const std::string whole = message("domain", descriptor(entry("key", "value")));
  // Up to the end of the domain it is a message, of less.
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const Wrong wrong = request.read(whole.substr(0, size));
    EXPECT_EQ(wrong, size == 8 ? Wrong::no_descriptors : Wrong::malformed) << size;
  }
  EXPECT_EQ(request.read("\x0b"), Wrong::malformed);                      // a group
  EXPECT_EQ(request.read(std::string("\x00\x00", 2)), Wrong::malformed);  // a field of number 0
  EXPECT_EQ(request.read("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), Wrong::malformed);
}

}  // namespace
}  // namespace weir::rls
