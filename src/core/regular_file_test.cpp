#include "core/regular_file.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace weir::inline v0_1::core {
namespace {

class RegularFile : public testing::Test {
 protected:
  RegularFile() : folder_(testing::TempDir() + "weir-regular-" + std::to_string(getpid()) + "/") {
    std::filesystem::create_directory(folder_);
    std::ofstream(folder_ + "file") << "0123456789";
    std::ofstream(folder_ + "empty");
  }
  ~RegularFile() override { std::filesystem::remove_all(folder_); }

  const std::string folder_;
};

TEST_F(RegularFile, is_read_whole_or_a_byte_more_than_it_may_have) {
  EXPECT_EQ(read_regular_file(folder_ + "file"), "0123456789");
  EXPECT_EQ(read_regular_file(folder_ + "file", 10), "0123456789");
  EXPECT_EQ(read_regular_file(folder_ + "file", 4), "01234");
  EXPECT_EQ(read_regular_file(folder_ + "empty"), "");
}

TEST_F(RegularFile, nothing_else_is_read_and_nothing_waits) {
  ASSERT_EQ(mkfifo((folder_ + "fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink("fifo", folder_ + "link");
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string name = folder_ + "socket";
  ASSERT_LT(name.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, name.data(), name.size());
  ASSERT_EQ(bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  struct Row {
    std::string path, why;
  };
  for (const Row& row : {Row{folder_ + "fifo", "Not a regular file"},
                         {folder_ + "link", "Not a regular file"},
                         {"/dev/null", "Not a regular file"},
                         {folder_, "Is a directory"},
                         {folder_ + "none", "No such file or directory"},
                         {name, "No such device or address"}}) {
    const auto text = read_regular_file(row.path);
    ASSERT_FALSE(text) << row.path;
    EXPECT_EQ(text.error(), row.why) << row.path;
  }
  close(socket);
}

}  // namespace
}  // namespace weir::core
