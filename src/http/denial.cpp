#include "http/denial.hpp"

#include <array>

#include "service/rate_limit_fields.hpp"

namespace weir::inline v0_1::http {
namespace {

// Of a remembered denial nothing is known but the check that decides.
bool denies(const store::Request& answered, std::size_t check) {
  return !answered.checks[check].shadow && !answered.checks[check].decision.allowed() &&
         (answered.source != Source::remembered || check == answered.by);
}

}  // namespace

std::string_view own_name(std::size_t number) {
  static constexpr std::array<std::string_view, store::kMostChecks> kOwnNames{
      "limit",   "limit-2",  "limit-3",  "limit-4",  "limit-5",  "limit-6",  "limit-7",  "limit-8",
      "limit-9", "limit-10", "limit-11", "limit-12", "limit-13", "limit-14", "limit-15", "limit-16"};
  return kOwnNames[number];
}

void begin_denial(Reply& reply, core::JsonWriter& json, int status, bool bans) {
  using Known = core::JsonWriter::Known;
  reply.status = status;
  reply.type = kProblemJson;
  json.begin_object();
  if (bans) {
    json.member("type", Known("https://iana.org/assignments/http-problem-types#abnormal-usage-detected"));
    json.member("title", Known("Request not satisfied due to detection of abnormal request pattern"));
  } else {
    json.member("type", Known("https://iana.org/assignments/http-problem-types#quota-exceeded"));
    json.member("title", Known("Request cannot be satisfied as assigned quota has been exceeded"));
  }
  json.member("status", status);
}

void write_violated(core::JsonWriter& json, const limits::Set& set, const limits::Matched& matched,
                    const store::Request& answered, Disclosure told) {
  json.begin_array(kViolated);
  std::string name;
  for (std::size_t i = 0; i < answered.checks.size(); ++i) {
    if (!denies(answered, i) || (told == Disclosure::shown && !service::is_shown(set, matched, i))) continue;
    name.clear();
    service::append_shown_name(set, matched, i, name);
    json.value(name);
  }
  json.end_array();
}

void write_violated(core::JsonWriter& json, const store::Request& answered) {
  json.begin_array(kViolated);
  for (std::size_t i = 0; i < answered.checks.size(); ++i) {
    if (denies(answered, i)) json.value(own_name(i));
  }
  json.end_array();
}

}  // namespace weir::http
