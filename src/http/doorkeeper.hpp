// Who asks, and whether they may: `Authorization: Bearer TOKEN`, or `Basic` with a user and their password; a
// certificate; or nobody.
//
// One connection's, on the thread of its loop. A password that is compared with its hash takes another
// thread: then the conversation waits, takes nothing of the request, and judges it once more when the answer
// is there. Not for: comparing secrets (service/logins.hpp), nor the gate, whose gateways pass on what their
// own clients send in this field.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "http/awaited.hpp"
#include "http/message.hpp"
#include "http/writer.hpp"
#include "net/clients.hpp"
#include "service/service.hpp"
#include "steering/actor.hpp"

namespace weir::inline v0_1::http {

class Doorkeeper {
 public:
  enum class Verdict : std::uint8_t {
    in,
    refused,
    late,   // refused, and its answer is to come late: it was a guess
    waits,  // for another thread
  };

  // `peer` must outlive this; `most` is what anybody may on this listener. `post` is the loop's; `resume` is
  // called when what judge() waited for has come.
  Doorkeeper(service::Service& service, const net::Peer& peer, steering::Role most, Post post,
             std::function<void()> resume);

  // Who sent it. Where they are refused the reply says so.
  Verdict judge(const Message& head, Reply& reply);
  // Whether who() may, and else a reply that says so. `path` as the routes have it.
  bool allow(steering::Role needed, std::string_view path, Reply& reply);
  // Of the last message that was judged.
  const steering::Actor& who() const { return actor_; }
  // Of one for which nobody is asked.
  void is_nobody(steering::Role role) {
    actor_.user = "-";
    actor_.role = role;
  }

  // What anybody may here.
  steering::Role most() const { return most_; }

  bool waiting() const { return compared_.waiting(); }
  bool answered() const { return compared_.answered(); }

 private:
  using Logins = service::Logins;

  std::optional<Logins::Shown> shown_by(const Message& head) const;
  Verdict judge(const Logins::Ruling& told, Reply& reply);
  Verdict refuse(std::string_view why, Reply& reply) const;
  void take(const service::Login& login);

  service::Service& service_;
  const net::Peer& peer_;
  steering::Role most_;
  steering::Actor actor_;
  bool capped_ = false;               // they have another role elsewhere
  bool known_ = false;                // the connection has shown right credentials
  Awaited<Logins::Ruling> compared_;  // of the request that is judged again
};

}  // namespace weir::http
