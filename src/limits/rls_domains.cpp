#include "limits/rls_domains.hpp"

#include <algorithm>

#include "core/printable.hpp"
#include "limits/file_keys.hpp"
#include "limits/scalars.hpp"

namespace weir::inline v0_1::limits {
namespace {

constexpr std::size_t kMostDomains = 64;
constexpr std::size_t kMostMappedKeys = 64;
constexpr std::size_t kLongestDomain = 256;

void read_attributes(Context& context, const FileField& attributes, RlsDomain& read) {
  if (!is_map(context, attributes)) return;
  const std::vector<FileField> fields = members_of(attributes);
  if (fields.size() > kMostMappedKeys)
    context.error(FileRule::bounds, attributes,
                  std::to_string(fields.size()) + " attributes; at most " + std::to_string(kMostMappedKeys));
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string& key = attributes.node->members[i].key;
    if (key.empty()) context.error_at_key(FileRule::names, fields[i], "no entry has an empty key");
    if (is_text(context, fields[i]) &&
        judge_attribute(context, fields[i], fields[i].place(), fields[i].text()))
      read.attributes.push_back({key, fields[i].text()});
  }
}

RlsDomain read_domain(Context& context, const std::string& name, const FileField& field) {
  RlsDomain read;
  read.name = name;
  read.place = field.key;
  if (!is_map(context, field)) return read;
  const Map map(context, field, keys::kRlsDomain);
  if (const FileField attributes = map["attributes"]) read_attributes(context, attributes, read);
  if (const FileField unmapped = map["unmapped"]; unmapped && is_text(context, unmapped)) {
    read.drops_unmapped = unmapped.text() == "drop";
    if (!read.drops_unmapped && unmapped.text() != "keep")
      context.error(FileRule::form, unmapped, in_quotes(unmapped.text()) + " is none of: keep, drop");
  }
  return read;
}

bool may_have(const RlsDomain& domain, const std::string& attribute) {
  return !domain.drops_unmapped ||
         std::any_of(domain.attributes.begin(), domain.attributes.end(),
                     [&](const RlsDomain::Mapped& each) { return each.attribute == attribute; });
}

bool may_take(const RlsDomain& domain, const Route& route) {
  return std::all_of(route.when.begin(), route.when.end(),
                     [&](const Condition& each) { return may_have(domain, each.attribute); });
}

}  // namespace

std::vector<std::string> rls_attributes(const FileField& rls) {
  std::vector<std::string> names;
  if (!rls || rls.node->kind != YamlNode::Kind::map) return names;
  for (const FileField& domain : members_of(rls)) {
    for (const FileField& field : members_of(domain)) {
      if (!field.path.ends_with(".attributes")) continue;
      for (const FileField& mapped : members_of(field)) {
        if (mapped.node->kind == YamlNode::Kind::text && wrong_attribute(mapped.text()).empty())
          names.push_back(mapped.text());
      }
    }
  }
  return names;
}

void read_rls(Context& context, const FileField& rls) {
  if (!is_map(context, rls)) return;
  const std::vector<FileField> fields = members_of(rls);
  if (fields.size() > kMostDomains) {
    context.error_at_key(FileRule::bounds, rls,
                         std::to_string(fields.size()) + " domains; at most " + std::to_string(kMostDomains));
    return;
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string& name = rls.node->members[i].key;
    if (name.empty() || name.size() > kLongestDomain)
      context.error_at_key(FileRule::names, fields[i],
                           "a domain has from 1 to " + std::to_string(kLongestDomain) + " bytes");
    context.file.rls.push_back(read_domain(context, name, fields[i]));
  }
}

void judge_rls(const File& file, Findings& findings) {
  for (const NamedLimit& limit : file.limits) {
    if (limit.within != kNone && file.limits[limit.within].charged_after)
      findings.error(FileRule::charge_after, limit.within_place, "limits." + limit.name + ".within",
                     in_quotes(file.limits[limit.within].name) +
                         " has charge: after, and such a limit is not in a hierarchy");
  }
  for (const RlsDomain& domain : file.rls) {
    for (const Route& route : file.routes) {
      if (!may_take(domain, route)) continue;
      for (const Index index : route.meets) {
        const NamedLimit& limit = file.limits[index];
        const bool slots = limit.slots.place.line > 0;
        if (!slots && (limit.hold.place.line == 0 || limit.charged_after)) continue;
        findings.error(FileRule::rls, domain.place, "rls." + domain.name,
                       "a descriptor may meet " + in_quotes(limit.name) + ", which has " +
                           (slots ? "in_flight" : "a hold without charge: after") +
                           "; write unmapped: drop, or a route that descriptors do not take");
        return;
      }
    }
  }
}

}  // namespace weir::limits
