#include "service/slow_log.hpp"

#include <algorithm>
#include <utility>

#include "core/printable.hpp"

namespace weir::inline v0_1::service {

void SlowLog::add(Entry entry) {
  const detail::Held lock(mutex_);
  entry.id = ids_++;
  entries_.push_front(std::move(entry));
  if (entries_.size() > kMost) entries_.pop_back();
}

std::vector<SlowLog::Entry> SlowLog::latest(std::size_t count) const {
  const detail::Held lock(mutex_);
  const auto shown = static_cast<std::ptrdiff_t>(std::min(count, entries_.size()));
  return {entries_.begin(), entries_.begin() + shown};
}

std::size_t SlowLog::size() const {
  const detail::Held lock(mutex_);
  return entries_.size();
}

void SlowLog::clear() {
  const detail::Held lock(mutex_);
  entries_.clear();
}

std::vector<std::string> cut(std::span<const std::string_view> words) {
  std::vector<std::string> shown;
  const std::size_t most = words.size() > SlowLog::kMostWords ? SlowLog::kMostWords - 1 : words.size();
  for (const std::string_view word : words.first(most)) {
    std::string text = core::printable(word.substr(0, SlowLog::kMostBytes));
    if (word.size() > SlowLog::kMostBytes)
      text += "... (" + std::to_string(word.size() - SlowLog::kMostBytes) + " more bytes)";
    shown.push_back(std::move(text));
  }
  if (words.size() > most)
    shown.push_back("... (" + std::to_string(words.size() - most) + " more arguments)");
  return shown;
}

}  // namespace weir::service
