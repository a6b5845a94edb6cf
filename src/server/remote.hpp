// What one connection has asked of the shared store, in the order of its commands, until all of it is
// answered.
//
// Its loop's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/shared_store.hpp"
#include "resp/writer.hpp"
#include "server/settings.hpp"
#include "weir/quota.hpp"

namespace weir::server {

class Remote {
 public:
  // `store` outlives this; `resume` is called when the last outstanding answer has come.
  Remote(redis::SharedStore& store, const Settings& settings, std::function<void()> resume)
      : store_(store), settings_(settings), resume_(std::move(resume)) {}
  Remote(const Remote&) = delete;
  Remote& operator=(const Remote&) = delete;

  ~Remote();

  // One command each. A silent one is run, its reply is not wanted.
  void throttle(const Quota& quota, std::string_view key, Cost cost, bool silent,
                std::chrono::nanoseconds now);
  void reset(std::span<const std::string_view> keys, bool silent, std::chrono::nanoseconds now);
  void fail(std::string text, bool silent);

  const redis::SharedStore& store() const { return store_; }
  std::size_t size() const { return answers_.size(); }
  bool waiting() const { return open_ > 0; }
  // Writes the replies, when none is outstanding. Returns how many were denials.
  std::uint64_t collect(resp::Writer to);

 private:
  struct Answer : store::Request {
    Answer(Remote* of, bool is_silent) : owner(of), silent(is_silent) {}

    Remote* owner;
    bool silent;
    bool decides = false;
    std::vector<store::Check> list{};
    std::string error{};
  };
  void submit(Answer& answer, std::chrono::nanoseconds now);
  void one_less();

  redis::SharedStore& store_;
  const Settings& settings_;
  std::function<void()> resume_;
  std::deque<Answer> answers_;  // whose elements stay where they are
  std::size_t open_ = 0;
};

}  // namespace weir::server
