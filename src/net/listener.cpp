#include "net/listener.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "net/timer.hpp"

namespace weir::inline v0_1::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Local = asio::local::stream_protocol;

bool is_loopback(const asio::ip::address& address) {
  const bool mapped = address.is_v6() && address.to_v6().is_v4_mapped();
  return mapped ? asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).is_loopback()
                : address.is_loopback();
}

template <class Protocol>
class AsioListener final : public Listener {
 public:
  using Acceptor = typename Protocol::acceptor;
  using Socket = typename Protocol::socket;

  AsioListener(asio::io_context& context, const std::string& flag,
               const typename Protocol::endpoint& endpoint, std::string address)
      : acceptor_(context),
        pause_(asio_timer(context, [this] { accept_next(); })),
        address_(std::move(address)) {
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if constexpr (kTcp) {
      if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    }
    if (!error) acceptor_.bind(endpoint, error);
    bound_ = !error;
    if constexpr (!kTcp) file_ = file_at(address_);
    if (!error) acceptor_.listen(Acceptor::max_listen_connections, error);
    if (error) {
      remove_file();
      const std::string where = kTcp ? address_ : "'" + address_ + "'";
      throw std::runtime_error(flag + ": cannot listen on " + where + ": " + error.message());
    }
    if constexpr (kTcp) address_ = to_text(acceptor_.local_endpoint());
  }
  // Of one that listens.
  AsioListener(asio::io_context& context, const typename Protocol::endpoint& endpoint, int descriptor)
      : acceptor_(context, endpoint.protocol(), descriptor),
        pause_(asio_timer(context, [this] { accept_next(); })) {
    if constexpr (kTcp) {
      address_ = to_text(endpoint);
    } else {
      address_ = endpoint.path();
      file_ = file_at(address_);
    }
  }
  ~AsioListener() override { remove_file(); }
  AsioListener(const AsioListener&) = delete;
  AsioListener& operator=(const AsioListener&) = delete;

  std::string address() const override { return address_; }

  void start(std::function<void(Accepted)> take, std::function<void(const std::string&)> trouble) override {
    take_ = std::move(take);
    trouble_ = std::move(trouble);
    accept_next();
  }

  void pause() override {
    paused_ = true;
    error_code ignored;
    acceptor_.cancel(ignored);
    pause_->stop();
  }

  void go_on() override {
    if (!std::exchange(paused_, false) || stopped_) return;
    if (!accepting_) accept_next();
  }

  int descriptor() const override { return const_cast<Acceptor&>(acceptor_).native_handle(); }
  void own_file(bool yes) override { bound_ = yes; }
  bool owns_file() const override { return bound_ && !kTcp; }

  void stop() override {
    stopped_ = true;
    pause_->stop();
    if (!acceptor_.is_open()) return;
    remove_file();  // before it is refused: nobody is to wait for what comes of that
    error_code ignored;
    // Asio would not take it out of its epoll, as closing does that: not where another process has it too.
    close(acceptor_.release(ignored));
  }

 private:
  static constexpr bool kTcp = std::is_same_v<Protocol, tcp>;

  // One that had come before it was paused is taken all the same.
  void accept_next() {
    accepting_ = true;
    acceptor_.async_accept([this](const error_code& error, Socket socket) {
      accepting_ = false;
      if (stopped_) return;
      if (!error) take(std::move(socket));
      if (paused_) return;
      if (error && error != asio::error::operation_aborted) return wait_a_little(error);
      accept_next();
    });
  }

  void wait_a_little(const error_code& error) {
    trouble_(error.message());
    pause_->set(std::chrono::milliseconds{100});
  }

  void take(Socket socket) {
    error_code ignored;
    Accepted accepted{.descriptor = -1, .address = "unix", .local = true};
    if constexpr (kTcp) {
      socket.set_option(tcp::no_delay(true), ignored);
      // Room for what a client sends while we work. Left to itself the kernel opens the window by halves of a
      // small one, and a client that sends without pause is found with nothing waiting every other read
      // (bench/accuracy.py: 94 % of a limit of 100,000/s with burst 1, with this 99.99 %). Taken only by
      // bytes that wait; the kernel's own tuning may take thirty times as much.
      socket.set_option(asio::socket_base::receive_buffer_size(1 << 20), ignored);
      socket.set_option(tcp::socket::keep_alive(true), ignored);
      const tcp::endpoint peer = socket.remote_endpoint(ignored);
      accepted.address = peer.address().to_string();
      accepted.port = peer.port();
      accepted.local = is_loopback(peer.address());
    }
    socket.non_blocking(true, ignored);
    accepted.descriptor = socket.release();
    take_(std::move(accepted));
  }

  // Only once, and only ours: another program may have its socket there by now.
  void remove_file() {
    if (!kTcp && std::exchange(bound_, false) && file_at(address_) == file_) unlink(address_.c_str());
  }

  Acceptor acceptor_;
  std::unique_ptr<Timer> pause_;
  std::string address_;
  std::function<void(Accepted)> take_;
  std::function<void(const std::string&)> trouble_;
  bool bound_ = false;
  std::uint64_t file_ = 0;  // that is bound
  bool accepting_ = false;
  bool paused_ = false;
  bool stopped_ = false;
};

void clear_stale_socket(asio::io_context& context, const std::string& flag, const std::string& path) {
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0) return;
  if (!S_ISSOCK(found.st_mode))
    throw std::runtime_error(flag + ": '" + path + "' exists and is not a socket");
  Local::socket probe(context);
  error_code error;
  probe.connect(Local::endpoint(path), error);
  if (error != asio::error::connection_refused)
    throw std::runtime_error(flag + ": '" + path + "' is in use by another program");
  unlink(path.c_str());
}

}  // namespace

tcp::endpoint resolve(const std::string& flag, const std::string& host, std::uint16_t port) {
  asio::io_context context;
  tcp::resolver resolver(context);
  error_code error;
  const auto found = resolver.resolve(host, std::to_string(port), tcp::resolver::passive, error);
  if (error) throw std::runtime_error(flag + ": cannot resolve '" + host + "': " + error.message());
  return found.begin()->endpoint();
}

std::unique_ptr<Listener> listen_tcp(asio::io_context& context, const std::string& flag,
                                     const tcp::endpoint& endpoint) {
  return std::make_unique<AsioListener<tcp>>(context, flag, endpoint, to_text(endpoint));
}

std::unique_ptr<Listener> listen_unix(asio::io_context& context, const std::string& flag,
                                      const std::string& path, unsigned mode) {
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    throw std::runtime_error(flag + ": '" + path + "' is longer than the " +
                             std::to_string(sizeof(sockaddr_un::sun_path) - 1) +
                             " bytes that a socket's path may have");
  }
  clear_stale_socket(context, flag, path);
  auto listener = std::make_unique<AsioListener<Local>>(context, flag, Local::endpoint(path), path);
  chmod(path.c_str(), mode);
  return listener;
}

std::unique_ptr<Listener> listen_on(asio::io_context& context, const std::string& what, int descriptor) {
  const auto option = [descriptor](int name) {
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
  };
  const int family = option(SO_DOMAIN);
  const bool known = family == AF_INET || family == AF_INET6 || family == AF_UNIX;
  if (!known || option(SO_TYPE) != SOCK_STREAM || option(SO_ACCEPTCONN) != 1)
    throw std::runtime_error(what + " is not a listening stream socket of TCP or Unix");
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  const auto its_endpoint = [descriptor](auto endpoint) {
    auto size = static_cast<socklen_t>(endpoint.capacity());
    getsockname(descriptor, endpoint.data(), &size);
    endpoint.resize(size);
    return endpoint;
  };
  if (family == AF_UNIX)
    return std::make_unique<AsioListener<Local>>(context, its_endpoint(Local::endpoint()), descriptor);
  return std::make_unique<AsioListener<tcp>>(context, its_endpoint(tcp::endpoint()), descriptor);
}

namespace {

// The address that a socket is bound to, or none.
struct Bound {
  explicit Bound(int descriptor) {
    if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&at), &size) != 0) at.ss_family = AF_UNSPEC;
  }
  template <class Address>
  const Address& as() const {
    return reinterpret_cast<const Address&>(at);
  }

  sockaddr_storage at{};
  socklen_t size = sizeof at;
};

}  // namespace

bool came_by(int connection, int listening) {
  const Bound its(connection);
  const Bound open(listening);
  if (its.at.ss_family != open.at.ss_family) return false;
  if (open.at.ss_family == AF_UNIX)
    return its.size == open.size && std::memcmp(&its.at, &open.at, its.size) == 0;
  if (open.at.ss_family == AF_INET) {
    const auto& there = open.as<sockaddr_in>();
    const auto& here = its.as<sockaddr_in>();
    const bool any = there.sin_addr.s_addr == INADDR_ANY;
    return here.sin_port == there.sin_port && (any || here.sin_addr.s_addr == there.sin_addr.s_addr);
  }
  if (open.at.ss_family != AF_INET6) return false;
  const auto& there = open.as<sockaddr_in6>();
  const auto& here = its.as<sockaddr_in6>();
  const bool same = std::memcmp(&here.sin6_addr, &there.sin6_addr, sizeof there.sin6_addr) == 0;
  return here.sin6_port == there.sin6_port && (same || IN6_IS_ADDR_UNSPECIFIED(&there.sin6_addr));
}

std::uint64_t file_at(const std::string& path) {
  struct stat found{};
  return lstat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

std::string to_text(const tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(endpoint.port());
}

}  // namespace weir::net
