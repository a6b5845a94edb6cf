#include "server/line_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

namespace weir::inline v0_1::server {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kPatience = 10s;

std::string told(std::uint64_t lines) { return std::to_string(lines) + " dropped\n"; }

struct Pipe {
  Pipe() {
    EXPECT_EQ(pipe(ends.data()), 0);
    fcntl(ends[1], F_SETPIPE_SZ, 4096);
    std::signal(SIGPIPE, SIG_IGN);
  }
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
  // As many bytes as asked for; waits for them.
  std::string read(std::size_t bytes) {
    std::string text(bytes, '\0');
    std::size_t got = 0;
    while (got < bytes) {
      const ssize_t n = ::read(ends[0], text.data() + got, bytes - got);
      if (n <= 0) break;
      got += static_cast<std::size_t>(n);
    }
    text.resize(got);
    return text;
  }
  std::string line() {
    std::string text;
    while (!text.ends_with('\n')) {
      const std::string next = read(1);
      if (next.empty()) break;
      text += next;
    }
    return text;
  }
  std::array<int, 2> ends{};
};

TEST(LineWriter, writes_lines_in_order) {
  Pipe pipe;
  LineWriter writer(pipe.ends[1], told);
  writer.write("one\n");
  writer.write("two\n");
  EXPECT_EQ(pipe.read(8), "one\ntwo\n");
  EXPECT_TRUE(writer.flush(kPatience));
  EXPECT_EQ(writer.dropped(), 0U);
}

TEST(LineWriter, never_waits_for_its_reader_and_says_how_many_it_dropped) {
  Pipe pipe;
  LineWriter writer(pipe.ends[1], told, 10'000);
  const std::string line = std::string(99, 'x') + "\n";
  // More than the pipe and the buffer hold, whenever the thread runs.
  for (int i = 0; i < 1'000; ++i) writer.write(line);
  EXPECT_FALSE(writer.flush(1ms));
  const std::uint64_t dropped = writer.dropped();
  EXPECT_GE(dropped, 1'000U - (4'096 + 2 * 10'000) / 100);
  EXPECT_LE(dropped, 1'000U - 10'000 / 100);
  std::uint64_t seen = 0;
  std::uint64_t told_of = 0;
  while (seen + told_of < 1'000) {
    const std::string next = pipe.line();
    ASSERT_FALSE(next.empty());
    if (next == line) {
      ++seen;
    } else {
      told_of += std::stoull(next);
    }
  }
  EXPECT_EQ(told_of, dropped);
  writer.write("again\n");
  EXPECT_EQ(pipe.read(6), "again\n");
  EXPECT_EQ(writer.dropped(), dropped);
}

TEST(LineWriter, its_end_does_not_wait_for_its_reader) {
  Pipe pipe;
  {
    LineWriter writer(pipe.ends[1], told);
    writer.write(std::string(20'000, 'x') + "\n");
  }
  EXPECT_EQ(pipe.read(20'001).size(), 20'001U);
}

TEST(LineWriter, what_cannot_be_written_is_counted_and_told_of_when_it_can) {
  Pipe pipe;
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  LineWriter writer(full, told);
  writer.write("one\n");
  EXPECT_TRUE(writer.flush(kPatience));
  writer.write("two\n");
  EXPECT_TRUE(writer.flush(kPatience));
  EXPECT_EQ(writer.dropped(), 2U);
  ASSERT_EQ(dup2(pipe.ends[1], full), full);
  writer.write("three\n");
  const std::string wanted = "three\n" + told(2);
  EXPECT_EQ(pipe.read(wanted.size()), wanted);
  EXPECT_EQ(writer.dropped(), 2U);
  close(full);
}

TEST(LineWriter, a_reader_that_goes_away_ends_nothing) {
  Pipe pipe;
  LineWriter writer(pipe.ends[1], told);
  close(pipe.ends[0]);
  for (int i = 0; i < 3; ++i) {
    writer.write("x\n");
    EXPECT_TRUE(writer.flush(kPatience));
  }
  EXPECT_EQ(writer.dropped(), 3U);
  pipe.ends[0] = open("/dev/null", O_RDONLY);
}

TEST(LineWriter, a_descriptor_that_does_not_block_is_waited_for) {
  Pipe pipe;
  fcntl(pipe.ends[1], F_SETFL, O_NONBLOCK);
  LineWriter writer(pipe.ends[1], told);
  const std::string line = std::string(9'999, 'x') + "\n";
  for (int i = 0; i < 3; ++i) writer.write(line);
  EXPECT_EQ(pipe.read(30'000), line + line + line);
  EXPECT_EQ(writer.dropped(), 0U);
}

TEST(LineWriter, takes_lines_from_any_thread) {
  Pipe pipe;
  LineWriter writer(pipe.ends[1], told, 1 << 20);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 1'000; ++k) writer.write("0123456\n");
    });
  }
  std::string all;
  for (int i = 0; i < 4'000; ++i) all += "0123456\n";
  EXPECT_EQ(pipe.read(all.size()), all);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace weir::server
