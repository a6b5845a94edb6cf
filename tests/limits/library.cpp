// Decides by a limits file as the C++ library does, for tests/limits/test_agreement.py: a request a line,
// "COST CLASS NAME=VALUE..." between tabs, where "-" means that it names no class. Prints "ALLOWED LIMIT
// REMAINING BY" between tabs.
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "weir/limits.hpp"

namespace {

std::vector<std::string_view> cut(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t from = 0; from <= line.size();) {
    const std::size_t end = std::min(line.find('\t', from), line.size());
    words.push_back(line.substr(from, end - from));
    from = end + 1;
  }
  return words;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  weir::Limits limits{std::string(argv[1])};
  for (std::string line; std::getline(std::cin, line);) {
    const std::vector<std::string_view> words = cut(line);
    std::vector<weir::Attribute> attributes;
    for (std::size_t i = 2; i < words.size(); ++i) {
      const std::size_t equals = words[i].find('=');
      attributes.push_back({words[i].substr(0, equals), words[i].substr(equals + 1)});
    }
    const weir::LimitsDecision decision = limits.check(
        {attributes, weir::Cost{std::stoull(std::string(words[0]))}, words[1] == "-" ? "" : words[1]});
    std::printf("%d\t%lld\t%lld\t%s\n", decision.allowed() ? 1 : 0,
                static_cast<long long>(decision.decision.limit),
                static_cast<long long>(decision.decision.remaining), decision.by.c_str());
  }
  return 0;
}
