#include "limits/envoy_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "limits/envoy_file.hpp"

namespace weir::inline v0_1::limits {
namespace {

class Folder : public testing::Test {
 protected:
  Folder() { std::filesystem::create_directories(path_); }
  ~Folder() override { std::filesystem::remove_all(path_); }

  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path_ + "/" + name).parent_path());
    std::ofstream(path_ + "/" + name) << text;
  }
  // The domains that are known, or what is wrong.
  std::string told(const DescriptorOptions& options = {}) {
    const EnvoyFolder folder = read_envoy_folder(path_ + "/", {.compiling = options});
    std::string text;
    for (const Finding& each : folder.findings) text += envoy_text(each) + "\n";
    if (!folder.set) return text;
    for (const std::string& each : folder.set->series()) text += each + " ";
    return text;
  }

  const std::string path_ = testing::TempDir() + "weir-envoy-" + std::to_string(getpid());
};

TEST_F(Folder, every_file_is_read_but_what_begins_with_a_dot) {
  EXPECT_EQ(told(), "");
  write("one.yaml", "domain: one");
  write("README", "domain: two");
  write("sub/deep/three", "domain: three");
  write(".hidden", "domian: x");
  write("..2026_11_25/one.yaml", "domain: one");
  std::filesystem::create_directory_symlink("..2026_11_25", path_ + "/..data");
  std::filesystem::create_symlink("..data/one.yaml", path_ + "/four");
  EXPECT_EQ(told(),
            "one.yaml: duplicate domain 'one' in config file; it is in four already (line 1, column 1)\n");
  EXPECT_EQ(told({.merge_domains = true}), "two.override one.override three.override ");
}

TEST_F(Folder, a_name_is_the_path_with_dots) {
  write("a/b/c.yaml", "domian: x");
  EXPECT_EQ(told(),
            "a.b.c.yaml: config error, unknown key 'domian'; did you mean domain? (line 1, column 1)\n");
}

TEST_F(Folder, a_pipe_or_a_broken_link_holds_nobody_up) {
  write("one.yaml", "domain: one");
  ASSERT_EQ(mkfifo((path_ + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(told(), "pipe: cannot read it: Not a regular file\n");
  std::filesystem::remove(path_ + "/pipe");
  std::filesystem::create_symlink("gone", path_ + "/dangling");
  EXPECT_EQ(told(), "dangling: cannot read it: No such file or directory\n");
  std::filesystem::remove(path_ + "/dangling");
  std::filesystem::create_directory_symlink(".", path_ + "/loop");
  EXPECT_EQ(told(), "loop: warning: a link to a folder, which is not followed\none.override ");
}

TEST_F(Folder, one_that_is_not_there_is_an_error) {
  EXPECT_EQ(envoy_text(read_envoy_folder(path_ + "/none").findings.at(0)),
            path_ + "/none: cannot read it: No such file or directory");
}

TEST_F(Folder, other_files_or_other_texts_are_told_apart) {
  const auto text = [this] { return read_envoy_folder(path_).text; };
  write("one", "domain: one");
  const std::string before = text();
  EXPECT_EQ(text(), before);
  write("one", "domain: two");
  EXPECT_NE(text(), before);
  std::filesystem::rename(path_ + "/one", path_ + "/other");
  write("other", "domain: one");
  EXPECT_NE(text(), before);
}

}  // namespace
}  // namespace weir::limits
