#include "steering/file_keeper.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace weir::inline v0_1::steering {
namespace {

using limits::Steer;

OperatorOverride kept_ban(std::uint64_t number, const std::string& user) {
  return {.number = number,
          .what = Steer::ban,
          .limit = "l",
          .limit_id = "l",
          .when = {{"user", user}},
          .rates = {},
          .until = limits::Time(std::chrono::seconds{100}),
          .reason = "r",
          .user = "u",
          .set_at = limits::Time{}};
}

class FileKeeping : public testing::Test {
 protected:
  FileKeeping() {
    std::string folder = testing::TempDir() + "weir-overrides-XXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    path_ = folder + "/s.overrides";
  }
  ~FileKeeping() override { std::filesystem::remove_all(folder_); }

  std::string bytes() const {
    std::ostringstream text;
    text << std::ifstream(path_, std::ios::binary).rdbuf();
    return text.str();
  }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string wrong() const {
    const auto loaded = FileKeeper(path_).load();
    if (loaded) return "";
    const std::string before = "overrides '" + path_ + "': ";
    EXPECT_EQ(loaded.error().substr(0, before.size()), before);
    return loaded.error().substr(before.size());
  }
  std::string numbers() const {
    std::string text;
    const auto loaded = FileKeeper(path_).load();
    if (!loaded) return loaded.error();
    for (const auto& [number, each] : loaded->all())
      text += std::to_string(number) + each->when[0].second + " ";
    return text + "next " + std::to_string(loaded->next_number());
  }

  std::string folder_;
  std::string path_;
};

TEST_F(FileKeeping, has_what_was_set_and_not_ended) {
  FileKeeper keeper(path_);
  EXPECT_EQ(numbers(), "next 1");
  OverrideBook book;
  for (const auto& [number, user] : {std::pair{1, "a"}, {2, "b"}, {3, "c"}, {4, "a"}}) {
    const OperatorOverride made = kept_ban(static_cast<std::uint64_t>(number), user);
    EXPECT_EQ(keeper.keep(book, &made, {}), std::nullopt);
    book.set(made);
  }
  EXPECT_EQ(numbers(), "2b 3c 4a next 5");
  EXPECT_EQ(keeper.keep(book, nullptr, {book.find(2), book.find(4)}), std::nullopt);
  book.end(2);
  book.end(4);
  EXPECT_EQ(numbers(), "3c next 5");  // nobody has the number of another again
  struct stat found{};
  ASSERT_EQ(stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(FileKeeping, refuses_a_file_that_is_not_whole) {
  OverrideBook book;
  const OperatorOverride made = kept_ban(1, "a");
  ASSERT_EQ(FileKeeper(path_).keep(book, &made, {}), std::nullopt);
  const std::string whole = bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    EXPECT_EQ(wrong().substr(0, 8), "damaged:") << size;
  }
  for (std::size_t at = 0; at < whole.size() - 1; ++at) {
    std::string other = whole;
    other[at] = static_cast<char>(other[at] ^ 1);
    write(other);
    EXPECT_NE(wrong(), "") << at;
  }
  write("");
  EXPECT_EQ(wrong(), "damaged: it does not begin as such a file does");
  write("weir overrides 2\nwhatever");
  EXPECT_EQ(wrong(), "is of version 2; this program reads 1");
  write(whole.substr(0, whole.size() - 20));
  EXPECT_EQ(wrong(), "damaged: it has lost its end");
  write(whole);
  EXPECT_EQ(wrong(), "");
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_EQ(wrong(), "Is a directory");
}

// One on which the n-th call that may fail does.
class FailingDisk final : public store::Disk {
 public:
  int create(std::string& path) override { return fails() ? -1 : Disk::create(path); }
  std::ptrdiff_t write(int file, const char* data, std::size_t size) override {
    return fails() ? -1 : Disk::write(file, data, size > 7 ? 7 : size);
  }
  bool sync(int file) override { return !fails() && Disk::sync(file); }
  bool sync_folder_of(const std::string& path) override { return !fails() && Disk::sync_folder_of(path); }
  bool rename(const std::string& from, const std::string& to) override {
    return !fails() && Disk::rename(from, to);
  }
  int calls = 0;
  int fails_at = 0;

 private:
  bool fails() {
    errno = ENOSPC;
    return ++calls == fails_at;
  }
};

TEST_F(FileKeeping, leaves_the_file_as_it_was_wherever_the_disk_fails) {
  FailingDisk disk;
  FileKeeper keeper(path_, disk);
  OverrideBook book;
  book.set(kept_ban(1, "a"));
  const OperatorOverride made = kept_ban(2, "b");
  ASSERT_EQ(keeper.keep(OverrideBook(), book.find(1).get(), {}), std::nullopt);
  for (int fails_at = 1;; ++fails_at) {
    disk.calls = 0;
    disk.fails_at = fails_at;
    const auto why = keeper.keep(book, &made, {});
    if (!why) {
      EXPECT_GT(fails_at, 8);
      break;
    }
    EXPECT_NE(why->find("No space left on device"), std::string::npos) << *why;
    EXPECT_EQ(numbers(), "1a next 2");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
  }
  EXPECT_EQ(numbers(), "1a 2b next 3");
}

}  // namespace
}  // namespace weir::steering
