#include "server/server.hpp"

#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <boost/asio/post.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "net/dispatcher.hpp"
#include "net/loop.hpp"
#include "server/listeners.hpp"
#include "server/resp_conversation.hpp"
#include "server/service.hpp"
#include "server/shutdown.hpp"
#include "server/snapshots.hpp"
#include "server/store_link.hpp"

namespace weir::server {
namespace {

void raise_descriptor_limit(std::size_t connections) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < connections + 64) {
    spdlog::warn("the system allows {} open files, fewer than --max-connections {} needs", limit.rlim_cur,
                 connections);
  }
}

// A thread's loop, and what its conversations need.
struct Worker {
  Worker(std::size_t number, Service& service)
      : loop(number, service.now, service.settings.stall_timeout, service.connections) {}

  // Before the loop, whose connections ask it until they end.
  std::unique_ptr<redis::SharedStore> store;
  RespFront::Scratch pending;
  net::Loop loop;
  std::optional<StoreLink> link;
};

}  // namespace

class Server::Impl {
 public:
  explicit Impl(const Settings& settings)
      : settings_(settings),
        saved_(open_snapshot(settings_)),
        service_(settings_, saved_ ? saved_->seed() : store::Table::random_seed()) {
    std::vector<net::Loop*> loops;
    for (std::size_t i = 0; i < settings_.threads; ++i) {
      workers_.push_back(std::make_unique<Worker>(i, service_));
      loops.push_back(&workers_.back()->loop);
      if (settings_.store) connect_store(*workers_.back());
    }
    service_.shut_down = [this](bool save) {
      boost::asio::post(main_context(), [this, save] {
        save_at_end_ = save_at_end_ && save;
        shutdown_->begin();
      });
    };
    dispatcher_.emplace(std::move(loops), settings_.max_connections, service_.connections);
    listeners_.emplace(main_context(), settings_, resp());
    if (saved_) restore(std::move(*saved_), service_);
    saved_.reset();
    raise_descriptor_limit(settings_.max_connections);
    // Before anybody is told that we listen: a signal that comes from then on ends in order.
    shutdown_.emplace(main_context(), shutdown_steps());
  }

  const std::vector<std::string>& addresses() const { return listeners_->addresses(); }

  bool run() {
    shutdown_->start();
    listeners_->start(*dispatcher_);
    SnapshotWriter snapshots(service_);
    std::vector<std::thread> threads;
    for (const auto& worker : workers_) {
      worker->loop.start_sweeping();
      if (worker->link) worker->link->start();
      if (worker != workers_.front()) threads.emplace_back([&worker] { worker->loop.context.run(); });
    }
    main_context().run();
    for (std::thread& thread : threads) thread.join();
    for (const auto& worker : workers_) worker->loop.close_sessions();  // those that did not end in time
    snapshots.stop();
    return !save_at_end_ || snapshots.save();
  }

  void stop() { service_.shut_down(true); }

 private:
  boost::asio::io_context& main_context() { return workers_.front()->loop.context; }

  void connect_store(Worker& worker) {
    worker.store = std::make_unique<redis::SharedStore>(*settings_.store, settings_.store_options,
                                                        service_.embedded, service_.resets, service_.now);
    worker.link.emplace(worker.loop.context, *worker.store, settings_, service_.now, worker.loop.number == 0);
    service_.stores.push_back(worker.store.get());
  }

  net::Protocol resp() {
    return {.converse =
                [this](net::Loop& loop, net::Peer peer, std::function<void()> resume) {
                  Worker& worker = *workers_[loop.number];
                  return std::make_unique<RespConversation>(service_, worker.pending, peer.id,
                                                            std::move(peer.address), worker.store.get(),
                                                            std::move(resume));
                },
            .too_many = "-ERR max number of clients reached\r\n"};
  }

  Shutdown::Steps shutdown_steps() {
    const auto everywhere = [this](auto&& what) {
      for (const auto& worker : workers_) {
        boost::asio::post(worker->loop.context, [&worker = *worker, what] { what(worker); });
      }
    };
    return {.begin =
                [this, everywhere] {
                  listeners_->stop();
                  everywhere([](Worker& worker) { worker.loop.drain(); });
                },
            .drained = [this] { return service_.connections.now.load() == 0; },
            .let_end =
                [everywhere] {
                  everywhere([](Worker& worker) {
                    worker.loop.stop();
                    if (worker.link) worker.link->stop();
                  });
                },
            .make_end =
                [this] {
                  for (const auto& worker : workers_) worker->loop.context.stop();
                }};
  }

  Settings settings_;
  std::optional<store::SnapshotFile> saved_;
  Service service_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::optional<net::Dispatcher> dispatcher_;
  std::optional<Listeners> listeners_;
  std::optional<Shutdown> shutdown_;
  bool save_at_end_ = true;
};

Server::Server(const Settings& settings) : impl_(std::make_unique<Impl>(settings)) {}
Server::~Server() = default;
const std::vector<std::string>& Server::addresses() const { return impl_->addresses(); }
bool Server::run() { return impl_->run(); }
void Server::stop() { impl_->stop(); }

}  // namespace weir::server
