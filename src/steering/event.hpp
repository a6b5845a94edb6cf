// Something that people want to be told of when it happens.
//
// A plain value, any thread. Not for: delivering it (server/event_sinks.hpp).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::inline v0_1::steering {

struct OperatorEvent {
  enum class What : std::uint8_t {
    denied,          // a key, for the first time in a period
    near,            // the same: less than a fifth is left
    banned,          //
    ban_ended,       //
    store_failed,    //
    store_back,      //
    file_refused,    //
    override,        // another than a ban came or went
    overrides_lost,  // the store has none of those any more that were in force
    dropped,         // events that could not be delivered
  };
  static constexpr std::array<std::string_view, 10> kNames = {
      "denied",     "near",         "banned",   "ban_ended",      "store_failed",
      "store_back", "file_refused", "override", "overrides_lost", "dropped"};

  What what;
  // Those that apply.
  std::string limit{};
  std::string key{};
  std::string window{};
  std::optional<std::chrono::nanoseconds> until{};  // on the wall clock
  std::string reason{};
  std::uint64_t count = 0;
};

constexpr std::string_view name_of(OperatorEvent::What what) {
  return OperatorEvent::kNames[static_cast<std::size_t>(what)];
}

}  // namespace weir::steering
