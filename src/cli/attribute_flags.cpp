#include "cli/attribute_flags.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "limits/finding.hpp"
#include "limits/read.hpp"
#include "trial/trial.hpp"

namespace weir::inline v0_1::cli {
namespace {

// How logs call what a gateway calls method, path, host and user.
const std::map<std::string, std::vector<std::string>> kOtherNames{
    {"method", {"request_method", "request.method", "http_method", "verb"}},
    {"path", {"uri", "request_uri", "request.uri", "url", "request.path"}},
    {"raw_path", {"path", "uri", "request_uri", "request.uri", "url", "request.path"}},
    {"host", {"vhost", "http_host", "request.host", "server_name", "authority"}},
    {"user", {"remote_user", "user_id", "request.user"}},
    {"header.referer", {"referer", "http_referer"}},
    {"header.user-agent", {"agent", "user_agent", "http_user_agent"}},
};

// header.x-batch is x-batch, or nginx' http_x_batch.
std::vector<std::string> other_names_of(const std::string& attribute) {
  constexpr std::string_view kHeader = "header.";
  const auto known = kOtherNames.find(attribute);
  std::vector<std::string> names = known == kOtherNames.end() ? std::vector<std::string>{} : known->second;
  if (!attribute.starts_with(kHeader)) return names;
  std::string name = attribute.substr(kHeader.size());
  names.push_back(name);
  std::replace(name.begin(), name.end(), '-', '_');
  names.push_back("http_" + name);
  return names;
}

}  // namespace

void AttributeFlags::add_to(CLI::App& app) {
  app.add_option("--attribute", fields, "field of the log that is an attribute, as in tenant=org_id")
      ->type_name("NAME=FIELD")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

std::vector<logs::Wanted::Part> AttributeFlags::wanted(const std::vector<std::string>& attributes) const {
  std::map<std::string, std::string> said;
  for (const std::string& each : fields) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos || equals + 1 == each.size())
      throw std::runtime_error("attribute: missing '=FIELD' after '" + each.substr(0, equals) + "'");
    const std::string name = each.substr(0, equals);
    if (std::find(attributes.begin(), attributes.end(), name) == attributes.end())
      throw std::runtime_error("attribute: nothing in the limits file goes by '" + name + "'");
    if (!said.emplace(name, each.substr(equals + 1)).second)
      throw std::runtime_error("attribute: '" + name + "' a second time");
  }
  std::vector<logs::Wanted::Part> parts;
  for (const std::string& attribute : attributes) {
    const auto field = said.find(attribute);
    parts.push_back(part_of(attribute));
    if (field != said.end()) {
      parts.back().field = field->second;
      parts.back().other_names.clear();
    }
  }
  // A key without a part would be the client's address.
  if (parts.empty()) parts.push_back({"ip", false, {}, {}});
  return parts;
}

logs::Wanted::Part part_of(const std::string& attribute) {
  logs::Wanted::Part part{attribute, false, {}, other_names_of(attribute)};
  part.path = attribute == "path";
  return part;
}

std::shared_ptr<const limits::Set> set_of(const std::string& path) {
  const limits::ReadResult reading = limits::read_file(path, {});
  if (reading.file) return limits::compiled(reading.file);
  std::string text = "the limits file has errors";
  for (const limits::Finding& finding : reading.findings) {
    if (finding.severity == limits::Severity::error) text += "\n" + to_text(finding);
  }
  throw std::runtime_error(text);
}

}  // namespace weir::cli
