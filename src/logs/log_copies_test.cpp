#include "logs/log_copies.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "logs/line_parser_test.hpp"

namespace weir::inline v0_1::logs {
namespace {

std::string lines(int count, int changed = -1) {
  std::string text;
  for (int n = 0; n < count; ++n) text += "line " + std::to_string(n == changed ? -1 : n) + "\n";
  return text;
}

// Of two files with these contents.
bool are_copies(const std::string& one, const std::string& other) {
  const std::string folder = testing::TempDir() + "/log_copies";
  std::filesystem::create_directories(folder);
  std::vector<std::string> files;
  for (const std::string& text : {one, other}) {
    files.push_back(folder + "/" + std::to_string(files.size()));
    std::ofstream(files.back()) << text;
  }
  const std::atomic<bool> stop{false};
  const std::string why = refusal([&] { refuse_copies(files, stop); });
  if (why == "accepted") return false;
  EXPECT_EQ(why, files[1] + ": begins and ends with the same lines as " + files[0] +
                     ", so its requests would count twice");
  return true;
}

TEST(LogCopies, are_told_by_their_two_ends) {
  EXPECT_TRUE(are_copies(lines(10), lines(10)));
  EXPECT_TRUE(are_copies(lines(5'000), lines(5'000)));
  EXPECT_TRUE(are_copies(lines(20'000, 9'000), lines(20'000)));
  EXPECT_FALSE(are_copies(lines(5'000, 999), lines(5'000)));
  EXPECT_FALSE(are_copies(lines(5'000, 4'000), lines(5'000)));
  EXPECT_FALSE(are_copies(lines(5'000), lines(5'001)));
  EXPECT_FALSE(are_copies(lines(9), lines(9)));
}

TEST(LogCopies, what_cannot_be_read_is_left_to_the_reader) {
  const std::atomic<bool> stop{false};
  EXPECT_EQ(refusal([&] { refuse_copies({"-", "/", "/nonexistent", "/nonexistent"}, stop); }), "accepted");
}

}  // namespace
}  // namespace weir::logs
