// Requests that another loop's connections have read, answered here: whole bytes in, whole bytes out, as if
// their client had sent them to this loop's listener.
//
// The thread of its loop, but for what `done` is given to. Not for: which requests, and whose
// (admin_conversation.hpp).
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "http/conversation.hpp"
#include "http/exchange.hpp"
#include "net/clients.hpp"
#include "service/service.hpp"

namespace weir::inline v0_1::http {

struct Forwarded {
  std::string reply{};
  bool closes = false;  // the connection ends after it
  bool late = false;    // it is to be sent late: a wrong secret
};
// Any thread calls it with one whole request and what is to be called with its answer, once, by another.
// `most` is what anybody may on the listener that it came by.
using Forward = std::function<void(std::string request, net::Peer peer, steering::Role most,
                                   std::function<void(Forwarded)> done)>;

class Forwards {
 public:
  // All that is handed in must outlive this.
  Forwards(service::Service& service, HttpLoop& loop);
  ~Forwards();
  Forwards(const Forwards&) = delete;
  Forwards& operator=(const Forwards&) = delete;

  // Its Origin has been judged.
  void begin(std::string request, net::Peer peer, steering::Role most, std::function<void(Forwarded)> done);

 private:
  struct One;

  void go_on(One& one);

  service::Service& service_;
  HttpLoop& loop_;
  std::list<std::unique_ptr<One>> open_;
};

}  // namespace weir::http
