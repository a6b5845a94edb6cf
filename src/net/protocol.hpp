// The protocol of a listener's connections: what makes a conversation, and what is said without one.
//
// The program makes it before its threads start and keeps it until they have ended; then any thread reads it.
#pragma once

#include <atomic>
#include <boost/asio/ssl/context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "net/clients.hpp"
#include "net/conversation.hpp"

namespace weir::inline v0_1::net {

struct Loop;

struct Protocol {
  std::string name{};  // by which a process that takes its connections over knows it
  // Called on the loop's thread; `resume` is what the conversation calls when its answers have come.
  std::function<std::unique_ptr<Conversation>(Loop& loop, const Peer& peer, std::function<void()> resume)>
      converse{};
  // What a plain connection is sent when there are too many.
  std::string too_many{};
  // What one is sent that is closed because it keeps too much memory, unless it is in the middle of a reply.
  std::string too_large{};
  // What one is sent that is closed because it has sent half a message and no more.
  std::string stalled{};
  // The bytes that a conversation keeps for any peer as soon as that has come, where they are many.
  std::size_t at_rest = 0;
  boost::asio::ssl::context* tls = nullptr;    // the caller's; without one, connections are plain
  std::atomic<std::uint64_t>* open = nullptr;  // the caller's: how many of its connections there are now
};

}  // namespace weir::net
