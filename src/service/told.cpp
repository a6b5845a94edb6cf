#include "service/told.hpp"

#include <vector>

namespace weir::inline v0_1::service {

limits::Explanation explanation_of(const Question& question, std::span<const limits::Attribute> attributes,
                                   const limits::Set& set) {
  return limits::explain(set.file(), question.more->explained_of().trace, attributes, question.checks,
                         asked_of(question));
}

limits::Explanation explanation_of(const Question& question, const limits::Set& set) {
  std::vector<limits::Attribute> attributes;
  for (const auto& [name, value] : question.more->explained_of().said) attributes.push_back({name, value});
  return explanation_of(question, attributes, set);
}

}  // namespace weir::service
