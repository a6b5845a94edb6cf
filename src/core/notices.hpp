// What an operator of a server should hear of, from any room: a room tells it here, and the program says it
// in its log. Each notice is told at once, then at intervals with how often it has happened: a flood of one
// cause is a line each ten seconds, not a flood of lines.
//
// `sink` is set before the first thread tells; then any thread may tell. What it is given holds only for the
// call. Not for: counting (service/counters.hpp), and what happens once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/clock_function.hpp"
#include "core/repeated.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::core {

enum class Notice : std::uint8_t {
  cannot_accept,         // no descriptors or memory for a connection
  too_many_connections,  // refused
  plain_client,          // that does not speak TLS to a listener that does
  tls_refused,           // a handshake that failed for another reason
  wrong_password,
  malformed,      // the connection is closed, as after the next two
  stalled,        // with half a command or unread replies
  client_memory,  // it kept too much of it
  table_full,     // new keys find no slot
  wrong_gate_token,
  gate_without_address,  // what a gateway sends names no client
  gate_untrusted_proxy,  // what it sends ends at an address that may be a proxy's
  gate_refused,          // what it sends, or lacks, leaves nothing to count
  rls_refused,           // what it sends cannot be asked about
  two_rules,             // a key is asked about by two in turn
  kCount,
};

class Notices {
 public:
  struct Report {
    Notice notice;
    std::uint64_t times;      // since this was told last
    std::string_view client;  // the address of the last of them; empty: of none, or of several
    std::string_view detail;  // what more there is to say; never a key and never a secret
  };

  explicit Notices(ClockFunction clock) : clock_(std::move(clock)) {}

  void tell(Notice notice, std::string_view client = {}, std::string_view detail = {},
            std::uint64_t times = 1) {
    const std::uint64_t due = of(notice).happened(clock_(), times);
    if (due > 0) sink({notice, due, client, detail});
  }

  // What stays so until somebody changes it: one line for each detail, of the first kMostOnce.
  void tell_once(Notice notice, std::string_view client, std::string_view detail) {
    {
      const weir::detail::Held lock(mutex_);
      if (told_.size() >= kMostOnce || !told_.emplace(notice, detail).second) return;
    }
    sink({notice, 1, client, detail});
  }

  // Tells of those that were not followed by another. To be called every second or so.
  void tell_rest() {
    for (std::size_t i = 0; i < repeated_.size(); ++i) {
      const std::uint64_t due = repeated_[i].rest(clock_());
      if (due > 0) sink({static_cast<Notice>(i), due, {}, {}});
    }
  }

  std::function<void(const Report&)> sink = [](const Report&) {};

 private:
  static constexpr std::size_t kMostOnce = 64;

  Repeated& of(Notice notice) { return repeated_[static_cast<std::size_t>(notice)]; }

  ClockFunction clock_;
  std::array<Repeated, static_cast<std::size_t>(Notice::kCount)> repeated_;
  weir::detail::Mutex mutex_;
  std::set<std::pair<Notice, std::string>> told_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::core
