#include "service/descriptors_in_force.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace weir::inline v0_1::service {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

class InForce : public testing::Test {
 protected:
  InForce() { std::filesystem::create_directories(path_); }
  ~InForce() override { std::filesystem::remove_all(path_); }

  void write(const std::string& name, const std::string& text) { std::ofstream(path_ + "/" + name) << text; }
  void remove(const std::string& name) { std::filesystem::remove(path_ + "/" + name); }
  bool knows(const char* domain) const { return files_.current()->find(domain) != nullptr; }

  const std::string path_ = testing::TempDir() + "weir-rls-" + std::to_string(getpid());
  std::chrono::nanoseconds now_ = 1h;
  Lines warned_;
  DescriptorsInForce files_{{.path = path_,
                             .wall_clock = [this] { return now_; },
                             .log =
                                 [this](bool warns, const std::string& line) {
                                   if (warns) warned_.push_back(line);
                                 }}};
};

TEST_F(InForce, an_empty_folder_has_no_domain_and_is_warned_of) {
  EXPECT_EQ(files_.reload(), Lines());
  EXPECT_EQ(files_.current()->domains(), 0U);
  EXPECT_EQ(warned_, Lines{path_ + ": there is no file, so no domain is known and nothing is limited"});
}

TEST_F(InForce, a_file_that_has_gone_takes_its_domain_along_while_others_are_there) {
  write("one", "domain: one");
  write("two", "domain: two");
  EXPECT_EQ(files_.reload(), Lines());
  remove("one");
  EXPECT_EQ(files_.reload(), Lines());
  EXPECT_FALSE(knows("one"));
  EXPECT_TRUE(knows("two"));
  remove("two");
  EXPECT_EQ(files_.reload(), Lines{path_ + ": there is no file"});
  EXPECT_TRUE(knows("two")) << "a folder without a file is not believed";
}

TEST_F(InForce, what_does_not_load_changes_nothing_and_is_said_each_minute) {
  write("one", "domain: one");
  EXPECT_EQ(files_.reload(), Lines());
  const std::uint64_t version = files_.version();
  write("two", "domian: two");
  const std::string error =
      "two: config error, unknown key 'domian'; did you mean domain? (line 1, column 1)";
  EXPECT_EQ(files_.check(), Lines{error});
  EXPECT_EQ(files_.reload(), Lines{error});
  const Lines told = {error, "rls-config: '" + path_ + "' has errors; what was read before stays in force"};
  EXPECT_EQ(warned_, told);
  EXPECT_TRUE(knows("one"));
  EXPECT_EQ(files_.version(), version);
  now_ += 59s;
  EXPECT_FALSE(files_.is_overdue());
  now_ += 1s;
  EXPECT_TRUE(files_.is_overdue());
  warned_.clear();
  files_.reload();
  EXPECT_EQ(warned_, told);
  EXPECT_FALSE(files_.is_overdue());
  write("two", "domain: two");
  EXPECT_EQ(files_.reload(), Lines());
  EXPECT_TRUE(knows("two"));
  now_ += 1h;
  EXPECT_FALSE(files_.is_overdue());
}

TEST_F(InForce, files_and_folders_are_watched) {
  std::filesystem::create_directory(path_ + "/sub");
  write("sub/one", "domain: one");
  files_.reload();
  Lines watched;
  for (const auto& [path, stamp] : files_.stamps()) watched.push_back(path);
  EXPECT_EQ(watched, (Lines{path_ + "/.", path_ + "/sub/.", path_ + "/sub/one"}));
  const auto before = files_.stamps();
  EXPECT_EQ(FilesInForce::look(before), before);
  write("sub/two", "");
  EXPECT_NE(FilesInForce::look(before), before);
}

}  // namespace
}  // namespace weir::service
