// A reply that needs the other event loops: which clients there are, and closing some of them.
//
// One connection's, on the thread of its loop. While it waits the conversation runs nothing. Destroying it
// forgets what was asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "net/clients.hpp"
#include "resp/writer.hpp"

namespace weir::inline v0_1::resp {

class Later {
 public:
  using Rows = net::Clients::Rows;

  // Without `clients` nothing can be asked. `resume` is called when the reply has come.
  Later(net::Clients* clients, std::function<void()> resume)
      : clients_(clients), resume_(std::move(resume)) {}

  bool possible() const { return clients_ != nullptr; }
  void list(bool silent, std::function<void(Writer&, net::Clients::List&)> reply);
  // Closes those of which `which` says so.
  void close(bool silent, std::function<bool(const net::Client&)> which,
             std::function<void(Writer&, std::size_t)> reply);

  void end_wait(bool silent, std::uint64_t id, bool with_error);

  bool waiting() const { return open_; }
  bool answered() const { return !open_ && reply_ != nullptr; }
  void write(Writer to);

 private:
  // What is called only if this still exists.
  template <class Call>
  auto unless_gone(Call call) {
    return [alive = std::weak_ptr<int>(alive_), call = std::move(call)](auto&& value) {
      if (!alive.expired()) call(std::forward<decltype(value)>(value));
    };
  }
  void finish(std::function<void(Writer&)> reply);

  net::Clients* clients_;
  std::function<void()> resume_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
  std::function<void(Writer&)> reply_;
  bool open_ = false;
  bool silent_ = false;
};

}  // namespace weir::resp
