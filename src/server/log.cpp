#include "server/log.hpp"

#include <spdlog/sinks/sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include "server/line_writer.hpp"

namespace weir::inline v0_1::server {
namespace {

bool for_a_terminal() {
  const auto given = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string_view(value != nullptr ? value : "");
  };
  return isatty(STDERR_FILENO) == 1 && given("NO_COLOR").empty() && given("TERM") != "dumb";
}

LogLevel level_of(spdlog::level::level_enum level) {
  if (level <= spdlog::level::debug) return LogLevel::debug;
  if (level == spdlog::level::info) return LogLevel::info;
  return level == spdlog::level::warn ? LogLevel::warning : LogLevel::error;
}

// Where spdlog's lines go, and ours with their fields.
class Log final : public spdlog::sinks::sink {
 public:
  explicit Log(bool json)
      : json_(json),
        colour_(for_a_terminal()),
        writer_(STDERR_FILENO, [json, colour = colour_](std::uint64_t lines) {
          const std::string what =
              std::to_string(lines) + " log lines were dropped: standard error did not take them";
          const LogField field{"log_lines_dropped", lines};
          return in_form({std::chrono::system_clock::now(), LogLevel::warning, what, {&field, 1}}, json,
                         colour);
        }) {}

  void log(const spdlog::details::log_msg& message) override {
    write({message.time, level_of(message.level), {message.payload.data(), message.payload.size()}});
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

  void write(const LogLine& line) { writer_.write(in_form(line, json_, colour_)); }
  LineWriter& writer() { return writer_; }

 private:
  static std::string in_form(const LogLine& line, bool json, bool colour) {
    return json ? json_line(line) : text_line(line, colour);
  }

  const bool json_;
  const bool colour_;
  LineWriter writer_;
};

std::shared_ptr<Log>& opened() {
  static std::shared_ptr<Log> log;
  return log;
}

}  // namespace

void open_log(const LogOptions& options) {
  opened() = std::make_shared<Log>(options.json);
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("weir", opened()));
  spdlog::set_level(spdlog::level::from_str(options.level));
}

void flush_log(std::chrono::milliseconds longest) {
  if (opened()) opened()->writer().flush(longest);
}

void log(LogLevel level, std::string_view message, std::span<const LogField> fields) {
  using spdlog::level::level_enum;
  constexpr std::array<level_enum, 4> kLevels = {level_enum::debug, level_enum::info, level_enum::warn,
                                                 level_enum::err};
  const level_enum as_spdlog = kLevels[static_cast<std::size_t>(level)];
  if (!opened()) return spdlog::log(as_spdlog, "{}", message);
  if (spdlog::should_log(as_spdlog))
    opened()->write({std::chrono::system_clock::now(), level, message, fields});
}

std::uint64_t log_lines_dropped() { return opened() ? opened()->writer().dropped() : 0; }

}  // namespace weir::server
