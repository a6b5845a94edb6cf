// A table that counts sliding window logs too, which a table of two words a key cannot: around an
// EmbeddedStore, with a log for each key that grows with what it admits. So a trial counts every limit that a
// file may have, as a shared store does.
//
// As the EmbeddedStore, but for one thread. The caller owns the clock, and the table. Not for: serving;
// nothing bounds the logs' memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/growing_log.hpp"
#include "store/embedded_store.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::limits {

class StoreWithLogs final : public store::Store {
 public:
  explicit StoreWithLogs(store::EmbeddedStore& table) : table_(table) {}

  void submit(std::span<store::Request* const> batch, store::Arrival when) override;
  void cancel(store::Request&) override {}
  // A log gives nothing back.
  void give_back(const store::Request& charged, std::chrono::nanoseconds now) override;

 private:
  // A request's checks that the table decides, once its logs are, and which of the request's each is.
  struct OfTable {
    std::vector<store::Check> checks{};
    std::vector<std::size_t> places{};
    std::deque<store::Limit> at_best{};  // of those whose guarantee a log has allowed
  };

  static OfTable of_table(const store::Request& request);
  core::GrowingLog& log_of(const store::Check& check);
  void answer(store::Request& request, store::Arrival when);
  void decide(store::Request& request, store::Arrival when);
  void reset(store::Request& request, store::Arrival when);
  void ask_table(store::Request& request, store::Verb verb, store::Arrival when);
  bool look_at_all(store::Request& request, store::Arrival when);
  void charge_logs(store::Request& request, store::Arrival when);

  store::EmbeddedStore& table_;
  std::map<std::pair<std::uint64_t, std::string>, core::GrowingLog, std::less<>> logs_;  // by limit and key
};

}  // namespace weir::limits
