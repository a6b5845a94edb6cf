#include "server/server.hpp"

#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "server/session.hpp"
#include "server/snapshot_writer.hpp"
#include "store/snapshot.hpp"

namespace weir::server {
namespace {

using asio::ip::tcp;
using boost::system::error_code;
using Local = asio::local::stream_protocol;

constexpr std::chrono::seconds kSweepEvery{1};
constexpr std::chrono::seconds kDrainAtMost{5};

std::string text_of(const tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(endpoint.port());
}

tcp::endpoint resolve(asio::io_context& context, const Endpoint& wanted) {
  error_code error;
  tcp::resolver resolver(context);
  const auto found =
      resolver.resolve(wanted.host, std::to_string(wanted.port), tcp::resolver::passive, error);
  if (error) throw std::runtime_error("resp: cannot resolve '" + wanted.host + "': " + error.message());
  return found.begin()->endpoint();
}

asio::ssl::context make_tls(const Settings& settings) {
  asio::ssl::context tls(asio::ssl::context::tls_server);
  tls.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                  asio::ssl::context::no_tlsv1_1);
  // 10,000 idle connections would otherwise keep 34 KiB of OpenSSL buffers each.
  SSL_CTX_set_mode(tls.native_handle(), SSL_MODE_RELEASE_BUFFERS);
  net::show_certificate(tls, "tls", settings.tls_cert, settings.tls_key);
  if (!settings.tls_ca.empty()) {
    net::trust(tls, "tls-ca", settings.tls_ca);
    tls.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
  }
  return tls;
}

// A socket file that nobody answers is left from a program that was killed; anything else is not ours to
// remove.
void clear_stale_socket(asio::io_context& context, const std::string& path) {
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0) return;
  if (!S_ISSOCK(found.st_mode))
    throw std::runtime_error("unix-socket: '" + path + "' exists and is not a socket");
  Local::socket probe(context);
  error_code error;
  probe.connect(Local::endpoint(path), error);
  if (error != asio::error::connection_refused) {
    throw std::runtime_error("unix-socket: '" + path + "' is in use by another program");
  }
  unlink(path.c_str());
}

// The snapshot to start from, if there is one. A damaged one stops the start, unless told otherwise; it is
// then put aside, because the next snapshot would overwrite it.
std::optional<store::SnapshotFile> open_snapshot(const Settings& settings) {
  if (settings.snapshot.empty()) return std::nullopt;
  struct stat found{};
  if (stat(settings.snapshot.c_str(), &found) != 0) {
    const int code = errno;
    const std::size_t slash = settings.snapshot.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : settings.snapshot.substr(0, slash + 1);
    // No file yet is how everyone starts; a place where none can be written is a mistake to be told of now.
    if (code == ENOENT && access(directory.c_str(), W_OK | X_OK) == 0) return std::nullopt;
    throw std::runtime_error("snapshot '" + settings.snapshot +
                             "': " + std::strerror(code == ENOENT ? errno : code));
  }
  auto opened = store::SnapshotFile::open(settings.snapshot);
  if (opened) return std::move(*opened);
  if (!settings.ignore_bad_snapshot) {
    throw std::runtime_error(opened.error() + "; --ignore-bad-snapshot puts it aside and starts empty");
  }
  const std::string aside = settings.snapshot + ".damaged";
  rename(settings.snapshot.c_str(), aside.c_str());
  spdlog::warn("{}; starting empty, the file is kept as {}", opened.error(), aside);
  return std::nullopt;
}

}  // namespace

// A listening socket and the pause that it makes when it cannot accept.
template <class Acceptor>
struct Listener {
  explicit Listener(asio::io_context& context) : acceptor(context), pause(context) {}
  Acceptor acceptor;
  asio::steady_timer pause;
};

class Server::Impl {
 public:
  explicit Impl(const Settings& settings)
      : settings_(settings),
        saved_(open_snapshot(settings_)),
        service_(settings_, saved_ ? saved_->seed() : store::Table::random_seed()),
        signals_(main_loop().context),
        drain_timer_(main_loop().context),
        watch_timer_(main_loop().context) {
    for (unsigned i = 1; i < settings_.threads; ++i) loops_.push_back(std::make_unique<Loop>());
    if (!settings_.tls_cert.empty()) tls_.emplace(make_tls(settings_));
    if (settings_.store) {
      for (auto& loop : loops_) connect_store(*loop, *settings_.store);
    }
    service_.shut_down = [this](bool save) {
      asio::post(main_loop().context, [this, save] {
        save_at_end_ = save_at_end_ && save;
        begin_stop();
      });
    };
    for (const Endpoint& endpoint : settings_.resp) listen(endpoint);
    if (!settings_.unix_socket.empty()) listen_unix();
    if (addresses_.empty()) throw std::runtime_error("nothing to listen on: give --resp or --unix-socket");
    restore();
    raise_descriptor_limit();
    // Before anybody is told that we listen: a signal that comes from then on ends in order.
    signals_.add(SIGTERM);
    signals_.add(SIGINT);
  }

  ~Impl() {
    if (bound_unix_) unlink(settings_.unix_socket.c_str());
  }

  const std::vector<std::string>& addresses() const { return addresses_; }

  bool run() {
    signals_.async_wait([this](const error_code& error, int) {
      if (error) return;
      // A second signal while we drain ends the program at once.
      error_code ignored;
      signals_.clear(ignored);
      begin_stop();
    });
    for (auto& listener : tcp_) accept_next(*listener);
    if (unix_) accept_next(*unix_);
    SnapshotWriter snapshots(service_);
    std::vector<std::thread> threads;
    for (auto& loop : loops_) {
      sweep(*loop);
      if (loop->sockets) loop->sockets->start();
      if (loop != loops_.front()) threads.emplace_back([&loop] { loop->context.run(); });
    }
    main_loop().context.run();
    for (std::thread& thread : threads) thread.join();
    for (auto& loop : loops_) close_rest(*loop);
    snapshots.stop();
    return !save_at_end_ || snapshots.save();
  }

  void stop() { service_.shut_down(true); }

 private:
  void begin_stop() {
    if (stopping_) return;
    stopping_ = true;
    error_code ignored;
    for (auto& listener : tcp_) close(*listener);
    if (unix_) close(*unix_);
    for (auto& loop : loops_) {
      asio::post(loop->context, [&loop = *loop] {
        loop.sweep.cancel();
        const std::vector<Session*> open(loop.sessions.begin(), loop.sessions.end());
        for (Session* session : open) {
          // One session's end may be another's: look before each.
          if (loop.sessions.contains(session)) session->shared_from_this()->drain();
        }
      });
    }
    signals_.cancel(ignored);
    drain_timer_.expires_after(kDrainAtMost);
    drain_timer_.async_wait([this](const error_code& error) {
      if (error) return;
      for (auto& loop : loops_) loop->context.stop();
    });
    watch_drain();
  }

  void connect_store(Loop& loop, const redis::Endpoint& endpoint) {
    loop.store_tls =
        redis::tls_for(endpoint, {settings_.store_tls_ca, settings_.store_tls_cert, settings_.store_tls_key});
    loop.store = std::make_unique<redis::SharedStore>(endpoint, settings_.store_policy, service_.table,
                                                      service_.resets, service_.now, &Remote::on_outcome,
                                                      &Remote::on_reset);
    loop.sockets = std::make_unique<redis::Sockets>(
        loop.context, loop.store->client(), loop.store_tls ? &*loop.store_tls : nullptr, service_.now);
    loop.store->on_work([&loop] { loop.sockets->wake(); });
    loop.sockets->on_change([this, &loop] { note_store(loop); });
    service_.stores.push_back(loop.store.get());
  }

  // Says so when the store begins or ceases to answer, and why.
  void note_store(Loop& loop) {
    loop.store->note_state();
    const redis::Client& client = loop.store->client();
    if (!loop.eviction_checked && !client.eviction_policy().empty()) {
      loop.eviction_checked = true;
      if (&loop == &main_loop() && client.eviction_policy() != "noeviction") {
        spdlog::warn(
            "store {}: maxmemory-policy is {}: under pressure it evicts limits that are in use, and those "
            "keys "
            "begin anew; noeviction keeps them",
            settings_.store_text, client.eviction_policy());
      }
    }
    // Once a second at most: a store that comes and goes must not fill the log.
    const bool ready = client.ready();
    const std::string state = ready ? "ready" : client.has_failed() ? client.last_error() : "";
    const std::chrono::nanoseconds now = service_.now();
    if (&loop != &main_loop() || state == loop.store_state ||
        now < loop.store_logged + std::chrono::seconds{1})
      return;
    loop.store_state = state;
    loop.store_logged = now;
    if (ready) {
      spdlog::info("store {}: ready", settings_.store_text);
    } else {
      spdlog::warn("store {}: {}; --on-store-error decides", settings_.store_text, state);
    }
  }

  void restore() {
    if (!saved_) return;
    const auto restored = saved_->restore_into(service_.table, store::steady_now());
    if (!restored) throw std::runtime_error(restored.error());
    spdlog::info("snapshot {}: {} keys restored", settings_.snapshot, *restored);
    saved_.reset();
  }

  void raise_descriptor_limit() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < settings_.max_connections + 64) {
      spdlog::warn("the system allows {} open files, fewer than --max-connections {} needs", limit.rlim_cur,
                   settings_.max_connections);
    }
  }

  // Those that did not end in time.
  static void close_rest(Loop& loop) {
    const std::vector<Session*> open(loop.sessions.begin(), loop.sessions.end());
    for (Session* session : open) session->shared_from_this()->close();
    loop.context.restart();
    loop.context.poll();
  }

  Loop& main_loop() { return *loops_.front(); }

  template <class Acceptor>
  static void close(Listener<Acceptor>& listener) {
    error_code ignored;
    listener.acceptor.close(ignored);
    listener.pause.cancel();
  }

  // The timer above would keep the main loop alive for its whole time; gone sessions end it early.
  void watch_drain() {
    if (service_.counters.connections_now.load() == 0) {
      drain_timer_.cancel();
      for (auto& loop : loops_)
        asio::post(loop->context, [&loop = *loop] {
          loop.poller.stop();
          if (loop.sockets) loop.sockets->stop();
        });
      return;
    }
    watch_timer_.expires_after(std::chrono::milliseconds{10});
    watch_timer_.async_wait([this](const error_code& error) {
      if (!error) watch_drain();
    });
  }

  void listen(const Endpoint& wanted) {
    const tcp::endpoint endpoint = resolve(main_loop().context, wanted);
    const bool beyond = !endpoint.address().is_loopback();
    const bool trusting = !service_.credentials.required() && settings_.tls_ca.empty();
    if (beyond && trusting && settings_.tls_cert.empty() && !settings_.insecure) {
      throw std::runtime_error(
          "resp: " + text_of(endpoint) +
          " is not a loopback address: give --password or --tls-cert, or --insecure to serve "
          "anyone who can reach it");
    }
    if (beyond && trusting) {
      spdlog::warn(
          "resp: {}: anyone who can reach it may do everything; --password or --tls-ca would ask who it is",
          text_of(endpoint));
    }
    auto listener = std::make_unique<Listener<tcp::acceptor>>(main_loop().context);
    tcp::acceptor& acceptor = listener->acceptor;
    error_code error;
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
    if (error)
      throw std::runtime_error("resp: cannot listen on " + text_of(endpoint) + ": " + error.message());
    addresses_.push_back(text_of(acceptor.local_endpoint()));
    tcp_.push_back(std::move(listener));
  }

  void listen_unix() {
    if (settings_.unix_socket.size() >= sizeof(sockaddr_un::sun_path)) {
      throw std::runtime_error("unix-socket: '" + settings_.unix_socket + "' is longer than the " +
                               std::to_string(sizeof(sockaddr_un::sun_path) - 1) +
                               " bytes that a socket's path may have");
    }
    clear_stale_socket(main_loop().context, settings_.unix_socket);
    unix_ = std::make_unique<Listener<Local::acceptor>>(main_loop().context);
    Local::acceptor& acceptor = unix_->acceptor;
    error_code error;
    acceptor.open(Local(), error);
    if (!error) acceptor.bind(Local::endpoint(settings_.unix_socket), error);
    bound_unix_ = !error;
    if (!error) acceptor.listen(Local::acceptor::max_listen_connections, error);
    if (error) {
      throw std::runtime_error("unix-socket: cannot listen on '" + settings_.unix_socket +
                               "': " + error.message());
    }
    chmod(settings_.unix_socket.c_str(), 0660);
    addresses_.push_back(settings_.unix_socket);
  }

  // One acceptor for all loops: with a listening socket for each, the kernel would deal few connections
  // unevenly.
  template <class Acceptor>
  void accept_next(Listener<Acceptor>& listener) {
    Loop& loop = *loops_[next_loop_++ % loops_.size()];
    using Accepted = typename Acceptor::protocol_type::socket::template rebind_executor<
        asio::io_context::executor_type>::other;
    listener.acceptor.async_accept(
        loop.context.get_executor(), [this, &listener, &loop](const error_code& error, Accepted socket) {
          if (error == asio::error::operation_aborted || stopping_) return;
          if (error) {
            // Out of descriptors or memory: trying again at once would only spin.
            spdlog::warn("cannot accept a connection: {}", error.message());
            listener.pause.expires_after(std::chrono::milliseconds{100});
            listener.pause.async_wait([this, &listener](const error_code& stopped) {
              if (!stopped) accept_next(listener);
            });
            return;
          }
          begin_session(loop, std::move(socket));
          accept_next(listener);
        });
  }

  template <class Accepted>
  void begin_session(Loop& loop, Accepted socket) {
    Service::Counters& counters = service_.counters;
    counters.connections_received.fetch_add(1, std::memory_order_relaxed);
    error_code ignored;
    constexpr bool kTcp = std::is_same_v<typename Accepted::protocol_type, tcp>;
    std::string address = "unix";
    if constexpr (kTcp) {
      socket.set_option(tcp::no_delay(true), ignored);
      // Room for what a client sends while we work. Left to itself the kernel opens the window by halves of a
      // small one, and a client that sends without pause is found with nothing waiting every other read
      // (bench/accuracy.py: 94 % of a limit of 100,000/s with burst 1, with this 99.99 %). Taken only by
      // bytes that wait; the kernel's own tuning may take thirty times as much.
      socket.set_option(asio::socket_base::receive_buffer_size(1 << 20), ignored);
      socket.set_option(tcp::socket::keep_alive(true), ignored);
      address = socket.remote_endpoint(ignored).address().to_string();
    }
    auto* tls = kTcp && tls_ ? &*tls_ : nullptr;
    const std::uint64_t id = ++last_id_;
    if (counters.connections_now.load(std::memory_order_relaxed) >= settings_.max_connections) {
      counters.connections_rejected.fetch_add(1, std::memory_order_relaxed);
      socket.non_blocking(true, ignored);
      if (tls == nullptr) {
        socket.write_some(asio::buffer(std::string_view("-ERR max number of clients reached\r\n")), ignored);
      }
      return;
    }
    // Counted here and not when the session is made: that happens on another thread, and later.
    counters.connections_now.fetch_add(1, std::memory_order_relaxed);
    if (tls != nullptr) {
      asio::post(loop.context, [this, &loop, tls, id, address = std::move(address),
                                socket = Socket(std::move(socket))]() mutable {
        make_tls_session(loop, service_, *tls, std::move(socket), id, std::move(address))->start();
      });
      return;
    }
    socket.non_blocking(true, ignored);
    const int descriptor = socket.release(ignored);
    asio::post(loop.context, [this, &loop, id, descriptor, address = std::move(address)]() mutable {
      make_session(loop, service_, descriptor, id, std::move(address))->start();
    });
  }

  void sweep(Loop& loop) {
    loop.sweep.expires_after(kSweepEvery);
    loop.sweep.async_wait([this, &loop](const error_code& error) {
      if (error || stopping_) return;
      loop.coarse_now = store::steady_now();
      const std::vector<Session*> open(loop.sessions.begin(), loop.sessions.end());
      for (Session* session : open) {
        if (loop.sessions.contains(session)) session->shared_from_this()->close_if_stalled();
      }
      sweep(loop);
    });
  }

  Settings settings_;
  std::optional<store::SnapshotFile> saved_;
  Service service_;
  std::vector<std::unique_ptr<Loop>> loops_ = [] {
    std::vector<std::unique_ptr<Loop>> one;
    one.push_back(std::make_unique<Loop>());
    return one;
  }();
  asio::signal_set signals_;
  asio::steady_timer drain_timer_;
  asio::steady_timer watch_timer_;
  std::optional<asio::ssl::context> tls_;
  std::vector<std::unique_ptr<Listener<tcp::acceptor>>> tcp_;
  std::unique_ptr<Listener<Local::acceptor>> unix_;
  std::vector<std::string> addresses_;
  std::size_t next_loop_ = 0;
  std::uint64_t last_id_ = 0;
  std::atomic<bool> stopping_{false};
  bool bound_unix_ = false;
  bool save_at_end_ = true;
};

Server::Server(const Settings& settings) : impl_(std::make_unique<Impl>(settings)) {}
Server::~Server() = default;
const std::vector<std::string>& Server::addresses() const { return impl_->addresses(); }
bool Server::run() { return impl_->run(); }
void Server::stop() { impl_->stop(); }

}  // namespace weir::server
