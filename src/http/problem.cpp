#include "http/problem.hpp"

#include "core/printable.hpp"

namespace weir::inline v0_1::http {

namespace {

void write_fault(core::JsonWriter& json, std::string_view pointer, std::string_view detail) {
  json.begin_object();
  json.member("pointer", pointer);
  json.member("detail", core::printable(detail));
  json.end_object();
}

// Its beginning; the caller ends it with end().
core::JsonWriter begin(Reply& reply, int status, std::string_view detail) {
  reply.status = status;
  reply.type = kProblemJson;
  reply.body.clear();
  core::JsonWriter json(reply.body);
  json.begin_object();
  json.member("title", reason_of(status));
  json.member("status", status);
  json.member("detail", core::printable(detail));
  return json;
}

void end(core::JsonWriter& json, Reply& reply) {
  json.end_object();
  reply.body += '\n';
}

}  // namespace

void write_faults(core::JsonWriter& json, const Faults& faults) {
  json.begin_array("errors");
  for (const BodyFault& each : faults.told()) write_fault(json, each.pointer, each.detail);
  if (faults.more() > 0) write_fault(json, "", "and " + std::to_string(faults.more()) + " more errors");
  json.end_array();
}

void write_problem(Reply& reply, int status, std::string_view detail, const Faults& faults) {
  core::JsonWriter json = begin(reply, status, detail);
  if (!faults.empty()) write_faults(json, faults);
  end(json, reply);
}

void write_forbidden(Reply& reply, std::string_view detail, std::string_view role) {
  core::JsonWriter json = begin(reply, 403, detail);
  json.member("role", role);
  end(json, reply);
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
