// Matching allocates nothing, once what it works with has grown.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "limits/envoy_test.hpp"
#include "limits/world_test.hpp"

namespace {

std::atomic<std::uint64_t> allocations{0};

void* take(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* const got = std::malloc(size == 0 ? 1 : size);
  if (got == nullptr) std::abort();
  return got;
}

}  // namespace

// Of the whole test program; what it allocates is only counted.
void* operator new(std::size_t size) { return take(size); }
void* operator new[](std::size_t size) { return take(size); }
void operator delete(void* given) noexcept { std::free(given); }
void operator delete[](void* given) noexcept { std::free(given); }
void operator delete(void* given, std::size_t) noexcept { std::free(given); }
void operator delete[](void* given, std::size_t) noexcept { std::free(given); }

namespace weir::inline v0_1::limits {
namespace {

TEST(Match, allocates_nothing_once_it_has_grown) {
  const auto set = compile(R"(
version: 1
classes: [default, bulk]
lists: { some: [a, b, "c*", 10.0.0.0/8, 1.1.1.1, 2001:db8::/32, d, e, f, g, h] }
limits:
  all: { rate: 1000/s, leave: { bulk: 20% }, reserve: 10% }
  ip: { by: [ip], rate: [10/s, 100/h], deny: { ip: 192.0.2.0/24 }, allow: { ip: "@some" } }
  user: { by: [user], within: all, rate: 5/s, cost: { from: n }, overrides: [ { when: { user: "@some" }, rate: 7/s }, { when: { user: a }, guarantee: 1/s burst 1 } ] }
routes:
  - { when: { path: "/v1/*" }, limits: [user, ip] }
  - { limits: [all] }
)");
  ASSERT_NE(set, nullptr);
  const std::string long_user(1000, 'u');
  const std::vector<std::vector<Attribute>> requests = {
      {{"path", "/v1/x"}, {"user", "a"}, {"ip", "2001:db8:ffff:ffff::1"}, {"n", "3"}},
      {{"path", "/v1/x"}, {"user", long_user}, {"ip", "198.51.100.7"}, {"n", "3"}, {"other", "x"}},
      {{"path", "/v1/x"}, {"user", "a"}, {"ip", "192.0.2.1"}, {"n", "3"}},
      {{"path", "/"}, {"ip", "10.0.0.1"}},
  };
  MatchMemory memory;
  Matched matched;
  const auto all = [&] {
    for (const auto& request : requests)
      EXPECT_TRUE(match(*set, {request, 2, "bulk"}, Time(), memory, matched));
  };
  all();
  const std::uint64_t before = allocations.load();
  for (int i = 0; i < 100; ++i) all();
  EXPECT_EQ(allocations.load(), before);
}

TEST(Descriptors, are_matched_without_allocating_once_their_memory_has_grown) {
  const MadeOfTexts made = made_of({{"d", R"(
domain: d
descriptors:
- { key: a, rate_limit: { unit: minute, requests_per_unit: 5 }, descriptors: [{ key: b, rate_limit: { unit: day, requests_per_unit: 1 } }] }
- { key: p, value: "x*y*z", share_threshold: true, rate_limit: { unit: minute, requests_per_unit: 5 } }
)"}});
  ASSERT_NE(made.set, nullptr);
  const Descriptors::Tree* const tree = made.set->find("d");
  const std::string long_value(1000, 'v');
  const std::vector<Entries> asked = {
      {{"a", "1"}}, {{"a", long_value}, {"b", ""}}, {{"p", "x1y1z"}}, {{"q", ""}}};
  const DescriptorOverride override{7, RateUnit::hour, 1};
  DescriptorMatch match;
  const auto all = [&] {
    for (const Entries& each : asked) {
      made.set->match(*tree, each, nullptr, match);
      made.set->match(*tree, each, &override, match);
    }
  };
  all();
  const std::uint64_t before = allocations.load();
  for (int i = 0; i < 100; ++i) all();
  EXPECT_EQ(allocations.load(), before);
}

}  // namespace
}  // namespace weir::limits
