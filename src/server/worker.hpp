// One thread of the server: its event loop, the store that it asks, and what its conversations share.
//
// Made by the main thread. run() and what it calls belong to the worker's own thread; use(),
// judge_waiting(), ask_store(), drain(), let_end() and make_end() may be called by any. What is handed in
// must outlive it.
#pragma once

#include <atomic>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/exchange.hpp"
#include "http/forwards.hpp"
#include "net/conversation.hpp"
#include "net/dispatcher.hpp"
#include "net/loop.hpp"
#include "net/loop_clients.hpp"
#include "net/timer.hpp"
#include "redis/shared_store.hpp"
#include "resp/resp_loop.hpp"
#include "rls/rls_loop.hpp"
#include "server/every.hpp"
#include "server/settings.hpp"
#include "server/store_link.hpp"
#include "server/usage_link.hpp"
#include "service/loop_counting.hpp"
#include "service/service.hpp"
#include "store/embedded_store.hpp"
#include "waiting/acquiring_store.hpp"

namespace weir::inline v0_1::server {

// What a worker reaches the world outside of the program by.
struct WorldLinks {
  net::MakeTimers make_timers = net::asio_timers;
  redis::Sockets::Open open_connection{};  // to the store; empty: as the settings say
};

class Worker {
 public:
  // With a store in the settings, this loop has its own view of it and its own connections to it; `embedded`,
  // `memory` and `status` are for all loops. Throws what StoreLink throws.
  Worker(std::size_t number, const Settings& settings, service::Service& service,
         store::EmbeddedStore& embedded, redis::ProcessMemory* memory, StoreStatus& status,
         waiting::House& house, rls::RlsCounts& rls_counts, net::LoopCounters& connections,
         WorldLinks world = {});

  net::Loop& loop() { return loop_; }
  const redis::SharedStore* shared() const { return shared_.get(); }  // null without --store
  const service::DecisionCounts& resp_counts() const { return resp_.asker.counts(); }
  const service::DecisionCounts& http_counts() const { return room_.asker.counts(); }
  const service::DecisionCounts& rls_counts() const { return rls_.asker.counts(); }
  const rls::SeriesCounts& series_counts() const { return rls_.series; }

  // `most` is what anybody may there.
  std::unique_ptr<net::Conversation> converse(const net::Peer& peer, std::function<void()> resume,
                                              steering::Role most = steering::Role::admin);
  std::unique_ptr<net::Conversation> converse_http(const net::Peer& peer, std::function<void()> resume,
                                                   steering::Role most = steering::Role::admin);
  std::unique_ptr<net::Conversation> converse_rls(const net::Peer& peer, std::function<void()> resume);

  // Any thread: answers a request over HTTP that another loop has read; `done` is called by this worker's
  // thread.
  void forward(std::string request, net::Peer peer, steering::Role most,
               std::function<void(http::Forwarded)> done);

  void run();    // returns after let_end() or make_end()
  void start();  // what run() does first; then the loop's context is to be run
  // Of virtual time: goes from one moment at which something falls due to the next.
  void pass_time(std::chrono::nanoseconds by);
  // The same: ends all waits, forgets what it has counted, and lets `forget` forget the rest.
  void start_again(const std::function<void()>& forget);
  // For the store's connections from then on.
  void use(boost::asio::ssl::context store_tls);
  // Other limits are in force: somebody who waits for a moment may be banned, or can never act.
  void judge_waiting();
  // Asks the store, where there is one, what does not decide: `told` is called once, by the worker's thread.
  void ask_store(std::string key, std::string command, std::chrono::nanoseconds patience,
                 std::function<void(const redis::Call::Result&)> told);
  // Answers what has arrived, then closes; those that wait for a moment after that are denied.
  void drain(std::chrono::nanoseconds until);
  // Of a takeover, on its thread: reads nothing more, and ends the waits for a moment; until go_on().
  void hold();
  bool is_settled() const;  // while it holds: nothing that was read waits for its answer
  void go_on();
  rls::Holds& rls_holds() { return rls_.holds; }  // while it holds, or before it runs: any thread
  void let_end();                                 // when the connections have gone
  void make_end();                                // with what is under way

 private:
  store::Store& store();
  void wake();
  void advance();
  void wake_for_holds();
  void end_holds();
  void watch_leases();
  void end_store();

  service::Service& service_;
  store::EmbeddedStore& embedded_;
  // Before the loop, whose connections ask until they end.
  std::unique_ptr<redis::SharedStore> shared_;
  waiting::AcquiringStore acquiring_;
  service::LoopCounting counting_;
  resp::RespLoop resp_;
  http::HttpLoop room_;
  rls::RlsLoop rls_;
  net::Loop loop_;
  net::LoopClients clients_{loop_};
  http::Forwards forwards_{service_, room_};
  const std::unique_ptr<net::Timer> next_moment_ = loop_.timers->make([this] { advance(); });
  const std::unique_ptr<net::Timer> next_end_ = loop_.timers->make([this] { end_holds(); });
  const std::unique_ptr<net::Timer> next_look_ = loop_.timers->make([this] { end_store(); });
  std::optional<StoreLink> link_;
  std::optional<UsageLink> usage_;  // of the first worker
  Every leases_{*loop_.timers};
  bool watches_leases_ = false;
  std::atomic<bool> judges_waiting_{false};
};

}  // namespace weir::server
