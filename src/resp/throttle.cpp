#include "resp/throttle.hpp"

#include <limits>

#include "core/duration.hpp"
#include "core/number.hpp"
#include "resp/option_words.hpp"

namespace weir::inline v0_1::resp {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostSeconds = kMost / 1'000'000'000;

bool is_infinite(std::string_view word) {
  if (is_word(word, "INFINITY")) return true;
  if (!word.empty() && (word[0] == '+' || word[0] == '-')) word.remove_prefix(1);
  return is_word(word, "INF");
}

}  // namespace

std::string wrong_arity(std::string_view command) {
  std::string name(command);
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return "ERR wrong number of arguments for '" + name + "' command";
}

std::string not_in_range(std::string_view field, std::string_view came, std::int64_t least,
                         std::int64_t most) {
  constexpr std::size_t kMostShown = 32;
  std::string text = "ERR " + std::string(field) + ": '" + std::string(came.substr(0, kMostShown));
  if (came.size() > kMostShown) text += "...";
  return text + "' is not an integer from " + std::to_string(least) + " to " + std::to_string(most);
}

ThrottleParser::ThrottleParser(OnStoreError on_store_error, store::Sharing sharing)
    : on_store_error_(on_store_error), sharing_(sharing) {
  limits_.reserve(kMostLimits + 1);  // with the last one of before
}

Throttle ThrottleParser::fail(std::string text) {
  error_ = std::move(text);
  return {"", nullptr, {}};
}

// Callers mostly repeat one quota: comparing three numbers saves judging them again.
Throttle ThrottleParser::make(std::string_view key, Rate rate, std::int64_t max_burst, std::int64_t units) {
  const Quota* last = limits_.empty() ? nullptr : &limits_.back().rule.quota;
  if (last == nullptr || last->rate() != rate || last->burst() - 1 != max_burst) {
    const auto made = Quota::make(rate, max_burst + 1);
    if (!made) {
      // A burst that is too large was sent as max_burst, and the most is said as what may be sent.
      const auto of_one = Quota::make(rate, 1);
      if (!of_one) return fail("ERR " + made.error());
      const std::int64_t most = kMost / of_one->emission_interval().count() - 1;
      return fail("ERR max_burst: " + std::to_string(max_burst) + " at " + std::to_string(rate.count) +
                  " per " + core::to_text(rate.period) +
                  " would take longer than 2^63 ns to drain; the maximum is " + std::to_string(most));
    }
    limits_.push_back({.rule = core::Rule{*made}, .on_store_error = on_store_error_, .sharing = sharing_});
  }
  return {key, &limits_.back(), Cost{static_cast<std::uint64_t>(units)}};
}

void ThrottleParser::forget() {
  if (limits_.size() > 1) limits_.erase(limits_.begin(), limits_.end() - 1);
}

Throttle ThrottleParser::cl_throttle(Arguments words) {
  if (words.size() < 5 || words.size() > 6) return fail(wrong_arity(words[0]));
  // No word may be negative, so -1 can stand for a word that is not a number; optionals cost a tenth of a
  // request here.
  const auto number = [&words](std::size_t at) { return core::parse_integer(words[at]).value_or(-1); };
  const std::int64_t max_burst = number(2);
  const std::int64_t count = number(3);
  const std::int64_t period = number(4);
  const std::int64_t quantity = words.size() == 6 ? number(5) : 1;
  if (max_burst < 0 || max_burst == kMost) return fail(not_in_range("max_burst", words[2], 0, kMost - 1));
  if (count < 1) return fail(not_in_range("count", words[3], 1, kMost));
  if (period < 1 || period > kMostSeconds) return fail(not_in_range("period", words[4], 1, kMostSeconds));
  if (quantity < 0) return fail(not_in_range("quantity", words[5], 0, kMost));
  return make(words[1], {count, std::chrono::seconds{period}}, max_burst, quantity);
}

Throttle ThrottleParser::gcra(Arguments words) {
  if (words.size() < 5 || words.size() > 7) return fail(wrong_arity(words[0]));
  const auto max_burst = core::parse_integer(words[2]);
  if (!max_burst || *max_burst < 0 || *max_burst == kMost) {
    return fail("ERR value is out of range, must be positive");
  }
  const auto count = core::parse_integer(words[3]);
  if (!count) return fail("ERR value is not an integer or out of range");
  if (*count < 1) return fail("ERR value is out of range, value must between 1 and 9223372036854775807");
  const core::ScaledNumber period = core::parse_scaled(words[4], std::chrono::seconds{1});
  if (period.fault == core::NumberFault::not_a_number) {
    return fail(is_infinite(words[4]) ? "ERR period must be > 0 and < 1e12"
                                      : "ERR value is not a valid float");
  }
  // Below 1e12 seconds but above 2^63 ns; a thousandth of it can still be read.
  if (const auto thousandth = core::parse_scaled(words[4], std::chrono::milliseconds{1});
      period.fault == core::NumberFault::out_of_range && thousandth.fault == core::NumberFault::none &&
      thousandth.value < std::chrono::seconds{1'000'000'000}) {
    return fail("ERR period: above the maximum (" + std::to_string(kMostSeconds) + " seconds)");
  }
  if (period.fault == core::NumberFault::out_of_range || period.value <= std::chrono::nanoseconds{0}) {
    return fail("ERR period must be > 0 and < 1e12");
  }
  std::int64_t tokens = 1;
  if (words.size() > 5) {
    if (!is_word(words[5], "TOKENS")) return fail("ERR syntax error");
    if (words.size() == 6) return fail("ERR Missing TOKENS value");
    const auto given = core::parse_integer(words[6]);
    if (!given || *given < 0) return fail(not_in_range("TOKENS", words[6], 0, kMost));
    tokens = *given;
  }
  return make(words[1], {*count, period.value}, *max_burst, tokens);
}

std::array<std::int64_t, 5> five_integers(const Decision& decision) {
  return {decision.allowed() ? 0 : 1, decision.limit, decision.remaining,
          decision.retry_after ? core::ceil_to_seconds(*decision.retry_after) : -1,
          core::ceil_to_seconds(decision.reset_after)};
}

}  // namespace weir::resp
