#include "weir/format.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace weir::inline v0_1::core {
namespace {

using namespace std::chrono_literals;

template <class Value>
std::string streamed(const Value& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

TEST(Format, a_decision_reads_as_weir_check_prints_it) {
  struct Row {
    Decision decision;
    const char* text;
  };
  const Row rows[] = {
      {{Verdict::allowed, 20, 19, std::nullopt, 600ms}, "allowed: 19 of 20 left, full again in 1 s"},
      {{Verdict::denied, 20, 0, 600ms, 12s}, "denied: 0 of 20 left, retry in 1 s, full again in 12 s"},
      {{Verdict::denied, 1, 0, 1001ms, 1001ms}, "denied: 0 of 1 left, retry in 2 s, full again in 2 s"},
      {{Verdict::never, 5, 5, std::nullopt, 0s},
       "never: 5 of 5 left, the cost is above the burst: waiting does not help, full again in 0 s"},
      {{Verdict::denied, 5, 0, 1s, 5s, Source::remembered},
       "denied: 0 of 5 left, retry in 1 s, full again in 5 s, decided by: remembered"},
      {{Verdict::allowed, 5, 4, std::nullopt, 1s, Source::fallback},
       "allowed: 4 of 5 left, full again in 1 s, decided by: fallback"},
  };
  for (const auto& [decision, text] : rows) {
    EXPECT_EQ(to_text(decision), text);
    EXPECT_EQ(streamed(decision), text);
#if defined(__cpp_lib_format)
    EXPECT_EQ(std::format("{}", decision), text);
#endif
  }
}

TEST(Format, a_quotas_text_is_what_parse_reads) {
  for (const char* text : {"100/min burst 20", "5/10s", "1/1500ms", "50/s burst 500"}) {
    const Quota quota = Quota::parse(text).value();
    EXPECT_EQ(to_text(quota), text);
    EXPECT_EQ(streamed(quota), text);
    EXPECT_EQ(Quota::parse(to_text(quota)), quota);
#if defined(__cpp_lib_format)
    EXPECT_EQ(std::format("{}", quota), text);
#endif
  }
}

TEST(Format, enumerators_have_names) {
  EXPECT_EQ(to_text(Verdict::never), "never");
  EXPECT_EQ(to_text(Source::leased), "leased");
  EXPECT_EQ(to_text(Fault::foreign_value), "foreign_value");
}

}  // namespace
}  // namespace weir::core
