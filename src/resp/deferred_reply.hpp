// A reply that needs another thread: which clients the other event loops have, closing some of them, reading
// a file.
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

class DeferredReply {
 public:
  using Rows = net::Clients::Rows;

  // Without `clients` nothing can be asked. `resume` is called when the reply has come.
  DeferredReply(net::Clients* clients, std::function<void()> resume)
      : clients_(clients), resume_(std::move(resume)) {}

  bool possible() const { return clients_ != nullptr; }
  void list(bool silent, std::function<void(Writer&, net::Clients::List&)> reply);
  // Closes those of which `which` says so.
  void close(bool silent, std::function<bool(const net::ClientInfo&)> which,
             std::function<void(Writer&, std::size_t)> reply);

  void end_wait(bool silent, std::uint64_t id, bool with_error);
  // What another thread finds out: `ask` gives it what is to be called with that, once, by any thread, at
  // once or later.
  template <class Told>
  void ask(bool silent, const std::function<void(std::function<void(Told)>)>& ask,
           std::function<void(Writer&, const Told&)> reply);
  using Lines = std::vector<std::string>;

  bool waiting() const { return open_; }
  bool answered() const { return !open_ && reply_ != nullptr; }
  void write(Writer to);

 private:
  // What is called only if this still exists.
  template <class RunningCommand>
  auto unless_gone(RunningCommand call) {
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

template <class Told>
void DeferredReply::ask(bool silent, const std::function<void(std::function<void(Told)>)>& ask,
                        std::function<void(Writer&, const Told&)> reply) {
  open_ = true;
  silent_ = silent;
  auto done = unless_gone([this, reply = std::move(reply)](const std::shared_ptr<const Told>& told) {
    finish([reply, told](Writer& to) { reply(to, *told); });
  });
  ask([clients = clients_, done = std::move(done)](Told told) {
    clients->post([done, told = std::make_shared<const Told>(std::move(told))] { done(told); });
  });
}

}  // namespace weir::resp
