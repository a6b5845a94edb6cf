#include "service/rule_texts.hpp"

namespace weir::inline v0_1::service {

const store::Limit* RuleTexts::find(std::string_view text) {
  if (last_ != nullptr && last_->first == text) return last_->second.get();
  if (const auto known = limits_.find(text); known != limits_.end()) {
    last_ = &*known;
    return known->second.get();
  }
  if (text.size() > kMostBytes) {
    error_ = "limit '" + std::string(text.substr(0, 32)) + "...': longer than " + std::to_string(kMostBytes) +
             " bytes";
    return nullptr;
  }
  const auto rule = core::Rule::parse(text);
  if (!rule) {
    error_ = rule.error();
    return nullptr;
  }
  const store::Limit limit{
      .rule = rule->on_clock(wall_, &utc_), .on_store_error = on_store_error_, .sharing = sharing_};
  return limits_.emplace(text, std::make_shared<const Kept>(limit)).first->second.get();
}

}  // namespace weir::service
