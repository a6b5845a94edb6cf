// The admin listeners: metrics, and whether the program is alive and ready, on a thread of its own, so that
// no scrape holds up a decision and no busy loop a health check.
//
// Made and ended by the main thread; the rest is its own. What is handed in must outlive it.
#pragma once

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
#include "server/settings.hpp"
#include "service/service.hpp"

namespace weir::inline v0_1::server {

class Admin {
 public:
  // Opens the listeners of the settings and answers at once. Throws std::runtime_error with one line that
  // says what and where; beyond this machine it wants a token, a password, or --insecure.
  Admin(const Settings& settings, service::Service& service, http::AdminConversation::Readiness readiness);
  ~Admin();
  Admin(const Admin&) = delete;
  Admin& operator=(const Admin&) = delete;

  // "admin http://127.0.0.1:6392" or "admin unix:/path".
  const std::vector<std::string>& addresses() const { return addresses_; }
  std::uint64_t connections() const { return connections_.now.load(std::memory_order_relaxed); }

 private:
  void open(const ListenAddress& wanted, const Settings& settings);

  service::Service& service_;
  const http::AdminConversation::Readiness readiness_;
  http::FieldRoom room_{};
  net::LoopCounters connections_;
  net::Protocol protocol_;
  net::Loop loop_;
  net::Dispatcher dispatcher_;
  std::vector<std::unique_ptr<net::Listener>> listeners_;
  std::vector<std::string> addresses_;
  std::thread thread_;
};

}  // namespace weir::server
