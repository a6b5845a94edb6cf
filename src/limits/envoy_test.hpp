// For tests of Envoy's rate limits: files as texts, what is wrong with them, and what a descriptor meets as
// one line.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "limits/descriptors.hpp"
#include "limits/envoy_file.hpp"

namespace weir::inline v0_1::limits {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;  // files' names and what they say

struct MadeOfTexts {
  std::shared_ptr<const Descriptors> set;  // null: there are errors
  std::string errors;                      // a line each
};

inline MadeOfTexts made_of(const NamedTexts& files, const DescriptorOptions& options = {}) {
  MadeOfTexts result;
  std::vector<Domain> domains;
  std::vector<Finding> wrong;
  for (const auto& [name, text] : files) domains.push_back(read_envoy_file(text, name, wrong));
  if (wrong.empty()) {
    auto made = Descriptors::make(std::move(domains), options);
    if (made) {
      result.set = *std::move(made);
    } else {
      wrong = std::move(made.error());
    }
  }
  for (const Finding& each : wrong) result.errors += envoy_text(each) + "\n";
  return result;
}

// Pairs of a key and a value.
using Entries = std::vector<DescriptorEntry>;

// "5/MINUTE d.key_value 1:d3:key5:value", "unlimited d.key", "none", "unknown domain", "bad override".
inline std::string met(const Descriptors& set, std::string_view domain, const Entries& entries,
                       DescriptorMatch& match, const DescriptorOverride* override = nullptr) {
  using Outcome = DescriptorMeets::Outcome;
  const Descriptors::Tree* const tree = set.find(domain);
  if (tree == nullptr) return "unknown domain";
  set.match(*tree, entries, override, match);
  if (match.outcome == Outcome::none) return "none";
  if (match.outcome == Outcome::bad_override) return "bad override";
  if (match.outcome == Outcome::unlimited) return "unlimited " + std::string(match.name);
  std::string unit(name_of(match.unit));
  if (match.unit == RateUnit::unknown) unit = match.unit_text;
  return std::to_string(match.requests_per_unit) + "/" + unit + " " + std::string(match.name) + " " +
         match.key;
}
inline std::string met(const Descriptors& set, std::string_view domain, const Entries& entries,
                       const DescriptorOverride* override = nullptr) {
  DescriptorMatch match;
  return met(set, domain, entries, match, override);
}

}  // namespace weir::limits
