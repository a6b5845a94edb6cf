#include "weir/format.hpp"

#include <ostream>

#include "core/duration.hpp"
#include "core/rule.hpp"

namespace weir::inline v0_1 {

std::string_view to_text(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::allowed:
      return "allowed";
    case Verdict::denied:
      return "denied";
    case Verdict::never:
      return "never";
    case Verdict::busy:
      return "busy";
  }
  return "unknown";
}

std::string_view to_text(Source source) noexcept {
  switch (source) {
    case Source::store:
      return "store";
    case Source::remembered:
      return "remembered";
    case Source::leased:
      return "leased";
    case Source::fallback:
      return "fallback";
  }
  return "unknown";
}

std::string_view to_text(Fault fault) noexcept {
  switch (fault) {
    case Fault::none:
      return "none";
    case Fault::foreign_value:
      return "foreign_value";
    case Fault::unsuitable:
      return "unsuitable";
    case Fault::store_down:
      return "store_down";
  }
  return "unknown";
}

std::string to_text(const Decision& decision) {
  const auto seconds = [](std::chrono::nanoseconds time) {
    return std::to_string(core::ceil_to_seconds(time)) + " s";
  };
  std::string text(to_text(decision.verdict));
  text += ": " + std::to_string(decision.remaining) + " of " + std::to_string(decision.limit) + " left";
  if (decision.retry_after) text += ", retry in " + seconds(*decision.retry_after);
  if (decision.verdict == Verdict::never) text += ", the cost is above the burst: waiting does not help";
  text += ", full again in " + seconds(decision.reset_after);
  if (decision.source != Source::store) text += ", decided by: " + std::string(to_text(decision.source));
  return text;
}

std::string to_text(const Quota& quota) { return core::to_text(core::Rule{quota}); }

std::ostream& operator<<(std::ostream& out, const Decision& decision) { return out << to_text(decision); }
std::ostream& operator<<(std::ostream& out, const Quota& quota) { return out << to_text(quota); }

}  // namespace weir
