#include "http/problem.hpp"

#include "core/printable.hpp"

namespace weir::inline v0_1::http {

namespace {

void append_fault(std::string& out, std::string_view pointer, std::string_view detail) {
  if (out.back() != '[') out += ',';
  out += "{\"pointer\":";
  append_json(out, pointer);
  out += ",\"detail\":";
  append_json(out, core::printable(detail));
  out += '}';
}

}  // namespace

void append_faults(std::string& out, const Faults& faults) {
  out += '[';
  for (const BodyFault& each : faults.told()) append_fault(out, each.pointer, each.detail);
  if (faults.more() > 0) append_fault(out, "", "and " + std::to_string(faults.more()) + " more errors");
  out += ']';
}

void write_problem(Reply& reply, int status, std::string_view detail, const Faults& faults) {
  reply.status = status;
  reply.type = kProblemJson;
  std::string& body = reply.body;
  body = "{\"title\":";
  append_json(body, reason_of(status));
  body += ",\"status\":";
  append_json(body, std::int64_t{status});
  body += ",\"detail\":";
  append_json(body, core::printable(detail));
  if (!faults.empty()) {
    body += ",\"errors\":";
    append_faults(body, faults);
  }
  body += "}\n";
}

std::string pointer_to(std::string_view parent, std::string_view member) {
  std::string pointer(parent);
  pointer += '/';
  for (const char each : member) {
    if (each == '~') {
      pointer += "~0";
    } else if (each == '/') {
      pointer += "~1";
    } else {
      pointer += each;
    }
  }
  return pointer;
}

std::string last_words(int status, std::string_view detail) {
  Reply reply;
  write_problem(reply, status, detail);
  std::string bytes;
  append_reply(bytes, reply, {.keep_alive = false});
  return bytes;
}

}  // namespace weir::http
