// A short trace that ends in a difference between two stores: steps are left out as long as it stays.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "agreement/asked.hpp"

namespace weir::inline v0_1::questions {

constexpr std::size_t kNone = ~std::size_t{0};

// A question of a trace, to be asked once more.
struct Recorded {
  Recorded(std::int64_t when, const Asked& question, std::size_t by, std::size_t id)
      : now(when), asked(question), process(by), granted(id) {}
  std::int64_t now;
  Asked asked;
  std::size_t process;
  std::size_t granted;  // the id, or kNone
  std::vector<store::Limit> limits{};
};

// The trace that is tried has a key of its own, and begins after whatever the stores have done before.
class Shrinking {
 public:
  Shrinking(std::int64_t& now, Subject& redis, Subject& embedded)
      : now_(now), redis_(redis), embedded_(embedded) {}

  std::string shrink(std::vector<Recorded> steps) {
    if (!differs(steps)) return "the steps alone, of another key, end in no difference\n";
    std::string said = said_;
    bool dropped = false;
    for (std::size_t size = steps.size() / 2; size > 0; size /= dropped ? 1 : 2) {
      dropped = false;
      for (std::size_t from = steps.size(); from > 0;) {
        from -= std::min(from, size);
        std::vector<Recorded> fewer = steps;
        const auto begin = fewer.begin() + static_cast<std::ptrdiff_t>(from);
        fewer.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(size, steps.size() - from)));
        if (fewer.empty() || !differs(fewer)) continue;
        steps = std::move(fewer);
        said = said_;
        dropped = true;
        from = std::min(from, steps.size());
      }
    }
    return said;
  }

 private:
  // What comes after a difference is dropped.
  bool differs(std::vector<Recorded>& steps) {
    const std::string key = "again " + std::to_string(++plays_);
    now_ += 1'000'000'000;
    const std::int64_t began = now_ - steps.front().now;
    said_.clear();
    std::map<std::size_t, std::array<std::size_t, 2>>
        ids;  // in Redis and embedded: one may have granted more
    std::map<std::string, std::string> limits;
    for (std::size_t n = 0; n < steps.size(); ++n) {
      const Recorded& step = steps[n];
      now_ = began + step.now;
      Asked asked = step.asked;
      std::size_t embedded_id = 0;
      if (is_by_id(asked.verb)) {
        const auto id = ids.find(asked.id);
        if (id == ids.end()) continue;
        std::tie(asked.id, embedded_id) = std::tie(id->second[0], id->second[1]);
      }
      for (std::size_t i = 0; i < asked.checks.size(); ++i) {
        asked.checks[i].key = key;
        asked.checks[i].limit = &step.limits[i];
        const std::string text = std::string(step.limits[i].name) + ": " + text_of(step.limits[i]);
        if (std::exchange(limits[std::string(step.limits[i].name)], text) != text) said_ += text + "\n";
      }
      const Answer answer = redis_.ask(asked, step.process);
      if (is_by_id(asked.verb)) asked.id = embedded_id;
      const Answer expected = embedded_.ask(asked, step.process);
      if (answer.has_id && step.granted != kNone) ids[step.granted] = {redis_.ids() - 1, embedded_.ids() - 1};
      said_ += std::to_string(step.now - steps.front().now) + ": " + text_of(step.asked) +
               (step.granted != kNone ? ", id " + std::to_string(step.granted) : "") + "\n   " + answer.text +
               "\n";
      if (answer.text == expected.text) continue;
      said_ += "   embedded: " + expected.text + "\n";
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(n) + 1, steps.end());
      return true;
    }
    return false;
  }

  std::int64_t& now_;
  Subject& redis_;
  Subject& embedded_;
  std::string said_;
  int plays_ = 0;
};

}  // namespace weir::questions
