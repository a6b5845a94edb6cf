#include "rls/metadata.hpp"

#include <algorithm>
#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <vector>

#include "rls/request.hpp"

namespace weir::inline v0_1::rls {
namespace {

using protozero::pbf_writer;

// google.protobuf.Value, by its kind.
enum Kind : std::uint8_t { kNumber = 2, kString = 3, kBool = 4, kStruct = 5, kList = 6 };

std::string text(std::string_view value) {
  std::string out;
  pbf_writer(out).add_string(kString, value.data(), value.size());
  return out;
}
std::string number(std::uint64_t value) {
  std::string out;
  pbf_writer(out).add_double(kNumber, static_cast<double>(value));
  return out;
}
std::string of(Kind kind, const std::string& inner) {
  std::string out;
  pbf_writer(out).add_message(kind, inner);
  return out;
}
void add_item(std::string& list, const std::string& value) { pbf_writer(list).add_message(1, value); }
void add_field(std::string& fields, std::string_view name, const std::string& value) {
  std::string field;
  pbf_writer(field).add_string(1, name.data(), name.size());
  pbf_writer(field).add_message(2, value);
  pbf_writer(fields).add_message(1, field);
}

std::string limit_text(const limits::DescriptorOverride& limit) {
  std::string said;
  if (limit.requests_per_unit != 0)
    said = "requests_per_unit:" + std::to_string(limit.requests_per_unit) + " ";
  return said + "unit:" + std::string(limits::name_of(limit.unit));
}

std::string descriptor_of(const RateLimitRequest& request, const AskedDescriptor& descriptor) {
  std::string entries;
  for (const limits::DescriptorEntry& each : request.entries(descriptor)) {
    std::string said(each.key);
    add_item(entries, text((said += '=').append(each.value)));
  }
  std::string fields;
  add_field(fields, "entries", of(kList, entries));
  if (descriptor.limit) add_field(fields, "limit", text(limit_text(*descriptor.limit)));
  if (descriptor.hits) add_field(fields, "hitsAddend", number(*descriptor.hits));
  return of(kStruct, fields);
}

std::string merged(std::span<const limits::Metadata* const> maps);

// A google.protobuf.Value, as a file has it.
std::string value_of(const limits::Metadata& said) {
  std::string out;
  pbf_writer to(out);
  switch (said.kind) {
    case limits::Metadata::Kind::null:
      to.add_enum(1, 0);
      break;
    case limits::Metadata::Kind::boolean:
      to.add_bool(kBool, said.boolean);
      break;
    case limits::Metadata::Kind::number:
      to.add_double(kNumber, said.number);
      break;
    case limits::Metadata::Kind::text:
      to.add_string(kString, said.text);
      break;
    case limits::Metadata::Kind::list: {
      std::string items;
      for (const limits::Metadata& each : said.list) add_item(items, value_of(each));
      return of(kList, items);
    }
    case limits::Metadata::Kind::map: {
      const limits::Metadata* const map = &said;
      return merged({&map, 1});
    }
  }
  return out;
}

// As one map: what several have under a name is one map, too, where the first of them is; else it is the
// first's.
std::string merged(std::span<const limits::Metadata* const> maps) {
  using limits::Metadata;
  std::string fields;
  std::vector<std::string_view> known;
  for (; !maps.empty(); maps = maps.subspan(1)) {
    for (const Metadata& field : maps[0]->fields) {
      if (std::find(known.begin(), known.end(), field.name) != known.end()) continue;
      known.push_back(field.name);
      if (field.kind != Metadata::Kind::map) {
        add_field(fields, field.name, value_of(field));
        continue;
      }
      std::vector<const Metadata*> same{&field};
      for (const Metadata* const other : maps.subspan(1)) {
        const auto found = std::find_if(other->fields.begin(), other->fields.end(), [&](const Metadata& its) {
          return its.name == field.name && its.kind == Metadata::Kind::map;
        });
        if (found != other->fields.end()) same.push_back(&*found);
      }
      add_field(fields, field.name, merged(same));
    }
  }
  return of(kStruct, fields);
}

}  // namespace

std::string metadata_of(std::string_view message, std::span<const limits::Metadata* const> passed,
                        bool by_fallback) {
  RateLimitRequest request;
  request.read(message);
  std::string descriptors;
  for (const AskedDescriptor& each : request.descriptors())
    add_item(descriptors, descriptor_of(request, each));
  std::string fields;
  add_field(fields, "domain", text(request.domain()));
  add_field(fields, "descriptors", of(kList, descriptors));
  if (request.own_hits() != 0) add_field(fields, "hitsAddend", number(request.own_hits()));
  const auto has_any = [](const limits::Metadata* each) { return !each->fields.empty(); };
  if (std::any_of(passed.begin(), passed.end(), has_any)) add_field(fields, "metadata", merged(passed));
  if (by_fallback) {
    std::string yes;
    pbf_writer(yes).add_bool(kBool, true);
    add_field(fields, "fallback", yes);
  }
  return fields;
}

}  // namespace weir::rls
