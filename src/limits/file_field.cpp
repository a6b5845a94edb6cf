#include "limits/file_field.hpp"

#include <algorithm>

#include "core/printable.hpp"
#include "limits/scalars.hpp"

namespace weir::inline v0_1::limits {
namespace {

bool is_kind(Context& context, const FileField& field, YamlNode::Kind kind, std::string_view wanted) {
  if (field.node->kind == kind) return true;
  switch (field.node->kind) {
    case YamlNode::Kind::refused:
      break;
    case YamlNode::Kind::nothing:
      context.error_at_key(FileRule::form, field, "has no value; write " + std::string(wanted));
      break;
    case YamlNode::Kind::text:
      context.error(FileRule::form, field, in_quotes(field.text()) + " is not " + std::string(wanted));
      break;
    case YamlNode::Kind::list:
      context.error(FileRule::form, field, "a list is not " + std::string(wanted));
      break;
    case YamlNode::Kind::map:
      context.error(FileRule::form, field, "a map is not " + std::string(wanted));
      break;
  }
  return false;
}

FileField member_of(const FileField& map, const Member& member) {
  const std::string key = core::printable(std::string_view(member.key).substr(0, kMostKey));
  return {&member.value, map.path.empty() ? key : map.path + "." + key, member.place, FileRule::form};
}

}  // namespace

bool is_text(Context& context, const FileField& field) {
  return is_kind(context, field, YamlNode::Kind::text, "a text");
}
bool is_list(Context& context, const FileField& field) {
  return is_kind(context, field, YamlNode::Kind::list, "a list");
}
bool is_map(Context& context, const FileField& field) {
  return is_kind(context, field, YamlNode::Kind::map, "a map");
}

std::vector<FileField> items_of(const FileField& list) {
  std::vector<FileField> items;
  items.reserve(list.node->members.size());
  for (const Member& member : list.node->members)
    items.push_back(
        {&member.value, list.path + "[" + std::to_string(items.size()) + "]", member.place, list.rule});
  return items;
}

std::vector<FileField> members_of(const FileField& map) {
  std::vector<FileField> members;
  members.reserve(map.node->members.size());
  for (const Member& member : map.node->members) members.push_back(member_of(map, member));
  return members;
}

std::vector<FileField> texts_of(Context& context, const FileField& field) {
  if (field.node->kind == YamlNode::Kind::text) return {field};
  if (!is_kind(context, field, YamlNode::Kind::list, "a text or a list of texts")) return {};
  std::vector<FileField> items = items_of(field);
  std::erase_if(items, [&context](const FileField& item) { return !is_text(context, item); });
  return items;
}

Map::Map(Context& context, const FileField& field, FileKeys known) : field_(field), known_(known) {
  for (const Member& member : field.node->members) {
    if (find_key(known, member.key) != nullptr) continue;
    has_unknown_ = true;
    if (context.findings.full()) break;
    context.error_at_key(FileRule::form, member_of(field, member),
                         "unknown" + meant(member.key, names_of(known)));
  }
}

FileField Map::operator[](std::string_view key) const {
  for (const Member& member : field_.node->members) {
    if (member.key != key) continue;
    FileField field = member_of(field_, member);
    if (const FileKey* const known = find_key(known_, key)) field.rule = known->rule;
    return field;
  }
  return {};
}

bool judge_attribute(Context& context, const FileField& field, Position place, const std::string& name) {
  if (std::string wrong = wrong_attribute(name); !wrong.empty()) {
    context.findings.error(FileRule::names, place, field.path, std::move(wrong));
    return false;
  }
  const KnownNames& known = context.attributes;
  if (known.all().empty() || known.find(name) != kNone) return true;
  context.findings.error(FileRule::attributes, place, field.path,
                         in_quotes(name) + " is not one of `attributes`" + meant(name, known.all()));
  return false;
}

Index find_name(Context& context, const FileField& field, const KnownNames& names, std::string_view what) {
  if (!is_text(context, field)) return kNone;
  const Index found = names.find(field.text());
  if (found == kNone)
    context.error(field.rule, field,
                  "no " + std::string(what) + " is called " + in_quotes(field.text()) +
                      meant(field.text(), names.all()));
  return found;
}

}  // namespace weir::limits
