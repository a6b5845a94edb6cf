// The listeners that show pages, on a thread of their own, so that no scrape holds up a decision and no busy
// loop a health check: metrics, and whether the program is alive and ready; and the pages of
// envoyproxy/ratelimit where it takes that program's place.
//
// Made and ended by the main thread; the rest is its own. What is handed in must outlive it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "http/admin_conversation.hpp"
#include "net/dispatcher.hpp"
#include "net/listener.hpp"
#include "net/loop.hpp"
#include "net/protocol.hpp"
#include "server/every.hpp"
#include "server/settings.hpp"
#include "service/service.hpp"

namespace weir::inline v0_1::server {

class Admin {
 public:
  // Opens the listeners of the settings; nobody is answered before start(). Throws std::runtime_error with
  // one line that says what and where; beyond this machine it wants a token, a password, or --insecure.
  // `links.why_ill` says why envoyproxy/ratelimit's health check fails; empty: it does not. Any thread.
  // `forward` answers what only a loop that decides can; `each_second` is called so.
  struct Links {
    http::Readiness readiness;
    std::function<std::string()> why_ill;
    http::Forward forward;
    std::function<void()> each_second;
  };
  Admin(const Settings& settings, service::Service& service, Links links);
  ~Admin();
  void start();
  Admin(const Admin&) = delete;
  Admin& operator=(const Admin&) = delete;

  // "admin http://127.0.0.1:6392" or "admin unix:/path"; of the other pages "health http://0.0.0.0:8080".
  const std::vector<std::string>& addresses() const { return addresses_; }
  std::vector<net::Listener*> all() const;  // in the order of the settings
  boost::asio::io_context& context() { return loop_.context; }
  std::uint64_t connections() const { return connections_.now.load(std::memory_order_relaxed); }

 private:
  // What is shown on a listener.
  struct Shown {
    http::AdminPages pages;
    net::Protocol protocol;
  };
  struct Open {
    std::unique_ptr<net::Listener> listener;
    const Shown* shown;
  };

  const Shown& show(http::AdminPages pages, bool has_api, steering::Role most = steering::Role::admin);
  void open(const std::string& flag, const ListenAddress& wanted, const Shown& shown);
  void open_ratelimit(const RatelimitPages& wanted);

  service::Service& service_;
  const Links links_;
  const http::AdminApi api_;
  const http::AdminApi no_api_{};
  http::AdminConversation::Loop shared_;
  net::LoopCounters connections_;
  std::deque<Shown> shown_;
  net::Loop loop_;
  Every each_second_;
  net::Dispatcher dispatcher_;
  std::vector<Open> open_;
  const Settings& settings_;
  std::vector<std::string> addresses_;
  std::thread thread_;
};

}  // namespace weir::server
