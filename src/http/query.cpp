#include "http/query.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core/number.hpp"
#include "core/percent.hpp"
#include "core/printable.hpp"
#include "http/message.hpp"

namespace weir::inline v0_1::http {
namespace {

// As forms are: a plus is a blank. Nothing: a percent sign stands without its two digits.
std::optional<std::string> decode(std::string_view text) {
  std::string form(text);
  std::replace(form.begin(), form.end(), '+', ' ');
  core::PercentDecoded decoded = core::percent_decoded(form);
  return decoded.is_whole ? std::optional(std::move(decoded.bytes)) : std::nullopt;
}

std::string shown(std::string_view text) { return "'" + core::printable(text.substr(0, 32)) + "'"; }

}  // namespace

Query::Query(std::string_view text, std::span<const std::string_view> known, Faults& faults) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    std::optional<std::string> name = decode(part.substr(0, equals));
    std::optional<std::string> value =
        decode(equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1));
    if (!name || !value) {
      faults.add("", "query " + shown(part) + ": a percent sign needs two hexadecimal digits after it");
    } else if (std::find(known.begin(), known.end(), *name) == known.end()) {
      std::string all;
      for (const std::string_view each : known) all += (all.empty() ? "" : ", ") + std::string(each);
      faults.add("", "query " + shown(*name) + ": unknown; known: " + all);
    } else if (find(*name) != nullptr) {
      faults.add("", "query '" + *name + "': given twice");
    } else {
      values_.emplace_back(*std::move(name), *std::move(value));
    }
  }
}

const std::string* Query::find(std::string_view name) const {
  const auto found =
      std::find_if(values_.begin(), values_.end(), [name](const auto& each) { return each.first == name; });
  return found == values_.end() ? nullptr : &found->second;
}

std::uint64_t Query::number(std::string_view name, std::uint64_t otherwise, std::uint64_t least,
                            std::uint64_t most, Faults& faults) const {
  const std::string* const text = find(name);
  if (text == nullptr) return otherwise;
  const auto number = core::parse_integer(*text);
  if (number && *number >= 0 && static_cast<std::uint64_t>(*number) >= least &&
      static_cast<std::uint64_t>(*number) <= most)
    return static_cast<std::uint64_t>(*number);
  faults.add("", "query '" + std::string(name) + "': " + shown(*text) + " is not an integer from " +
                     std::to_string(least) + " to " + std::to_string(most));
  return otherwise;
}

bool has_credential(std::string_view query) {
  constexpr std::array<std::string_view, 3> kCredentials = {"access_token", "token", "password"};
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), part.size() + 1));
    const auto name = decode(part.substr(0, part.find('=')));
    if (name && std::any_of(kCredentials.begin(), kCredentials.end(),
                            [&name](std::string_view each) { return same(*name, each); }))
      return true;
  }
  return false;
}

}  // namespace weir::http
