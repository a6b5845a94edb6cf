#include "resp/option_words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "weir/charge.hpp"

namespace weir::inline v0_1::resp {
namespace {

using namespace std::chrono_literals;

struct OptionCase {
  Option option;
  std::string name;
  std::string good;  // empty: it has no value
  std::string bad;   // empty: any text will do
  std::string error;
};

const std::vector<OptionCase>& all_options() {
  static const std::vector<OptionCase> kAll = {
      {Option::cost, "COST", "7", "-1", "ERR COST: '-1' is not an integer from 0 to 9223372036854775807"},
      {Option::at_least, "ATLEAST", "3", "0", "ERR ATLEAST: '0' is not an integer from 1 to 7"},
      {Option::class_name, "CLASS", "gold", "", ""},
      {Option::fields, "FIELDS", "", "", ""},
      {Option::now, "NOW", "2026-11-29", "", ""},
      {Option::max_wait, "MAXWAIT", "100", "101", "ERR MAXWAIT: '101' is not an integer from 0 to 100"},
      {Option::hold, "HOLD", "1", "0", "ERR HOLD: '0' is not an integer from 1 to 86400000"},
      {Option::bound, "BOUND", "", "", ""},
      {Option::tag, "TAG", "a", std::string(65, 'x'), "ERR TAG must be of 1 to 64 bytes"},
      {Option::limit, "LIMIT", "l", "", ""},
      {Option::window, "WINDOW", "1min", "x", "ERR WINDOW: 'x' is not a period, as in 1min"},
      {Option::remaining, "REMAINING", "0", "1.5",
       "ERR REMAINING: '1.5' is not an integer from 0 to 9223372036854775807"},
      {Option::pause, "PAUSE", "0", "x",
       "ERR PAUSE: 'x' is not an integer from 0 to " +
           std::to_string(std::chrono::floor<std::chrono::milliseconds>(Pause::kLongest).count())},
      {Option::count, "COUNT", "1024", "1025", "ERR COUNT: '1025' is not an integer from 1 to 1024"},
      {Option::by, "BY", "cost", "", ""},
      {Option::after, "AFTER", "0", "-1", "ERR AFTER: '-1' is not an integer from 0 to 9223372036854775807"},
  };
  return kAll;
}

// What is left of the words, or the error.
std::string left(const std::string& text, OptionSet takes, OptionWords* into = nullptr) {
  std::vector<std::string_view> words;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find(' ', from), text.size());
    words.push_back(std::string_view(text).substr(from, end - from));
    from = end + 1;
  }
  std::span<const std::string_view> rest(words);
  OptionWords own;
  std::string error;
  if (!read_options(rest, takes, into != nullptr ? *into : own, error, 100ms)) return error;
  std::string all;
  for (const std::string_view each : rest) (all += all.empty() ? "" : " ") += each;
  return all;
}

TEST(OptionWords, each_is_read_once_with_its_value_and_only_where_it_is_taken) {
  OptionSet every = 0;
  for (const OptionCase& each : all_options()) every |= options(each.option);
  EXPECT_EQ(every, (1U << all_options().size()) - 1) << "one has no row here";
  for (const OptionCase& each : all_options()) {
    // What needs a cost has one before it.
    const std::string before = each.option == Option::at_least ? "COST 7 " : "";
    const OptionSet takes = options(each.option, Option::cost);
    const std::string said = each.name + (each.good.empty() ? "" : " " + each.good);
    std::string lower = said;
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
    OptionWords into;
    EXPECT_EQ(left(before + lower + " k 1/s", takes, &into), "k 1/s");
    EXPECT_TRUE(into.has(each.option)) << each.name;
    EXPECT_EQ(left(before + said + " " + said, takes), "ERR " + each.name + " is given twice");
    if (!each.good.empty()) {
      EXPECT_EQ(left(before + each.name, takes), "ERR missing the value of " + each.name);
    }
    if (!each.bad.empty()) {
      EXPECT_EQ(left(before + each.name + " " + each.bad, takes), each.error);
    }
    const std::string elsewhere = left(said + " k", 0);
    if (each.option == Option::fields || each.option == Option::at_least) {
      EXPECT_TRUE(elsewhere.starts_with("ERR " + each.name + " is for ")) << elsewhere;
    } else {
      EXPECT_EQ(elsewhere, said + " k");
    }
  }
}

TEST(OptionWords, stand_in_any_order_up_to_the_first_word_that_is_another) {
  OptionWords into;
  EXPECT_EQ(left("hold 5 Cost 3 bound maxwait 9 KEYS COST 1/s",
                 options(Option::hold, Option::cost, Option::bound, Option::max_wait), &into),
            "KEYS COST 1/s");
  EXPECT_EQ(into.cost, 3U);
  EXPECT_EQ(into.hold, 5ms);
  EXPECT_EQ(into.max_wait, 9ms);
  EXPECT_TRUE(into.has(Option::bound) && into.has_units());
  for (const char* other : {"COSTS", "COS", "C", "REMAINING1", "REMAINIMG", "REMAINING=", "\xffOLD", "-OLD"})
    EXPECT_EQ(left(std::string(other) + " 1", 0xffff), std::string(other) + " 1");
}

TEST(OptionWords, the_word_after_a_pause_may_be_afresh) {
  const OptionSet takes = options(Option::pause, Option::limit);
  OptionWords into;
  EXPECT_EQ(left("PAUSE 5 aFresh LIMIT l k", takes, &into), "k");
  EXPECT_TRUE(into.afresh);
  EXPECT_EQ(left("LIMIT l AFRESH k", takes), "AFRESH k");
}

TEST(OptionWords, a_cost_by_name_has_no_units) {
  OptionWords into;
  EXPECT_EQ(left("COST rpm=1,tpm=300 a", options(Option::cost), &into), "a");
  EXPECT_EQ(into.costs.size(), 2U);
  EXPECT_FALSE(into.has_units());
  EXPECT_EQ(refuse_for_rules(into), kCostsAreTheFiles);
  const OptionSet takes = options(Option::cost, Option::at_least);
  EXPECT_EQ(left("COST rpm=1 ATLEAST 1 a", takes), "ERR ATLEAST is not for a COST by name");
  EXPECT_EQ(left("ATLEAST 1 a", takes), kNeedsCost);
  EXPECT_EQ(left("ATLEAST 1 COST 0 a", takes), "ERR ATLEAST: a COST of 0 takes nothing");
}

}  // namespace
}  // namespace weir::resp
