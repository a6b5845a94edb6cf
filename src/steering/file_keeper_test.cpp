#include "steering/file_keeper.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

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

// As the first version wrote it: all at once, nothing after it.
TEST_F(FileKeeping, reads_a_file_of_version_1_and_goes_on_in_version_2) {
  const std::string before =
      "weir overrides 1\n1 7\n53 1:7"
      "3:ban"
      "1:l1:l"
      "1:1"
      "4:user1:a"
      "1:0"
      "12:100000000000"
      "1:r1:u1:0\n"
      "6f6187848e73a0d0\n";
  write(before);
  EXPECT_EQ(numbers(), "7a next 8");
  write(before + "+x 0123456789abcdef\n");
  EXPECT_EQ(wrong(), "damaged: something follows its end");
  write(before);
  FileKeeper keeper(path_);
  const auto book = keeper.load();
  const OperatorOverride made = kept_ban(8, "b");
  ASSERT_EQ(keeper.keep(*book, &made, {}), std::nullopt);
  EXPECT_EQ(numbers(), "7a 8b next 9");
  EXPECT_TRUE(bytes().starts_with("weir overrides 2\n"));
}

// Keys and reasons may be any bytes.
TEST_F(FileKeeping, a_line_is_one_whatever_is_in_it) {
  FileKeeper keeper(path_);
  OverrideBook book;
  std::string expected;
  std::uint64_t number = 0;
  for (const std::string& user :
       {std::string("a"), std::string("\n"), std::string("\\n\\\n\\"), std::string("\0 x", 3)}) {
    const OperatorOverride made = kept_ban(++number, user);
    ASSERT_EQ(keeper.keep(book, &made, {}), std::nullopt);
    book.set(made);
    expected += std::to_string(number) + user + " ";
  }
  EXPECT_EQ(numbers(), expected + "next 5");
}

TEST_F(FileKeeping, refuses_what_was_written_at_once_and_is_not_whole) {
  OverrideBook book;
  const OperatorOverride made = kept_ban(1, "a");
  ASSERT_EQ(FileKeeper(path_).keep(book, &made, {}), std::nullopt);
  const std::string whole = bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    EXPECT_EQ(wrong().substr(0, 8), "damaged:") << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string other = whole;
    other[at] = static_cast<char>(other[at] ^ 1);
    write(other);
    EXPECT_NE(wrong(), "") << at;
  }
  write("");
  EXPECT_EQ(wrong(), "damaged: it does not begin as such a file does");
  write("weir overrides 3\nwhatever");
  EXPECT_EQ(wrong(), "is of version 3; this program reads 1 and 2");
  write(whole.substr(0, whole.size() - 20));
  EXPECT_EQ(wrong(), "damaged: it has lost its end");
  write(whole);
  EXPECT_EQ(wrong(), "");
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_EQ(wrong(), "Is a directory");
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(wrong(), "Not a regular file");
}

// One whose calls can be counted, and may fail; to sync takes it no time.
class FailingDisk final : public store::Disk {
 public:
  int create(std::string& path) override { return fails() ? -1 : Disk::create(path); }
  std::ptrdiff_t write(int file, const char* data, std::size_t size) override {
    if (fails()) return -1;
    const std::ptrdiff_t wrote = Disk::write(file, data, std::min(size, most_at_once));
    written += static_cast<std::size_t>(wrote);
    is_synced = false;
    return wrote;
  }
  bool cut(int file, std::uint64_t size) override { return !(cuts_fail && fails()) && Disk::cut(file, size); }
  bool sync(int /*file*/) override {
    is_synced = !fails();
    return is_synced;
  }
  bool sync_folder_of(const std::string& /*path*/) override { return !fails(); }
  bool rename(const std::string& from, const std::string& to) override {
    if (fails() || !Disk::rename(from, to)) return false;
    ++renamed;
    return true;
  }
  void fail(int from, int until) {
    calls_ = 0;
    from_ = from;
    until_ = until;
  }
  bool has_failed() const { return calls_ >= from_; }

  std::size_t most_at_once = 7;
  std::size_t written = 0;
  int renamed = 0;
  bool is_synced = true;
  bool cuts_fail = true;

 private:
  bool fails() {
    errno = ENOSPC;
    ++calls_;
    return calls_ >= from_ && calls_ < until_;
  }

  int calls_ = 0;
  int from_ = 0;
  int until_ = 0;
};

constexpr int kForever = 1 << 30;

// Cut short by a kill or a full disk it was not answered; changed it was.
TEST_F(FileKeeping, loses_the_last_change_where_that_has_no_end_and_refuses_other_damage) {
  FailingDisk disk;
  FileKeeper keeper(path_, disk);
  OverrideBook book;
  std::vector<std::size_t> ends;
  std::vector<std::string> states;
  const auto keep = [&](const OperatorOverride* made, const std::vector<OverrideBook::Ptr>& ended) {
    ASSERT_EQ(keeper.keep(book, made, ended), std::nullopt);
    for (const OverrideBook::Ptr& each : ended) book.end(each->number);
    if (made != nullptr) book.set(*made);
    ends.push_back(bytes().size());
    states.push_back(numbers());
  };
  for (const auto& [number, user] : {std::pair{1, "a"}, {2, "b"}, {3, "a"}}) {
    const OperatorOverride made = kept_ban(static_cast<std::uint64_t>(number), user);
    keep(&made, {});
  }
  keep(nullptr, {book.find(2), book.find(3)});
  const std::string whole = bytes();
  for (std::size_t size = ends[0]; size <= whole.size(); ++size) {
    write(whole.substr(0, size));
    const auto after = std::upper_bound(ends.begin(), ends.end(), size) - ends.begin();
    EXPECT_EQ(numbers(), states[static_cast<std::size_t>(after - 1)]) << size;
    // And the next change has its place.
    FileKeeper next(path_, disk);
    const auto read = next.load();
    const OperatorOverride made = kept_ban(9, "z");
    ASSERT_EQ(next.keep(*read, &made, {}), std::nullopt);
    EXPECT_TRUE(numbers().ends_with("9z next 10")) << numbers();
  }
  for (std::size_t at = 0; at + 1 < whole.size(); ++at) {
    std::string other = whole;
    other[at] = static_cast<char>(other[at] ^ 1);
    write(other);
    EXPECT_NE(wrong(), "") << at;
  }
  write(whole.substr(0, ends[0]) + whole.substr(ends[1]));
  EXPECT_EQ(wrong(), "damaged: a change's checksum does not match");
}

// At a change that is added, and at one with which the file is written again; once, while the disk is full,
// and where it does nothing at all any more.
TEST_F(FileKeeping, has_what_was_answered_and_nothing_else_wherever_the_disk_fails) {
  enum class Fails { once, full, broken };
  for (const int changes : {1, 102}) {
    for (const Fails how : {Fails::once, Fails::full, Fails::broken}) {
      bool has_failed = true;
      for (int from = 1; has_failed; ++from) {
        std::filesystem::remove(path_);
        FailingDisk disk;
        disk.cuts_fail = how == Fails::broken;
        FileKeeper keeper(path_, disk);
        OverrideBook book;
        const auto keep = [&](int number, const char* user) {
          const OperatorOverride made = kept_ban(static_cast<std::uint64_t>(number), user);
          auto why = keeper.keep(book, &made, {});
          if (!why) book.set(made);
          return why;
        };
        for (int i = 1; i <= changes; ++i) ASSERT_EQ(keep(i, "a"), std::nullopt);
        const std::string first = std::to_string(changes) + "a ";
        EXPECT_EQ(numbers(), first + "next " + std::to_string(changes + 1));
        const int renamed = disk.renamed;
        disk.fail(from, how == Fails::once ? from + 1 : kForever);
        const auto why = keep(200, "b");
        has_failed = disk.has_failed();
        disk.fail(kForever, kForever);
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
        if (!has_failed) {
          EXPECT_EQ(disk.renamed, renamed + (changes > 1 ? 1 : 0));
        }
        if (why) {
          EXPECT_NE(why->find("No space left on device"), std::string::npos) << *why;
          // What was moved into place and could not be moved back is put right by the next change.
          if (how == Fails::once || (how == Fails::full && disk.renamed == renamed)) {
            EXPECT_EQ(numbers(), first + "next " + std::to_string(changes + 1));
          }
        } else {
          EXPECT_EQ(numbers(), first + "200b next 201");
        }
        // And it goes on.
        EXPECT_EQ(keep(201, "c"), std::nullopt);
        EXPECT_EQ(numbers(), first + (why ? "" : "200b ") + "201c next 202") << from;
      }
    }
  }
}

// What a change costs does not grow with how many there are, and what is dead goes.
TEST_F(FileKeeping, a_change_writes_a_line_and_the_file_keeps_no_more_dead_than_living) {
  FailingDisk disk;
  disk.fail(kForever, kForever);
  disk.most_at_once = std::string::npos;
  FileKeeper keeper(path_, disk);
  OverrideBook book;
  const auto set = [&](std::uint64_t number, std::size_t user) {
    const OperatorOverride made = kept_ban(number, std::to_string(user));
    ASSERT_EQ(keeper.keep(book, &made, {}), std::nullopt);
    ASSERT_TRUE(disk.is_synced);
    book.set(made);
  };
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 1000; ++i) set(++number, i);
  EXPECT_EQ(disk.renamed, 1);
  EXPECT_LT(disk.written, 1000 * 130U);
  for (std::size_t i = 0; i < 10'000; ++i) set(++number, i % 1000);
  EXPECT_LT(disk.written, 3 * 11'000 * 130U);
  EXPECT_LE(std::filesystem::file_size(path_), 2002 * 130U);
  while (book.size() > 1) {
    const auto some = book.all().begin()->second;
    ASSERT_EQ(keeper.keep(book, nullptr, {some}), std::nullopt);
    book.end(some->number);
  }
  EXPECT_LE(std::filesystem::file_size(path_), (FileKeeper::kFewDead + 3) * 130U);
  EXPECT_EQ(numbers(), "11000999 next 11001");
}

// Taken away, put back from a backup, written by another program: what is in force is there again.
TEST_F(FileKeeping, is_written_again_where_somebody_else_has_changed_it) {
  FileKeeper keeper(path_);
  OverrideBook book;
  std::string backup;
  std::uint64_t number = 0;
  const auto set = [&] {
    ++number;
    const OperatorOverride made = kept_ban(number, std::to_string(number));
    EXPECT_EQ(keeper.keep(book, &made, {}), std::nullopt);
    book.set(made);
    std::string expected;
    for (const auto& [each, it] : book.all()) expected += std::to_string(each) + it->when[0].second + " ";
    EXPECT_EQ(numbers(), expected + "next " + std::to_string(number + 1));
  };
  set();
  backup = bytes();
  set();
  write(backup);
  set();
  std::filesystem::remove(path_);
  set();
  ASSERT_EQ(mkfifo((path_ + ".fifo").c_str(), 0600), 0);
  std::filesystem::rename(path_ + ".fifo", path_);
  set();
  std::string other = bytes();
  other[other.size() - 2] = 'x';
  write(other);
  set();
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  const OperatorOverride made = kept_ban(9, "9");
  EXPECT_EQ(keeper.keep(book, &made, {}), "overrides '" + path_ + "': cannot rename: Is a directory");
  std::filesystem::remove(path_);
  set();
  // Two programs, which the lock beside the snapshot keeps apart: each writes what it has.
  FileKeeper second(path_);
  auto its = second.load();
  set();
  const OperatorOverride last = kept_ban(20, "x");
  EXPECT_EQ(second.keep(*its, &last, {}), std::nullopt);
  EXPECT_EQ(wrong(), "");
}

}  // namespace
}  // namespace weir::steering
