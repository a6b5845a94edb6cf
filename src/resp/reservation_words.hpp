// The words of WEIR.RESERVE: [COST n] [MAXWAIT ms] [CLASS name] [HOLD ms] [BOUND] [FIELDS] [TAG word], then
// [KEYS] key rule [key rule ...] or AS attr=value ..., where COST may be limit=n,limit=n.
//
// Pure, one thread. It views the words.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limits/match.hpp"

namespace weir::inline v0_1::resp {

struct ReservationWords {
  std::optional<std::uint64_t> cost{};
  std::vector<limits::NamedCost> costs{};
  std::optional<std::chrono::milliseconds> max_wait{};
  std::optional<std::chrono::milliseconds> hold{};
  bool bound = false;
  bool fields = false;     // the answer has those of HTTP, too
  std::string_view tag{};  // by what it waits while others of its connection go on
  std::string_view class_name{};
  bool by_file = false;  // AS: the rest are attributes; or else keys, each with its rule
  std::span<const std::string_view> rest{};
};

// A hold that is longer would keep a key's memory for longer than anything that costs is likely to last.
constexpr std::chrono::milliseconds kLongestHold = std::chrono::hours{24};

constexpr std::size_t kLongestTag = 64;

// False: the words, without the command's name, are wrong, and `error` is the text for an error reply.
bool read_reservation_words(std::span<const std::string_view> words, std::chrono::milliseconds longest_wait,
                            ReservationWords& into, std::string& error);

}  // namespace weir::resp
