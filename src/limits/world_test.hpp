// A limits file as text, a table and a clock: what requests are answered.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "limits/match.hpp"
#include "limits/read.hpp"
#include "limits/set.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1::limits {

inline std::vector<Attribute> split(std::string_view words) {
  std::vector<Attribute> attributes;
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(words.size(), word.size() + 1));
    attributes.push_back({word.substr(0, word.find('=')), word.substr(word.find('=') + 1)});
  }
  return attributes;
}

inline std::shared_ptr<const Set> compile(std::string_view text,
                                          std::map<std::string, std::string> files = {}) {
  ReadOptions options;
  options.now = std::chrono::sys_days{std::chrono::year{2026} / 11 / 21};
  options.open = [files](const std::string& path, std::size_t) -> tl::expected<std::string, std::string> {
    const auto found = files.find(path);
    if (found != files.end()) return found->second;
    return tl::unexpected(std::string("No such file or directory"));
  };
  const ReadResult reading = read(text, options);
  for (const Finding& each : reading.findings) {
    if (each.severity == Severity::error) ADD_FAILURE() << to_text(each);
  }
  if (!reading.file) return nullptr;
  auto set = Set::make(reading.file, {});
  if (!set) {
    ADD_FAILURE() << to_text(set.error().front());
    return nullptr;
  }
  return *set;
}

struct World {
  explicit World(std::string_view text, std::map<std::string, std::string> files = {})
      : set(compile(text, std::move(files))) {}

  // "allowed 10 9 user", "denied 10 0 user in 50ms"; or "error: ...".
  std::string ask(std::string_view words, std::uint64_t cost = 1, std::string_view class_name = {},
                  store::Verb verb = store::Verb::check) {
    const std::vector<Attribute> attributes = split(words);
    if (!match(*set, {attributes, cost, class_name}, wall, memory, matched)) return "error: " + matched.error;
    request = {};
    request.checks = matched.all();
    request.verb = verb;
    store::Request* const one = &request;
    const bool asks = matched.outcome == Matched::Outcome::meets;
    if (asks) embedded.submit({&one, 1}, {now, now});
    if (request.fault != Fault::none) return "fault: " + request.why;
    const Answer answer = answer_of(*set, matched, asks ? &request : nullptr);
    std::string text = answer.allowed ? "allowed " : "denied ";
    text += std::to_string(answer.limit) + " " + std::to_string(answer.remaining);
    if (!answer.by.empty()) text += " " + std::string(answer.by);
    if (answer.retry_after)
      text += " in " +
              std::to_string(std::chrono::ceil<std::chrono::milliseconds>(*answer.retry_after).count()) +
              "ms";
    return text;
  }
  // How many of that many pass.
  int allowed(int times, std::string_view words, std::string_view class_name = {}) {
    int passed = 0;
    for (int i = 0; i < times; ++i) passed += ask(words, 1, class_name).starts_with("allowed") ? 1 : 0;
    return passed;
  }
  // "tenant 1s key, tenant 1d key": what the last request met.
  std::string met() const {
    std::string text;
    for (std::size_t i = 0; i < matched.count; ++i) {
      if (!text.empty()) text += ", ";
      const store::Check& check = matched.checks[i];
      text += std::string(check.limit->name) + " " + std::string(check.key);
      if (check.cost.units != 1) text += " x" + std::to_string(check.cost.units);
      if (check.shadow) text += " shadow";
      if (check.inside != store::Check::kNoGuarantee) text += " inside " + std::to_string(check.inside);
      if (check.limit->rule.kept.count() > 0)
        text += " kept " + std::to_string(check.limit->rule.kept.count());
    }
    return text;
  }

  std::shared_ptr<const Set> set;
  std::chrono::nanoseconds now = std::chrono::seconds{1000};
  Time wall = std::chrono::sys_days{std::chrono::year{2026} / 11 / 21};
  store::EmbeddedStore embedded{1 << 20, weir::WhenFull::deny, {1, 2}};
  MatchMemory memory;
  Matched matched;
  store::Request request;
};

}  // namespace weir::limits
