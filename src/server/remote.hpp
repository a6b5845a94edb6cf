// What one connection has asked of the shared store, in the order of its commands, until all of it is
// answered.
//
// Its loop's thread. Lives until its last answer has come, also when its connection has gone: outcomes find
// it by address.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "redis/shared_store.hpp"
#include "resp/writer.hpp"
#include "weir/quota.hpp"

namespace weir::server {

class Remote {
 public:
  // `store` outlives this; `resume` is called when the last outstanding answer has come.
  Remote(redis::SharedStore& store, std::function<void()> resume)
      : store_(store), resume_(std::move(resume)) {}
  Remote(const Remote&) = delete;
  Remote& operator=(const Remote&) = delete;

  // The connection ends; resume is not called any more.
  static void abandon(Remote* remote);

  // One command each. A silent one is run, its reply is not wanted.
  void throttle(const Quota& quota, std::string_view key, Cost cost, bool silent);
  void reset(std::span<const std::string_view> keys, bool silent);
  void fail(std::string text, bool silent);

  const redis::SharedStore& store() const { return store_; }
  std::size_t size() const { return answers_.size(); }
  bool waiting() const { return open_ > 0; }
  // Writes the replies, when none is outstanding. Returns how many were denials.
  std::uint64_t collect(resp::Writer to);

  // Where a store's outcomes go.
  static void on_outcome(std::uint64_t token, const redis::SharedStore::Outcome& outcome);
  static void on_reset(std::uint64_t token, std::optional<std::int64_t> removed, std::string_view error);

 private:
  struct Answer {
    Remote* owner;
    bool silent;
    bool decides = false;
    Decision decision{};
    std::int64_t removed = 0;
    std::string error{};
  };
  Answer& add(bool silent) { return answers_.emplace_back(Answer{this, silent}); }
  void one_less();
  static std::uint64_t token_of(Answer& answer) { return reinterpret_cast<std::uintptr_t>(&answer); }
  static Answer& answer_of(std::uint64_t token) {
    return *reinterpret_cast<Answer*>(static_cast<std::uintptr_t>(token));
  }

  redis::SharedStore& store_;
  std::function<void()> resume_;
  std::deque<Answer> answers_;  // whose elements stay where they are
  std::size_t open_ = 0;
  bool abandoned_ = false;
};

}  // namespace weir::server
