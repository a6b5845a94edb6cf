#include "logs/first_parts.hpp"

#include <string>

#include "logs/key.hpp"

namespace weir::inline v0_1::logs {

std::uint32_t FirstParts::client_of(std::uint32_t combination) {
  if (first_ == parts_) return combination;
  while (client_.size() <= combination) {
    const std::vector<std::string_view> values =
        values_of(combinations_.name(static_cast<std::uint32_t>(client_.size())), first_);
    std::string key;
    for (const std::string_view value : values) {
      if (first_ == 1) {
        key = value;
      } else {
        const std::size_t begin = begin_value(key);
        key += value;
        end_value(begin, key);
      }
    }
    client_.push_back(clients_.number(key, ClientIndex::hash(key)));
  }
  return client_[combination];
}

std::vector<std::string_view> FirstParts::rest(std::uint32_t combination) const {
  std::vector<std::string_view> values = values_of(combinations_.name(combination), parts_);
  values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(first_));
  return values;
}

}  // namespace weir::logs
