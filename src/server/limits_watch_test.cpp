#include "server/limits_watch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "service/descriptors_in_force.hpp"
#include "service/limits_in_force.hpp"

namespace weir::inline v0_1::server {
namespace {

using Lines = std::vector<std::string>;
using Reading = LimitsWatch::Reading;

// A file whose reading stands still, once it is asked to, where the line that it is in force is logged.
class Watched : public testing::Test {
 protected:
  Watched() {
    std::filesystem::create_directory(folder_);
    std::ofstream(path_) << "version: 1\nlimits: { user: { by: [user], rate: 10/s } }\n";
    limits_.reload();
  }
  ~Watched() override { std::filesystem::remove_all(folder_); }

  service::LimitsInForce::OnRead note(Lines& told, std::promise<void>& done) {
    return [&](const Lines& errors) {
      told = errors;
      done.set_value();
    };
  }

  const std::string folder_ = testing::TempDir() + "weir-watch-" + std::to_string(getpid());
  const std::string path_ = folder_ + "/limits.yaml";
  bool stands_still_ = false;
  int in_force_ = 0;
  std::promise<void> stands_;
  std::promise<void> goes_on_;
  service::LimitsInForce limits_{{.path = path_,
                                  .wall_clock = [] { return std::chrono::nanoseconds{0}; },
                                  .log =
                                      [this](bool, const std::string&) {
                                        ++in_force_;
                                        if (!std::exchange(stands_still_, false)) return;
                                        stands_.set_value();
                                        goes_on_.get_future().wait();
                                      }}};
};

TEST_F(Watched, all_that_ask_while_it_reads_share_the_next_reading) {
  ASSERT_EQ(std::exchange(in_force_, 0), 1);
  stands_still_ = true;
  LimitsWatch watch(limits_);
  std::vector<Lines> told(4, Lines{"nothing"});
  std::vector<std::promise<void>> done(4);
  watch.ask(Reading::reload, note(told[0], done[0]));
  stands_.get_future().wait();
  std::ofstream(path_) << "version: 2\n";
  for (std::size_t i = 1; i < 4; ++i)
    watch.ask(i == 3 ? Reading::check : Reading::reload, note(told[i], done[i]));
  goes_on_.set_value();
  for (auto& each : done) each.get_future().wait();
  EXPECT_EQ(told[0], Lines());
  ASSERT_FALSE(told[1].empty());
  EXPECT_EQ(told[1], told[2]);
  EXPECT_EQ(told[1], told[3]);
  EXPECT_EQ(in_force_, 1 + static_cast<int>(told[1].size()) + 1) << "the second was read and logged once";
}

TEST_F(Watched, the_end_waits_for_no_reading) {
  stands_still_ = true;
  LimitsWatch watch(limits_);
  std::vector<Lines> told(3);
  std::vector<std::promise<void>> done(3);
  watch.ask(Reading::reload, note(told[0], done[0]));
  stands_.get_future().wait();
  watch.ask(Reading::check, note(told[1], done[1]));
  watch.end();
  watch.ask(Reading::check, note(told[2], done[2]));
  for (auto& each : done) each.get_future().wait();
  for (const Lines& each : told) EXPECT_EQ(each, Lines{"the server is shutting down"});
  goes_on_.set_value();
}

// A Kubernetes ConfigMap's files change when a link to their folder is swapped.
TEST(Folder, is_read_again_when_a_link_on_the_way_to_its_files_is_swapped) {
  namespace fs = std::filesystem;
  const std::string folder = testing::TempDir() + "weir-folder-" + std::to_string(getpid());
  fs::create_directories(folder + "/..1");
  fs::create_directories(folder + "/..2");
  std::ofstream(folder + "/..1/a.yaml") << "domain: one\n";
  std::ofstream(folder + "/..2/a.yaml") << "domain: two\n";
  fs::create_directory_symlink("..1", folder + "/..data");
  fs::create_symlink("..data/a.yaml", folder + "/a.yaml");
  std::promise<void> again;
  service::DescriptorsInForce files({.path = folder,
                                     .wall_clock = [] { return std::chrono::nanoseconds{0}; },
                                     .log =
                                         [&, times = 0](bool, const std::string&) mutable {
                                           if (++times == 2) again.set_value();
                                         }});
  files.reload();
  EXPECT_NE(files.current()->find("one"), nullptr);
  {
    LimitsWatch watch(files);
    fs::create_directory_symlink("..2", folder + "/..next");
    fs::rename(folder + "/..next", folder + "/..data");
    again.get_future().wait();
  }
  EXPECT_EQ(files.current()->find("one"), nullptr);
  EXPECT_NE(files.current()->find("two"), nullptr);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace weir::server
