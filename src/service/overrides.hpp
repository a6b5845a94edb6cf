// The overrides of a server: set, listed, ended, kept, told of, and in force for all that ask.
//
// Any thread. What changes something waits for disks, for the audit or for a store, one change after the
// other, and so runs on no event loop (Service::steer). What is in force is one pointer
// (LimitsInForce::ruling). Not for: words and how an answer is written (the front ends).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_map>
#include <vector>

#include "limits/steered.hpp"
#include "service/limits_in_force.hpp"
#include "service/metrics.hpp"
#include "steering/change.hpp"
#include "steering/event.hpp"
#include "steering/keeper.hpp"
#include "steering/override_book.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::service {

// What an operator asks for.
struct WantedOverride {
  limits::Steer what = limits::Steer::ban;
  std::string limit;
  steering::Selector when;  // empty: everybody
  std::vector<std::string> rates;
  std::optional<std::chrono::nanoseconds> lasts;  // this, or else `until`
  limits::Time until{};
  std::string reason;
  std::string file_hash;  // of the limits file that was looked at; empty: any
};

// One that is set, as it is told.
struct ToldOverride {
  std::shared_ptr<const steering::OperatorOverride> it;
  std::string limit;  // what its limit is called now
  bool durable = false;
};

// Why something was not done.
struct NotSteered {
  enum class Why : std::uint8_t {
    words,      // what was asked cannot be
    full,       // there are too many
    changed,    // the file is another one than was looked at
    not_kept,   // where they lie cannot be written
    unaudited,  // the audit cannot be written
  };
  Why why = Why::words;
  std::string sentence;      // without a full stop
  std::string_view field{};  // of the words: "limit", "when", "rate", "for", "until", "reason"; empty: all
};

class Overrides {
 public:
  static constexpr std::chrono::seconds kShortest{1};
  static constexpr std::chrono::hours kLongest{366 * 24};
  static constexpr std::size_t kMostReason = 256;  // characters
  static constexpr std::size_t kMostListed = 1024;

  struct Links {
    std::function<void(steering::OperatorChange, std::function<void(bool)>)> record;
    std::function<void(const steering::OperatorEvent&)> tell;
    std::function<void(bool warns, const std::string&)> log;
  };

  // Those of `book` come in force at once; what has ended meanwhile is forgotten. `limits` has a file and
  // must outlive this.
  Overrides(LimitsInForce& limits, std::unique_ptr<steering::Keeper> keeper, steering::OverrideBook book,
            Links links);
  ~Overrides();
  Overrides(const Overrides&) = delete;
  Overrides& operator=(const Overrides&) = delete;

  tl::expected<ToldOverride, NotSteered> set(const WantedOverride& wanted, const steering::Actor& by);
  // How many bans of exactly these words have ended: 0 or 1.
  tl::expected<std::size_t, NotSteered> unban(const std::string& limit, const steering::Selector& when,
                                              const std::string& reason, const steering::Actor& by);
  // False: there is none of that number.
  tl::expected<bool, NotSteered> lift(std::uint64_t number, const std::string& reason,
                                      const steering::Actor& by);
  // Forgets those whose end has come, and looks for what other servers have set and ended. To be called about
  // twice a second.
  void look();

  // These wait for nothing but each other.
  std::optional<ToldOverride> find(std::uint64_t number) const;
  // `limit`: a name; empty: all. Of one that is neither in the file nor steered there are none.
  std::vector<ToldOverride> list(std::string_view limit, std::uint64_t after, std::size_t most) const;

  void add_rows(Metrics& metrics) const;

  // All of them for another process of this machine, which then has them in force in place of its own. False:
  // that is not what pack() wrote.
  std::string pack() const;
  bool take_over(std::string_view bytes);

 private:
  using Ptr = steering::OverrideBook::Ptr;
  using Compiled = limits::Steered::Ptr;

  tl::expected<limits::SteeredOverride, NotSteered> judge(const WantedOverride& wanted,
                                                          steering::OperatorOverride& made) const
      WEIR_REQUIRES(changing_) WEIR_NOT_ANALYSED;
  // Records the change and keeps it, and then it is in force; or why it is not.
  std::optional<NotSteered> write(steering::OperatorChange change, const steering::OperatorOverride* made,
                                  const Compiled& compiled, const std::vector<Ptr>& ended)
      WEIR_REQUIRES(changing_);
  std::optional<NotSteered> end(const Ptr& which, std::string verb, const std::string& reason,
                                const steering::Actor& by) WEIR_REQUIRES(changing_);
  // While a change is under way nobody else makes one.
  const steering::OverrideBook& book_unchanging() const WEIR_REQUIRES(changing_) WEIR_NOT_ANALYSED {
    return book_;
  }
  const limits::Steered& steered_unchanging() const WEIR_REQUIRES(changing_) WEIR_NOT_ANALYSED {
    return *steered_;
  }
  bool is_recorded(const steering::OperatorChange& change) const;
  struct Made {
    steering::OperatorOverride it;
    Compiled compiled;  // null: it sleeps
  };
  void put_in_force(const std::vector<Made>& made, const std::vector<Ptr>& ended) WEIR_REQUIRES(changing_);
  void refresh() WEIR_REQUIRES(changing_);
  void end_due() WEIR_REQUIRES(changing_);
  void adopt(steering::Keeper::Changes changes) WEIR_REQUIRES(changing_);
  void tell_of_reading(const std::string& why_not) WEIR_REQUIRES(changing_);
  void tell_of_loss(std::size_t count, bool all);
  void tell_of_memory() WEIR_REQUIRES(changing_);
  void renew();
  void renew_alone() WEIR_REQUIRES(changing_);
  ToldOverride told(const Ptr& which) const WEIR_REQUIRES(mutex_);
  void tell(const steering::OperatorOverride& which, bool begins) const;
  // By the clock that they end by.
  limits::Time now() const { return limits_.now() + keeper_->ahead(); }

  LimitsInForce& limits_;
  const std::unique_ptr<steering::Keeper> keeper_;
  const Links links_;
  mutable detail::Mutex changing_;  // one change at a time
  // What `until` is ahead of the clock by which requests are decided, in what is in force.
  std::chrono::nanoseconds ahead_ WEIR_GUARDED_BY(changing_){0};
  bool has_told_of_memory_ WEIR_GUARDED_BY(changing_) = false;
  std::string why_not_read_ WEIR_GUARDED_BY(changing_);  // empty: they are
  std::atomic<std::uint64_t> lost_{0};
  mutable detail::Mutex mutex_;  // taken after the other, and never for long
  steering::OverrideBook book_ WEIR_GUARDED_BY(mutex_);
  // What is in force, and what of the book is compiled for it: the others sleep.
  std::shared_ptr<const limits::Steered> steered_ WEIR_GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, Compiled> compiled_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::service
