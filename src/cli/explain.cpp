// weir explain: which route of a limits file a request takes, which limits it meets, and whose numbers they
// have.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/limits_flags.hpp"
#include "cli/print.hpp"
#include "core/printable.hpp"
#include "limits/envoy_file.hpp"
#include "limits/envoy_folder.hpp"
#include "limits/read.hpp"
#include "limits/scalars.hpp"
#include "trial/explain_json.hpp"
#include "trial/trial.hpp"

namespace weir::inline v0_1::cli {
namespace {

struct ExplainFlags {
  std::string file;
  std::string rls_config;
  bool rls_merge_domains = false;
  std::string domain;
  std::vector<std::string> attributes;
  std::string cost;
  std::string class_of;
  std::string now;
  bool json = false;
};

std::vector<limits::Attribute> attributes_of(const std::vector<std::string>& words) {
  std::vector<limits::Attribute> attributes;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      throw std::runtime_error("missing '=' after '" + word + "'; write user=42");
    const std::string_view name = std::string_view(word).substr(0, equals);
    if (const std::string wrong = limits::wrong_attribute(name); !wrong.empty())
      throw std::runtime_error(wrong);
    for (const limits::Attribute& each : attributes) {
      if (each.name == name) throw std::runtime_error("'" + std::string(name) + "' a second time");
    }
    attributes.push_back({name, std::string_view(word).substr(equals + 1)});
  }
  return attributes;
}

// "3", or by limit "tpm=3000,rpm=1"; of an empty text nothing is said.
void take_cost(const std::string& text, limits::Description& asked, std::vector<limits::NamedCost>& costs) {
  asked.costs_an_estimate = text.empty() || text.find('=') != std::string::npos;
  if (text.empty()) return;
  std::string error;
  if (asked.costs_an_estimate) {
    if (!limits::read_costs(text, costs, error)) throw std::runtime_error("cost: " + error);
    asked.costs = costs;
    return;
  }
  const auto units = limits::read_integer(text, 0, std::numeric_limits<std::int64_t>::max());
  if (!units) throw std::runtime_error("cost: " + units.error());
  asked.cost = *units;
}

std::string text_of(const limits::DescriptorMatch& met) {
  using Outcome = limits::DescriptorMeets::Outcome;
  if (met.outcome == Outcome::none) return "no limit\n";
  std::string text = std::string(met.name) + ": ";
  if (met.outcome == Outcome::unlimited) {
    text += "unlimited";
  } else {
    text += std::to_string(met.requests_per_unit) + " per " + std::string(name_of(met.unit));
  }
  if (met.shadow_mode) text += ", shadow_mode";
  if (met.quota_mode) text += ", quota_mode";
  if (!met.limit_name.empty()) text += ", name " + std::string(met.limit_name);
  for (const std::string& each : met.replaces) text += ", replaces " + each;
  text = core::printable(text) + "\n";
  if (met.limit != nullptr) text += "counted under " + core::printable(met.key) + "\n";
  return text;
}

// Which limit of a folder of envoyproxy/ratelimit's files a descriptor meets.
int explain_descriptor(const ExplainFlags& flags) {
  if (flags.domain.empty()) throw std::runtime_error("rls-config needs domain");
  if (flags.json || !(flags.cost + flags.class_of + flags.now).empty())
    throw std::runtime_error("cost, class, now and json are for a limits file, not for rls-config");
  const limits::EnvoyFolder folder =
      limits::read_envoy_folder(flags.rls_config, {.compiling = {.merge_domains = flags.rls_merge_domains}});
  if (!folder.set) {
    for (const limits::Finding& finding : folder.findings) {
      if (finding.severity == limits::Severity::error)
        std::fprintf(stderr, "%s\n", limits::envoy_text(finding).c_str());
    }
    return 2;
  }
  const limits::Descriptors::Tree* const tree = folder.set->find(flags.domain);
  if (tree == nullptr) throw std::runtime_error("unknown domain '" + flags.domain + "'");
  std::vector<std::string> words = flags.attributes;
  words.insert(words.begin(), flags.file);
  std::vector<limits::DescriptorEntry> entries;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      throw std::runtime_error("missing '=' after '" + word + "'; write user=42");
    entries.push_back({std::string_view(word).substr(0, equals), std::string_view(word).substr(equals + 1)});
  }
  limits::DescriptorMatch met;
  folder.set->match(*tree, entries, nullptr, met);
  print(text_of(met));
  return 0;
}

int explain(const ExplainFlags& flags) {
  if (!flags.rls_config.empty()) return explain_descriptor(flags);
  const limits::Time now = now_of(flags.now);
  limits::ReadOptions options;
  options.now = now;
  const limits::ReadResult reading = limits::read_file(flags.file, options);
  if (!reading.file) {
    for (const limits::Finding& finding : reading.findings) {
      if (finding.severity == limits::Severity::error) std::fprintf(stderr, "%s\n", to_text(finding).c_str());
    }
    return 2;
  }
  const std::shared_ptr<const limits::Set> set = limits::compiled(reading.file);
  const std::vector<limits::Attribute> attributes = attributes_of(flags.attributes);
  limits::Trial trial(*set);
  limits::Description asked{.attributes = attributes, .class_name = flags.class_of};
  std::vector<limits::NamedCost> costs;
  take_cost(flags.cost, asked, costs);
  if (!trial.find(asked, now)) throw std::runtime_error(trial.error());
  const limits::Answer answer = trial.ask(now, store::Verb::look);
  const limits::Explanation explanation = trial.explanation(trial.keep());
  print(flags.json ? limits::json_of(explanation, answer, reading.file->name) + "\n"
                   : limits::to_text(explanation, reading.file->name));
  return answer.allowed ? 0 : 1;
}

}  // namespace

void add_explain(CLI::App& app, int& result) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App* explain_app =
      app.add_subcommand("explain", "Say which limits of a file a request meets, and whose numbers");
  explain_app->add_option("FILE", flags->file, "limits file; - is standard input; none with --rls-config")
      ->type_name("FILE")
      ->required();
  explain_app
      ->add_option("ATTRIBUTE", flags->attributes,
                   "what the request says of itself, as in user=42 path=/v1/x")
      ->type_name("NAME=VALUE");
  explain_app
      ->add_option("--cost", flags->cost,
                   "units that the request takes, also by limit, as in tpm=3000,rpm=1 [1]")
      ->type_name("N");
  explain_app->add_option("--class", flags->class_of, "class that the request names")->type_name("NAME");
  explain_app->add_option("--now", flags->now, "moment that is meant, as in 2026-12-01T12:00:00Z [now]")
      ->type_name("TIME");
  explain_app
      ->add_option("--rls-config", flags->rls_config,
                   "folder of envoyproxy/ratelimit's files, for the words of a descriptor")
      ->type_name("FOLDER");
  explain_app->add_flag("--rls-merge-domains", flags->rls_merge_domains,
                        "several of them may say one domain");
  explain_app->add_option("--domain", flags->domain, "the descriptor's domain")->type_name("NAME");
  explain_app->add_flag("--json", flags->json, "print one line of JSON");
  explain_app->callback([flags, &result] { result = explain(*flags); });
}

}  // namespace weir::cli
