#include "logs/filter.hpp"

#include <cmath>
#include <optional>
#include <stdexcept>

#include "core/number.hpp"
#include "core/pattern.hpp"

namespace weir::inline v0_1::logs {
namespace {

std::optional<double> finite_in(std::string_view text) {
  const auto value = core::number_in<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace

FieldCondition FieldCondition::parse(std::string_view text) {
  const auto refused = [text](const std::string& what) {
    return std::runtime_error("where: '" + std::string(text) + "': " + what);
  };
  const std::size_t at = text.find_first_of("!=<>");
  if (at == std::string_view::npos || at == 0)
    throw refused("expected a field, one of = != < > <= >=, and a value, as in status!=429");
  FieldCondition made;
  made.field = text.substr(0, at);
  const bool or_equal = text.substr(at + 1).starts_with('=');
  if (text[at] == '!' && !or_equal) throw refused("missing '=' after '!'");
  made.value = text.substr(at + 1 + (or_equal && text[at] != '=' ? 1 : 0));
  if (text[at] == '=' && or_equal) throw refused("write = once");
  switch (text[at]) {
    case '=':
      made.compares = Compares::equal;
      return made;
    case '!':
      made.compares = Compares::unequal;
      return made;
    case '<':
      made.compares = or_equal ? Compares::at_most : Compares::less;
      break;
    default:
      made.compares = or_equal ? Compares::at_least : Compares::greater;
  }
  const std::optional<double> number = finite_in(made.value);
  if (!number) throw refused("'" + made.value + "' is not a number, which < > <= >= compare");
  made.number = *number;
  return made;
}

bool FieldCondition::holds(std::string_view text) const {
  if (compares == Compares::equal) return core::matches_pattern(value, text);
  if (compares == Compares::unequal) return !core::matches_pattern(value, text);
  const std::optional<double> there = finite_in(text);
  if (!there) return false;
  switch (compares) {
    case Compares::less:
      return *there < number;
    case Compares::greater:
      return *there > number;
    case Compares::at_most:
      return *there <= number;
    default:
      return *there >= number;
  }
}

}  // namespace weir::logs
