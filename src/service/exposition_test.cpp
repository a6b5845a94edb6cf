#include "service/exposition.hpp"

#include <gtest/gtest.h>

namespace weir::inline v0_1::service {
namespace {

using Kind = Exposition::Kind;
using Format = Exposition::Format;
using namespace std::chrono_literals;

std::string all_kinds(Format format) {
  Exposition to(format);
  to.family(Kind::counter, "weir_a_total", "First");
  to.sample({}, std::uint64_t{18'446'744'073'709'551'615U});
  to.family(Kind::gauge, "weir_b", "Second");
  to.sample({{"limit", "user"}, {"window", "1s"}}, 0.1);
  to.family(Kind::info, "weir_c_info", "Third");
  to.sample({{"hash", "00"}}, std::uint64_t{1});
  to.family(Kind::histogram, "weir_d_seconds", "Fourth");
  core::Histogram::Total took{.sum = 1500ms};
  took.buckets[1] = 3;
  took.buckets.back() = 1;
  to.sample({{"protocol", "resp"}}, took);
  return to.finish();
}

TEST(Exposition, prometheus_text) {
  EXPECT_EQ(all_kinds(Format::prometheus), R"(# HELP weir_a_total First
# TYPE weir_a_total counter
weir_a_total 18446744073709551615
# HELP weir_b Second
# TYPE weir_b gauge
weir_b{limit="user",window="1s"} 0.1
# HELP weir_c_info Third
# TYPE weir_c_info gauge
weir_c_info{hash="00"} 1
# HELP weir_d_seconds Fourth
# TYPE weir_d_seconds histogram
weir_d_seconds_bucket{protocol="resp",le="1e-06"} 0
weir_d_seconds_bucket{protocol="resp",le="2.5e-06"} 3
weir_d_seconds_bucket{protocol="resp",le="5e-06"} 3
weir_d_seconds_bucket{protocol="resp",le="1e-05"} 3
weir_d_seconds_bucket{protocol="resp",le="2.5e-05"} 3
weir_d_seconds_bucket{protocol="resp",le="5e-05"} 3
weir_d_seconds_bucket{protocol="resp",le="1e-04"} 3
weir_d_seconds_bucket{protocol="resp",le="0.00025"} 3
weir_d_seconds_bucket{protocol="resp",le="5e-04"} 3
weir_d_seconds_bucket{protocol="resp",le="0.001"} 3
weir_d_seconds_bucket{protocol="resp",le="0.0025"} 3
weir_d_seconds_bucket{protocol="resp",le="0.005"} 3
weir_d_seconds_bucket{protocol="resp",le="0.01"} 3
weir_d_seconds_bucket{protocol="resp",le="0.025"} 3
weir_d_seconds_bucket{protocol="resp",le="0.05"} 3
weir_d_seconds_bucket{protocol="resp",le="0.1"} 3
weir_d_seconds_bucket{protocol="resp",le="0.25"} 3
weir_d_seconds_bucket{protocol="resp",le="+Inf"} 4
weir_d_seconds_sum{protocol="resp"} 1.5
weir_d_seconds_count{protocol="resp"} 4
)");
}

// The families of counters and infos are called without their samples' ending, and the text has an end.
TEST(Exposition, openmetrics) {
  const std::string text = all_kinds(Format::openmetrics);
  for (const std::string_view part :
       {"# TYPE weir_a counter\nweir_a_total 18446744073709551615\n",
        "# TYPE weir_c info\nweir_c_info{hash=\"00\"} 1\n", "# TYPE weir_d_seconds histogram\n",
        "weir_d_seconds_count{protocol=\"resp\"} 4\n# EOF\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
  EXPECT_TRUE(text.ends_with("\n# EOF\n"));
}

TEST(Exposition, no_text_ends_its_label_or_line) {
  Exposition to(Format::prometheus);
  to.family(Kind::gauge, "weir_x", "a \\ \"b\"\nc");
  to.sample({{"limit", "\"} 1\nweir_forged 2 \\"}}, std::uint64_t{1});
  EXPECT_EQ(to.finish(),
            "# HELP weir_x a \\\\ \"b\"\\nc\n# TYPE weir_x gauge\nweir_x{limit=\"\\\"} 1\\nweir_forged 2 "
            "\\\\\"} 1\n");
}

}  // namespace
}  // namespace weir::service
