#include "http/denial.hpp"

#include <array>

#include "http/rate_limit_fields.hpp"

namespace weir::inline v0_1::http {
namespace {

// Of a remembered denial nothing is known but the check that decides.
bool denies(const store::Request& answered, std::size_t check) {
  return !answered.checks[check].shadow && !answered.checks[check].decision.allowed() &&
         (answered.source != Source::remembered || check == answered.by);
}

}  // namespace

std::string_view own_name(std::size_t number) {
  constexpr std::array<std::string_view, store::kMostChecks> kOwnNames{
      "limit",   "limit-2",  "limit-3",  "limit-4",  "limit-5",  "limit-6",  "limit-7",  "limit-8",
      "limit-9", "limit-10", "limit-11", "limit-12", "limit-13", "limit-14", "limit-15", "limit-16"};
  return kOwnNames[number];
}

void begin_denial(Reply& reply, int status) {
  reply.status = status;
  reply.type = kProblemJson;
  std::string& body = reply.body;
  body =
      "{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\","
      "\"title\":\"Request cannot be satisfied as assigned quota has been exceeded\",\"status\":";
  append_json(body, std::int64_t{status});
  body += ",\"violated-policies\":";
}

void append_violated(std::string& out, const limits::Set& set, const limits::Matched& matched,
                     const store::Request& answered, Shown told) {
  out += '[';
  std::string name;
  char before = 0;
  for (std::size_t i = 0; i < answered.checks.size(); ++i) {
    if (!denies(answered, i) || (told == Shown::shown && !is_shown(set, matched, i))) continue;
    if (before != 0) out += before;
    name.clear();
    append_shown_name(set, matched, i, name);
    append_json(out, name);
    before = ',';
  }
  out += ']';
}

void append_violated(std::string& out, const store::Request& answered) {
  out += '[';
  char before = 0;
  for (std::size_t i = 0; i < answered.checks.size(); ++i) {
    if (!denies(answered, i)) continue;
    if (before != 0) out += before;
    append_json(out, own_name(i));
    before = ',';
  }
  out += ']';
}

}  // namespace weir::http
