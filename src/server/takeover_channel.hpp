// The connection between the process in charge and the one that takes over: messages, each with descriptors,
// over a Unix socket that keeps them apart.
//
// Every call ends at its deadline. One thread. Not for: what the messages say (takeover_message.hpp).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/owned_descriptor.hpp"

namespace weir::inline v0_1::server {

class TakeoverChannel {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  static constexpr std::size_t kMostBytes = std::size_t{32} << 10;
  static constexpr std::size_t kMostDescriptors = 128;  // the kernel takes 253

  struct Message {
    std::string bytes;
    std::vector<net::OwnedDescriptor> descriptors;
  };

  explicit TakeoverChannel(net::OwnedDescriptor descriptor) : descriptor_(std::move(descriptor)) {}
  // Nothing: no process listens at that path. Throws std::runtime_error, with the reason alone.
  static std::optional<TakeoverChannel> connect(const std::string& path);

  // The other process is of the same user.
  bool is_of_us() const;
  pid_t its_process() const;
  // That of connect() has ended, or does so in time, and all that it had open is closed. False too where this
  // system does not say.
  bool its_process_ends(Deadline deadline) const;

  // False: it did not take the message in time, or has gone.
  bool send(std::string_view bytes, std::span<const int> descriptors, Deadline deadline);
  // Nothing came in time, or it has gone; then has_gone().
  std::optional<Message> receive(Deadline deadline);
  bool has_gone() const { return has_gone_; }
  int descriptor() const { return descriptor_.get(); }

 private:
  void watch_its_process();

  net::OwnedDescriptor descriptor_;
  net::OwnedDescriptor process_;  // that of the other side, if it can be watched
  bool has_ended_ = false;        // before it could be
  bool has_gone_ = false;
};

}  // namespace weir::server
