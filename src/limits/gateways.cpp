#include "limits/gateways.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/digits.hpp"
#include "limits/file_keys.hpp"
#include "limits/lists.hpp"
#include "limits/scalars.hpp"

namespace weir::inline v0_1::limits {
namespace {

constexpr std::size_t kMostGateways = 64;
constexpr std::size_t kMostTrusted = 1000;
constexpr std::size_t kMostMapped = 32;
constexpr std::size_t kLongestHeader = 64;
constexpr std::string_view kHeader = "header.";
constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";  // of a header's name: RFC 9110, 5.6.2

std::string lower(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return folded;
}

// The name of a field of HTTP, in small letters; told when it cannot be one, or is never read.
void read_header(Context& context, const FileField& field, std::string_view text, std::string& header) {
  const bool right =
      !text.empty() && text.size() <= kLongestHeader && std::all_of(text.begin(), text.end(), [](char c) {
        return core::is_letter(c) || core::is_digit(c) || kMarks.find(c) != std::string_view::npos;
      });
  std::string name = lower(text);
  if (!right) {
    context.error(FileRule::names, field,
                  in_quotes(text) + " is not the name of a header; at most 64 of A-Z, a-z, 0-9 and " +
                      std::string(kMarks));
  } else if (name == "authorization" || name.starts_with("x-weir-")) {
    context.error(FileRule::gateways, field, in_quotes(text) + " is a header that the gate never reads");
  } else {
    header = std::move(name);
  }
}

void read_named_header(Context& context, const FileField& field, std::string& header) {
  if (!is_text(context, field)) return;
  const std::string_view text = field.text();
  if (lower(text.substr(0, kHeader.size())) != kHeader) {
    context.error(FileRule::form, field,
                  in_quotes(text) + " does not begin with 'header.'; write header.NAME");
    return;
  }
  read_header(context, field, text.substr(kHeader.size()), header);
}

void read_from(Context& context, const FileField& gateway, const FileField& from, Gateway& read) {
  constexpr std::array kFroms = {std::pair{"x-forwarded", Gateway::From::x_forwarded},
                                 std::pair{"x-original", Gateway::From::x_original},
                                 std::pair{"path", Gateway::From::path}};
  if (!from) {
    context.error_at_key(FileRule::form, gateway, "missing from: one of x-forwarded, x-original, path");
    return;
  }
  if (!is_text(context, from)) return;
  for (const auto& [text, meaning] : kFroms) {
    if (from.text() != text) continue;
    read.from = meaning;
    return;
  }
  context.error(FileRule::form, from, in_quotes(from.text()) + " is none of: x-forwarded, x-original, path");
}

void read_trusted(Context& context, const FileField& trusted, Gateway& read) {
  for (const FileField& item : texts_of(context, trusted)) {
    const ReadEntry entry = read_entry(item.text(), item.place());
    if (!entry.wrong.empty()) {
      context.error(entry.rule, item, entry.wrong);
    } else if (entry.entry.kind != ListEntry::Kind::network) {
      context.error(FileRule::form, item, in_quotes(item.text()) + " is neither an address nor a CIDR");
    } else {
      if (entry.entry.network.bits == 0)
        context.findings.warn(FileRule::gateways, item.place(), item.path,
                              in_quotes(item.text()) + " trusts every address, so clients choose their own");
      read.trusted.push_back(entry.entry.network);
    }
  }
  if (read.trusted.size() > kMostTrusted)
    context.error(FileRule::bounds, trusted,
                  std::to_string(read.trusted.size()) + " proxies; at most " + std::to_string(kMostTrusted));
}

void read_attributes(Context& context, const FileField& attributes, Gateway& read) {
  if (!is_map(context, attributes)) return;
  const std::vector<FileField> fields = members_of(attributes);
  if (fields.size() > kMostMapped)
    context.error(FileRule::bounds, attributes,
                  std::to_string(fields.size()) + " attributes; at most " + std::to_string(kMostMapped));
  for (std::size_t i = 0; i < fields.size(); ++i) {
    Gateway::Mapped mapped{attributes.node->members[i].key, ""};
    if (std::string wrong = wrong_attribute(mapped.attribute); !wrong.empty()) {
      context.error_at_key(FileRule::names, fields[i], std::move(wrong));
    } else if (std::find(kOfGateway.begin(), kOfGateway.end(), mapped.attribute) != kOfGateway.end()) {
      context.error_at_key(FileRule::gateways, fields[i],
                           "comes from the gateway, by `from`, and cannot be mapped");
    }
    read_named_header(context, fields[i], mapped.header);
    read.attributes.push_back(std::move(mapped));
  }
}

bool is_variable(std::string_view text) {
  return !text.empty() && text.size() <= kLongestHeader && !core::is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return core::is_letter(c) || core::is_digit(c) || c == '_'; });
}

void read_token(Context& context, const FileField& token, Gateway& read) {
  if (!is_map(context, token)) return;
  const Map map(context, token, keys::kToken);
  if (const FileField header = map["header"]) {
    if (is_text(context, header)) {
      if (header.text().starts_with(kHeader)) {
        context.error(FileRule::form, header,
                      in_quotes(header.text()) + " is a name already; write it without 'header.'");
      } else {
        read_header(context, header, header.text(), read.token_header);
      }
    }
  } else {
    context.error_at_key(FileRule::form, token,
                         "missing header: the one in which the gateway sends its token");
  }
  if (const FileField env = map["env"]) {
    if (!is_text(context, env)) return;
    read.token_env = env.text();
    if (!is_variable(read.token_env))
      context.error(FileRule::names, env,
                    in_quotes(env.text()) + " is not the name of an environment variable");
  } else {
    context.error_at_key(FileRule::form, token, "missing env: the environment variable that has the token");
  }
}

// One of two words.
void read_word(Context& context, const FileField& field, const std::string& no, const std::string& yes,
               bool& value) {
  if (!field || !is_text(context, field)) return;
  value = field.text() == yes;
  if (!value && field.text() != no)
    context.error(FileRule::form, field, in_quotes(field.text()) + " is none of: " + no + ", " + yes);
}

Gateway read_gateway(Context& context, const std::string& name, const FileField& field) {
  Gateway read;
  read.name = name;
  read.place = field.key;
  if (!is_map(context, field)) return read;
  const Map map(context, field, keys::kGateway);
  if (map["from"] || !map.has_unknown()) read_from(context, field, map["from"], read);
  read.address = read.from == Gateway::From::x_original ? "x-real-ip" : "x-forwarded-for";
  if (const FileField trusted = map["trusted"]) {
    read_trusted(context, trusted, read);
    if (read.from == Gateway::From::x_original)
      context.findings.warn(FileRule::gateways, trusted.key, trusted.path,
                            "is not used with x-original, where one header has one address");
  }
  if (const FileField attributes = map["attributes"]) read_attributes(context, attributes, read);
  if (const FileField address = map["address"]) read_named_header(context, address, read.address);
  if (const FileField token = map["token"]) read_token(context, token, read);
  std::uint64_t status = 0;
  if (const FileField deny = map["deny_status"];
      deny &&
      read_text(context, deny, status, [](std::string_view text) { return read_integer(text, 400, 599); }))
    read.deny_status = static_cast<int>(status);
  read_word(context, map["on_missing"], "skip", "deny", read.deny_missing);
  read_word(context, map["odd_paths"], "deny", "keep", read.keep_odd_paths);
  if (const FileField hold = map["hold"]) read_text(context, hold, read.holds, read_switch);
  return read;
}

}  // namespace

std::vector<std::string> mapped_attributes(const FileField& gateways) {
  std::vector<std::string> names;
  if (!gateways || gateways.node->kind != YamlNode::Kind::map) return names;
  for (const FileField& gateway : members_of(gateways)) {
    for (const FileField& field : members_of(gateway)) {
      if (!field.path.ends_with(".attributes")) continue;
      for (const Member& mapped : field.node->members) names.push_back(mapped.key);
    }
  }
  return names;
}

void read_gateways(Context& context, const FileField& gateways) {
  if (!is_map(context, gateways)) return;
  const std::vector<FileField> fields = members_of(gateways);
  if (fields.size() > kMostGateways) {
    context.error_at_key(
        FileRule::bounds, gateways,
        std::to_string(fields.size()) + " gateways; at most " + std::to_string(kMostGateways));
    return;
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string& name = gateways.node->members[i].key;
    if (std::string wrong = wrong_name(name); !wrong.empty())
      context.error_at_key(FileRule::names, fields[i], std::move(wrong));
    context.file.gateways.push_back(read_gateway(context, name, fields[i]));
  }
}

}  // namespace weir::limits
