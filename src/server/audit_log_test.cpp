#include "server/audit_log.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <stdexcept>

#include "resp/commands.hpp"
#include "steering/audit_line.hpp"

namespace weir::inline v0_1::server {
namespace {

class AuditLogTest : public ::testing::Test {
 protected:
  AuditLogTest() {
    std::string name = (std::filesystem::temp_directory_path() / "weir-audit-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    path_ = folder_ / "audit.log";
  }
  ~AuditLogTest() override { std::filesystem::remove_all(folder_); }

  AuditLog::Options options(bool required = false) {
    return {.path = path_.string(),
            .required = required,
            .wall_clock = [this] { return now_; },
            .warn = [this](const std::string& line) { warned_ += line + "\n"; }};
  }
  static steering::OperatorChange change(std::string verb, std::string user = "ann") {
    return {
        .by = {.user = std::move(user)}, .verb = std::move(verb), .limit = "user", .when = {{"user", "42"}}};
  }
  static bool record(AuditLog& log, steering::OperatorChange change) {
    std::promise<bool> written;
    log.record(std::move(change), [&written](bool yes) { written.set_value(yes); });
    return written.get_future().get();
  }
  static std::vector<std::string> lines_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  // The number of the wrong line, from 1; 0: the chain holds.
  static std::size_t verify(const std::vector<std::filesystem::path>& files) {
    steering::AuditChain chain;
    for (const auto& file : files) {
      bool begins = true;
      for (const std::string& line : lines_of(file)) {
        if (chain.add(line, std::exchange(begins, false))) return chain.lines() + 1;
      }
    }
    return 0;
  }
  std::string fault() {
    try {
      AuditLog log(options());
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }
  std::string said(const std::string& what) const { return "audit: '" + path_.string() + "': " + what; }

  std::filesystem::path folder_;
  std::filesystem::path path_;
  std::chrono::nanoseconds now_{std::chrono::hours{500'000}};
  std::string warned_;
};

TEST_F(AuditLogTest, a_line_is_in_the_file_when_it_is_told_that_it_is_written) {
  AuditLog log(options());
  ASSERT_TRUE(record(log, change("BAN")));
  ASSERT_EQ(lines_of(path_).size(), 2);
  EXPECT_NE(lines_of(path_)[1].find(R"("verb":"BAN","limit":"user","when":{"user":"42"})"),
            std::string::npos);
  EXPECT_EQ(log.latest(1), std::vector<std::string>{lines_of(path_)[1]});
  EXPECT_EQ(log.latest(9).size(), 2);
}

TEST_F(AuditLogTest, the_chain_goes_on_over_starts_and_files) {
  for (int i = 0; i < 3; ++i) {
    AuditLog log(options());
    ASSERT_TRUE(record(log, change("BAN")));
  }
  EXPECT_EQ(lines_of(path_).size(), 6);
  EXPECT_EQ(verify({path_}), 0);
  const auto moved = folder_ / "audit.log.1";
  {
    AuditLog log(options());
    std::filesystem::rename(path_, moved);
    log.reopen();
    while (!std::filesystem::exists(path_) || lines_of(path_).empty()) usleep(1000);
    ASSERT_TRUE(record(log, change("LIFT")));
    log.reopen();  // it is the same file still
    ASSERT_TRUE(record(log, change("LIFT")));
  }
  EXPECT_EQ(lines_of(path_).size(), 3);
  EXPECT_EQ(verify({moved, path_}), 0);
  EXPECT_NE(verify({path_, moved}), 0);
}

TEST_F(AuditLogTest, half_a_line_is_kept_in_the_next_first_line) {
  {
    AuditLog log(options());
    ASSERT_TRUE(record(log, change("BAN")));
  }
  std::ofstream(path_, std::ios::app) << R"({"time":"2026-)";
  {
    AuditLog log(options());
    ASSERT_TRUE(record(log, change("LIFT")));
  }
  EXPECT_EQ(verify({path_}), 0);
  EXPECT_NE(lines_of(path_)[2].find(R"("torn":"{\u0022time\u0022:\u00222026-")"), std::string::npos);
}

TEST_F(AuditLogTest, half_of_the_first_line_is_kept_too) {
  for (const char* const half : {"{", R"({"verb":"begin","time":"20)"}) {
    std::ofstream(path_) << half;
    {
      AuditLog log(options());
      ASSERT_TRUE(record(log, change("LIFT")));
    }
    EXPECT_EQ(verify({path_}), 0) << half;
    std::filesystem::remove(path_);
  }
}

TEST_F(AuditLogTest, another_file_is_not_written_to) {
  std::ofstream(path_) << "hello\n";
  EXPECT_EQ(fault(), said("its last line is not one of an audit"));
  EXPECT_EQ(lines_of(path_), std::vector<std::string>{"hello"});
  std::ofstream(path_) << "no newline at its end";
  EXPECT_EQ(fault(), said("its last line is not one of an audit"));
  EXPECT_EQ(lines_of(path_), std::vector<std::string>{"no newline at its end"});
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(fault(), said("not a regular file"));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_EQ(fault(), said("Is a directory"));
  path_ = folder_ / "none" / "audit.log";
  EXPECT_EQ(fault(), said("No such file or directory"));
}

TEST_F(AuditLogTest, two_do_not_write_to_one) {
  const AuditLog log(options());
  EXPECT_EQ(fault(), said("another process writes to it"));
}

TEST_F(AuditLogTest, a_flood_of_resets_is_a_line_with_their_number) {
  {
    AuditLog log(options());
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(record(log, change("RESET")));
    for (int i = 0; i < 12; ++i) ASSERT_TRUE(record(log, change("DEL", "bob")));
    ASSERT_TRUE(record(log, change("BAN")));
    EXPECT_EQ(lines_of(path_).size(), 1 + 10 + 10 + 1);
    now_ += std::chrono::seconds{1};
    ASSERT_TRUE(record(log, change("RESET")));
  }
  const auto lines = lines_of(path_);
  EXPECT_EQ(lines.size(), 1 + 10 + 10 + 1 + 1 + 2);
  std::size_t told = 0;
  for (const std::string& each : lines) {
    const bool is_count =
        each.find(R"("count":90)") != std::string::npos || each.find(R"("count":2)") != std::string::npos;
    told += is_count ? 1 : 0;
  }
  EXPECT_EQ(told, 2);
  EXPECT_EQ(verify({path_}), 0);
}

// A file may grow no further than its size now: what a full disk does.
class FullDisk {
 public:
  explicit FullDisk(std::uintmax_t size) {
    getrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit now{size, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

TEST_F(AuditLogTest, with_a_full_disk_what_is_required_is_refused_and_no_half_line_stays) {
  for (const bool required : {false, true}) {
    AuditLog log(options(required));
    ASSERT_TRUE(record(log, change("BAN")));
    const auto whole = lines_of(path_);
    {
      const FullDisk full(std::filesystem::file_size(path_) + 20);
      EXPECT_EQ(record(log, change("LIFT")), !required);
    }
    EXPECT_EQ(lines_of(path_), whole);
    EXPECT_NE(warned_.find(required ? "; refused: {" : "; not written: {"), std::string::npos) << warned_;
    EXPECT_NE(warned_.find(R"("verb":"LIFT")"), std::string::npos);
    EXPECT_TRUE(record(log, change("BAN")));
  }
  EXPECT_EQ(verify({path_}), 0);
}

// However many there are in a second.
TEST_F(AuditLogTest, with_a_full_disk_a_flood_that_is_required_is_refused_too) {
  AuditLog log(options(true));
  ASSERT_TRUE(record(log, change("RESET")));
  const FullDisk full(std::filesystem::file_size(path_));
  for (int i = 0; i < 30; ++i) EXPECT_FALSE(record(log, change(i % 2 == 0 ? "RESET" : "DEL"))) << i;
  EXPECT_EQ(lines_of(path_).size(), 2);
}

// By the program's own table: each command that is audited, more often than any flood begins.
TEST_F(AuditLogTest, with_a_full_disk_no_audited_command_happens_that_has_to_be_written) {
  AuditLog log(options(true));
  ASSERT_TRUE(record(log, change("BAN")));
  const FullDisk full(std::filesystem::file_size(path_));
  std::size_t audited = 0;
  for (const resp::Command& command : resp::listed_commands()) {
    if (!has(command.flags, resp::Flags::audited)) continue;
    ++audited;
    const std::string_view verb = command.name.substr(command.name.find('.') + 1);
    for (int i = 0; i < 60; ++i) EXPECT_FALSE(record(log, change(std::string(verb)))) << verb << ", " << i;
  }
  EXPECT_GE(audited, 4U);
  EXPECT_EQ(lines_of(path_).size(), 2);
}

TEST_F(AuditLogTest, a_flood_that_is_required_is_written_before_it_is_told_so) {
  std::uint64_t told = 0;
  {
    AuditLog log(options(true));
    std::atomic<int> written{0};
    for (int i = 0; i < 200; ++i)
      log.record(change("RESET"), [&written](bool yes) { written += yes ? 1 : 0; });
    ASSERT_TRUE(record(log, change("BAN")));
    EXPECT_EQ(written, 200) << "those before it";
  }
  for (const std::string& each : lines_of(path_)) {
    if (each.find(R"("verb":"RESET")") == std::string::npos) continue;
    const std::size_t count = each.find(R"("count":)");
    told += count == std::string::npos ? 1 : std::stoull(each.substr(count + 8));
  }
  EXPECT_EQ(told, 200U);
  EXPECT_EQ(verify({path_}), 0);
}

TEST_F(AuditLogTest, in_memory_it_keeps_the_latest_and_nobody_waits) {
  AuditLog::Options in_memory = options();
  in_memory.path.clear();
  AuditLog log(in_memory);
  EXPECT_FALSE(log.waits());
  for (std::size_t i = 0; i < AuditLog::kMostKept + 100; ++i) {
    steering::OperatorChange each = change("BAN");
    each.number = i + 1;
    bool told = false;
    log.record(std::move(each), [&told](bool written) { told = written; });
    ASSERT_TRUE(told);
  }
  const std::string last = R"("number":)" + std::to_string(AuditLog::kMostKept + 100) + ",";
  while (log.latest(1).empty() || log.latest(1).front().find(last) == std::string::npos) usleep(1000);
  EXPECT_EQ(log.latest(AuditLog::kMostKept + 7).size(), AuditLog::kMostKept);
}

}  // namespace
}  // namespace weir::server
