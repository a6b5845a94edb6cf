// A subscription to the rate limits that an xDS server has: what it is asked, what is made of its answers,
// and which of them are accepted. Over one stream after the other: what was accepted last stays known.
//
// What cannot be used is refused with the reason, and with the version that stays in force. A server answers
// a refusal at once, and mostly with the same again, which is answered after 1, 2, ... 60 s.
//
// One thread; time is handed in. Not for: streams and sockets, and what the domains mean.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limits/domain.hpp"
#include "xds/discovery.hpp"

namespace weir::inline v0_1::xds {

// What a server has sent.
struct Update {
  std::string version;
  std::vector<limits::Domain> domains{};
  std::vector<std::string> errors{};  // of what could not be read
  std::string text{};                 // all of it, to tell it from another
};

class Subscription {
 public:
  static constexpr std::chrono::seconds kMostDelay{60};

  // Puts it in force; else what is wrong with it, in lines.
  using Use = std::function<std::vector<std::string>(Update)>;

  Subscription(XdsNode node, Use use) : node_(std::move(node)), use_(std::move(use)) {}

  // A new stream: the message that it begins with.
  std::string begin();
  // A message of the server. False: it is malformed, and the stream is of no use.
  bool take(std::string_view message, std::chrono::nanoseconds now);
  // When an answer is due; nothing: the server is to speak.
  std::optional<std::chrono::nanoseconds> due() const { return due_; }
  // The answer, when it is due.
  std::optional<std::string> answer(std::chrono::nanoseconds now);

  bool heard() const { return heard_; }  // something came on this stream

 private:
  struct Judged {
    std::string text;     // what was sent
    std::string version;  // under which version
    std::string refusal;  // why it is refused; empty: it is accepted
  };

  std::string judge(const DiscoveryResponse& response, const std::string& text);

  const XdsNode node_;
  const Use use_;
  std::string accepted_;        // version
  std::optional<Judged> good_;  // the last that was accepted
  std::optional<Judged> bad_;   // the last that was refused
  std::optional<Judged> last_;  // of this stream
  std::string nonce_;
  std::string refusal_;
  std::chrono::seconds delay_{0};
  std::optional<std::chrono::nanoseconds> due_;
  bool heard_ = false;
};

}  // namespace weir::xds
