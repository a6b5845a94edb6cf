#include "server/log_line.hpp"

#include <array>
#include <cstddef>
#include <ctime>

#include "core/json_writer.hpp"
#include "core/printable.hpp"

namespace weir::inline v0_1::server {
namespace {

struct Look {
  std::string_view name;
  std::string_view colour;
};
constexpr std::array<Look, 4> kLooks = {
    {{"debug", "\x1b[36m"}, {"info", "\x1b[32m"}, {"warning", "\x1b[33;1m"}, {"error", "\x1b[31;1m"}}};

const Look& look(LogLevel level) { return kLooks[static_cast<std::size_t>(level)]; }

std::string two_digits(long number) {
  return {static_cast<char>('0' + number / 10 % 10), static_cast<char>('0' + number % 10)};
}

}  // namespace

std::string log_time(std::chrono::system_clock::time_point time) {
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time));
  std::tm parts{};
  localtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const long fraction = milliseconds % 1000;
  std::string out(text.data(), size);
  out += '.' + std::to_string(fraction / 100) + two_digits(fraction % 100);
  const long east = parts.tm_gmtoff / 60;
  if (east == 0) return out + 'Z';
  const long far = east < 0 ? -east : east;
  return out + (east < 0 ? '-' : '+') + two_digits(far / 60) + ':' + two_digits(far % 60);
}

std::string text_line(const LogLine& line, bool colour) {
  const Look& shown = look(line.level);
  std::string out = '[' + log_time(line.time) + "] [";
  if (colour) out += shown.colour;
  out += shown.name;
  if (colour) out += "\x1b[0m";
  return out + "] " + core::printable(line.message) + '\n';
}

std::string json_line(const LogLine& line) {
  std::string out;
  core::JsonWriter json(out, core::JsonWriter::Spelling::shortest);
  json.begin_object();
  json.member("time", log_time(line.time));
  json.member("level", look(line.level).name);
  json.member("message", core::printable(line.message));
  for (const LogField& field : line.fields) {
    json.unknown_name(core::printable(field.name));
    const auto* const number = std::get_if<std::uint64_t>(&field.value);
    number != nullptr ? json.value(*number)
                      : json.value(core::printable(std::get<std::string_view>(field.value)));
  }
  json.end_object();
  return out + '\n';
}

}  // namespace weir::server
