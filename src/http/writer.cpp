#include "http/writer.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "core/json_writer.hpp"

namespace weir::inline v0_1::http {
namespace {

struct Reason {
  int status;
  std::string_view text;
};
constexpr std::array kReasons{
    Reason{200, "OK"},
    Reason{201, "Created"},
    Reason{204, "No Content"},
    Reason{400, "Bad Request"},
    Reason{401, "Unauthorized"},
    Reason{403, "Forbidden"},
    Reason{404, "Not Found"},
    Reason{405, "Method Not Allowed"},
    Reason{408, "Request Timeout"},
    Reason{409, "Conflict"},
    Reason{413, "Content Too Large"},
    Reason{414, "URI Too Long"},
    Reason{415, "Unsupported Media Type"},
    Reason{417, "Expectation Failed"},
    Reason{429, "Too Many Requests"},
    Reason{431, "Request Header Fields Too Large"},
    Reason{501, "Not Implemented"},
    Reason{503, "Service Unavailable"},
    Reason{505, "HTTP Version Not Supported"},
};

}  // namespace

std::string_view reason_of(int status) {
  for (const Reason& each : kReasons) {
    if (each.status == status) return each.text;
  }
  return "Status";
}

void append_reply(std::string& out, const Reply& reply, const Framing& framing) {
  out += "HTTP/1.1 ";
  core::append_integer(out, reply.status);
  out += ' ';
  out += reason_of(reply.status);
  out += "\r\n";
  if (!framing.date.empty()) {
    out += "Date: ";
    out += framing.date;
    out += "\r\n";
  }
  if (!reply.type.empty()) {
    out += "Content-Type: ";
    out += reply.type;
    out += "\r\n";
  }
  // A 204 has no body, and says nothing about its length.
  if (reply.status != 204) {
    out += "Content-Length: ";
    core::append_integer(out, static_cast<std::int64_t>(reply.body.size()));
    out += "\r\n";
  }
  out += reply.fields;
  if (reply.closes || !framing.keep_alive) {
    out += "Connection: close\r\n";
  } else if (framing.minor == 0) {
    out += "Connection: keep-alive\r\n";
  }
  out += "\r\n";
  if (!framing.head && reply.status != 204) out += reply.body;
}

void append_field(std::string& fields, std::string_view name, std::string_view value) {
  fields += name;
  fields += ": ";
  for (const char each : value) fields += each >= ' ' && each <= '~' ? each : '?';
  fields += "\r\n";
}

std::string date_text(std::chrono::sys_seconds time) {
  constexpr std::array kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::array<char, 64> text;
  const int size = std::snprintf(
      text.data(), text.size(), "%s, %02u %s %04d %02d:%02d:%02d GMT",
      kDays[std::chrono::weekday(day).c_encoding()], unsigned{date.day()},
      kMonths[unsigned{date.month()} - 1], int{date.year()}, static_cast<int>(clock.hours().count()),
      static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()));
  return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace weir::http
