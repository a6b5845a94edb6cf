// Why a call did not get its answer from Redis: for counters, and for what is decided then.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weir::inline v0_1::redis {

enum class Cause : std::uint8_t {
  none,
  timeout,      // no answer by the deadline; whether it was charged is unknown
  overload,     // not sent: the store had as much to answer as it can in time
  connection,   // not connected, or the connection ended before the answer
  noscript,     // the script was gone, again and again
  moved,        // sent on from node to node too often
  readonly,     // what was a master is one no longer
  loading,      // reading its data in
  busy,         // in somebody's slow script
  oom,          // maxmemory reached, and nothing may be evicted
  auth,         // wrong password, or commands that the user may not run
  clusterdown,  // slots without a master
  wrongtype,    // there is something else under the key: an error for the caller, not a failure of the store
  other,
};
inline constexpr std::array<std::string_view, 14> kCauseNames = {
    "none",    "timeout", "overload", "connection", "noscript",    "moved",     "readonly",
    "loading", "busy",    "oom",      "auth",       "clusterdown", "wrongtype", "other"};

constexpr std::string_view name_of(Cause cause) { return kCauseNames[static_cast<std::size_t>(cause)]; }

// By the first word of an error that Redis answered.
constexpr Cause cause_of(std::string_view error) {
  struct Code {
    std::string_view word;
    Cause cause;
  };
  constexpr std::array kCodes = {Code{"NOSCRIPT", Cause::noscript},
                                 Code{"MOVED", Cause::moved},
                                 Code{"ASK", Cause::moved},
                                 Code{"TRYAGAIN", Cause::moved},
                                 Code{"READONLY", Cause::readonly},
                                 Code{"MASTERDOWN", Cause::readonly},
                                 Code{"LOADING", Cause::loading},
                                 Code{"BUSY", Cause::busy},
                                 Code{"OOM", Cause::oom},
                                 Code{"NOAUTH", Cause::auth},
                                 Code{"WRONGPASS", Cause::auth},
                                 Code{"NOPERM", Cause::auth},
                                 Code{"DENIED", Cause::auth},
                                 Code{"CLUSTERDOWN", Cause::clusterdown},
                                 Code{"WRONGTYPE", Cause::wrongtype}};
  const std::string_view word = error.substr(0, error.find(' '));
  for (const Code& code : kCodes) {
    if (word == code.word) return code.cause;
  }
  return Cause::other;
}

}  // namespace weir::redis
