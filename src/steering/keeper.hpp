// Where overrides lie, so that they outlive the program.
//
// One thread at a time, none of an event loop: each call waits until it is done. Not for: what is in force
// (override_book.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "steering/override.hpp"
#include "steering/override_book.hpp"

namespace weir::inline v0_1::steering {

// Why nothing is read or kept while there is no answer; what is said elsewhere already, once.
inline constexpr const char* kNoAnswer = "the store does not answer";

class Keeper {
 public:
  virtual ~Keeper() = default;
  // Whether they are there when the program has ended.
  virtual bool durable() const = 0;
  // The number of the next that is set, which no other has; or why there is none.
  virtual tl::expected<std::uint64_t, std::string> take_number(const OverrideBook& book) = 0;
  // Those of `book` without `ended` and with `made`, which replaces what has its words. Why they are not
  // kept; then nothing has changed.
  virtual std::optional<std::string> keep(const OverrideBook& book, const OperatorOverride* made,
                                          const std::vector<OverrideBook::Ptr>& ended) = 0;

  // How far the clock by which they end is ahead of this machine's. Any thread.
  virtual std::chrono::nanoseconds ahead() const { return std::chrono::nanoseconds{0}; }
  // Those whose end has come need not be kept any longer.
  virtual void forget(const std::vector<OverrideBook::Ptr>& /*ended*/) {}
  // Where others set and end some too: what has come and gone since the last call.
  struct Changes {
    bool whole = false;  // `set` are all that there are
    bool older = false;  // those of an older time than has been seen: what is not there was lost
    std::vector<OperatorOverride> set{};
    std::vector<std::uint64_t> ended{};  // their numbers
  };
  // Or why they cannot be read now, in words for an operator.
  virtual tl::expected<Changes, std::string> changes() { return Changes{}; }
};

// Nowhere but in the book.
class MemoryKeeper final : public Keeper {
 public:
  bool durable() const override { return false; }
  tl::expected<std::uint64_t, std::string> take_number(const OverrideBook& book) override {
    return book.next_number();
  }
  std::optional<std::string> keep(const OverrideBook&, const OperatorOverride*,
                                  const std::vector<OverrideBook::Ptr>&) override {
    return std::nullopt;
  }
};

}  // namespace weir::steering
