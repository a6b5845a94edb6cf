#include "resp/steer_words.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/number.hpp"
#include "limits/scalars.hpp"
#include "resp/commands.hpp"
#include "resp/option_words.hpp"
#include "resp/throttle.hpp"

namespace weir::inline v0_1::resp {
namespace {

using service::Overrides;
using std::chrono::milliseconds;

class SteerReader {
 public:
  SteerReader(std::span<const std::string_view> words, const SteerForm& form, service::WantedOverride& into,
              std::string& error)
      : words_(words), form_(form), into_(into), error_(error) {}

  bool read() {
    while (!words_.empty()) {
      const std::string_view name = words_[0];
      if (form_.selects && (is_word(name, "AS") || is_word(name, "ALL"))) return read_selector() && has_all();
      if (form_.switches && (is_word(name, "ON") || is_word(name, "OFF"))) {
        if (std::exchange(switched_, true)) return fail("ERR ON and OFF: say one of them, once");
        into_.what = is_word(name, "ON") ? limits::Steer::shadow_on : limits::Steer::shadow_off;
        words_ = words_.subspan(1);
      } else if (!read_option(name)) {
        return false;
      }
    }
    return has_all();
  }

 private:
  bool fail(std::string text) {
    error_ = std::move(text);
    return false;
  }

  bool read_option(std::string_view name) {
    const bool known = is_word(name, "LIMIT") || is_word(name, "REASON") ||
                       (form_.rates && is_word(name, "RATE")) ||
                       (form_.ends && (is_word(name, "FOR") || is_word(name, "UNTIL")));
    if (!known) return fail("ERR unknown option " + shown_word(name) + "; " + command_form(form_.command));
    if (words_.size() == 1) return fail("ERR missing the value of " + std::string(name));
    const std::string_view value = words_[1];
    words_ = words_.subspan(2);
    if (is_word(name, "LIMIT")) return take_once(has_limit_, name) && (into_.limit = value, true);
    if (is_word(name, "REASON")) return take_once(has_reason_, name) && (into_.reason = value, true);
    if (is_word(name, "RATE")) {
      into_.rates.emplace_back(value);
      return true;
    }
    if (has_end_ && is_word(name, "FOR") != into_.lasts.has_value())
      return fail("ERR FOR and UNTIL: say one of them");
    return take_once(has_end_, name) && (is_word(name, "FOR") ? read_span(value) : read_end(value));
  }

  bool take_once(bool& has, std::string_view name) {
    return !std::exchange(has, true) || fail("ERR " + std::string(name) + " is given twice");
  }

  bool read_span(std::string_view value) {
    constexpr auto kLeast = milliseconds{Overrides::kShortest}.count();
    constexpr auto kMost = milliseconds{Overrides::kLongest}.count();
    const std::int64_t ms = core::parse_integer(value).value_or(0);
    if (ms < kLeast || ms > kMost) return fail(not_in_range("FOR", value, kLeast, kMost));
    into_.lasts = milliseconds{ms};
    return true;
  }

  bool read_end(std::string_view value) {
    const auto time = limits::read_time(value);
    if (!time) return fail("ERR UNTIL: " + time.error());
    into_.until = *time;
    return true;
  }

  bool read_selector() {
    const bool all = is_word(words_[0], "ALL");
    words_ = words_.subspan(1);
    selected_ = true;
    if (!all && words_.size() == 1 && is_word(words_[0], "ALL")) {
      words_ = {};
    } else if (all && !words_.empty()) {
      return fail("ERR nothing follows ALL, which is everybody");
    } else if (!all && words_.empty()) {
      return fail("ERR AS: name at least one attribute=value; ALL in its place is everybody");
    }
    for (const std::string_view word : words_) {
      const std::size_t at = word.find('=');
      if (at == std::string_view::npos) return fail("ERR missing '=' after " + shown_word(word));
      if (at == 0) return fail("ERR missing a name before " + shown_word(word));
      into_.when.emplace_back(word.substr(0, at), word.substr(at + 1));
    }
    return true;
  }

  bool has_all() {
    const auto missing = [this](std::string_view what) {
      return fail("ERR missing " + std::string(what) + "; " + command_form(form_.command));
    };
    if (!has_limit_) return missing("LIMIT");
    if (form_.switches && !switched_) return missing("ON or OFF");
    if (form_.rates && into_.rates.empty()) return missing("RATE");
    if (form_.ends && !has_end_) return missing("FOR or UNTIL");
    if (form_.reasons && !has_reason_) return missing("REASON");
    if (form_.selects && !selected_) return missing("AS and whom it concerns");
    return true;
  }

  std::span<const std::string_view> words_;
  const SteerForm& form_;
  service::WantedOverride& into_;
  std::string& error_;
  bool has_limit_ = false;
  bool has_reason_ = false;
  bool has_end_ = false;
  bool switched_ = false;
  bool selected_ = false;
};

}  // namespace

bool read_steer_words(std::span<const std::string_view> words, const SteerForm& form,
                      service::WantedOverride& into, std::string& error) {
  return SteerReader(words, form, into, error).read();
}

std::string error_of(const service::NotSteered& why) {
  const bool names_word =
      why.field == "reason" || why.field == "rate" || why.field == "for" || why.field == "until";
  if (!names_word) return "ERR " + why.sentence;
  std::string word(why.field);
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char each) { return static_cast<char>(each - 0x20); });
  return "ERR " + word + ": " + why.sentence;
}

}  // namespace weir::resp
