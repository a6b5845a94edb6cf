#include "server/xds_source.hpp"

#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "core/printable.hpp"
#include "grpc/client_stream.hpp"
#include "net/timer.hpp"
#include "net/tls.hpp"
#include "redis/dial.hpp"
#include "redis/lookup.hpp"
#include "xds/retry.hpp"
#include "xds/subscription.hpp"

namespace weir::inline v0_1::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using Link = service::XdsInForce::Link;
using Tls = asio::ssl::stream<tcp::socket&>;

// For a connection, its TLS and the first bytes of HTTP/2.
constexpr seconds kGreetWithin{10};
// Servers of gRPC end a connection whose client pings more often than every five minutes.
constexpr seconds kPingEvery{330};
constexpr seconds kPongWithin{20};
// A server may have nothing for a node that it does not know, and then says nothing.
constexpr seconds kQuietAfter{15};

constexpr seconds kSayAgain{60};

nanoseconds now() { return std::chrono::steady_clock::now().time_since_epoch(); }

// The kernel finds out within a minute that the machine at the other end is gone.
void watch_peer(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const auto set = [&socket](int option, int value) {
    setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof value);
  };
  set(TCP_KEEPIDLE, 30);
  set(TCP_KEEPINTVL, 10);
  set(TCP_KEEPCNT, 3);
  set(TCP_USER_TIMEOUT, 60'000);
}

}  // namespace

// One connection. When it has ended it says so once; nothing is called after close().
class XdsConnection : public std::enable_shared_from_this<XdsConnection> {
 public:
  struct Events {
    std::function<void()> opened;
    std::function<void(std::string_view bytes)> received;
    std::function<void(const std::string& why)> ended;
  };

  XdsConnection(asio::io_context& context, Events told)
      : context_(context), socket_(context), events_(std::move(told)) {}

  // `tls`: null: none.
  void open(const HostPort& to, const std::string& name, asio::ssl::context* tls) {
    name_ = name;
    if (tls != nullptr) tls_.emplace(socket_, *tls);
    error_code is_a_name;
    const auto number = asio::ip::make_address(to.host, is_a_name);
    if (!is_a_name) return dial({tcp::endpoint(number, to.port)});
    lookup_ = redis::Lookup::start(
        context_, to.host, to.port,
        [self = shared_from_this()](const error_code& error, const redis::Lookup::Endpoints& found) {
          if (self->closed_) return;
          if (error) return self->end("it cannot be found: " + error.message());
          self->dial(redis::Dial::order(found, 0));
        });
  }
  void write(std::string bytes) {
    waiting_ += bytes;
    flush();
  }
  void close() {
    closed_ = true;
    error_code ignored;
    if (lookup_) lookup_->cancel();
    if (dial_) dial_->cancel();
    socket_.close(ignored);
  }

 private:
  void dial(redis::Dial::Endpoints found) {
    dial_ = redis::Dial::start(
        context_, std::move(found),
        [self = shared_from_this()](const error_code& error, tcp::socket socket, std::size_t) {
          if (self->closed_) return;
          if (error) return self->end("it cannot be reached: " + error.message());
          self->socket_ = std::move(socket);
          watch_peer(self->socket_);
          self->shake_hands();
        });
  }

  void shake_hands() {
    if (!tls_) return begin();
    constexpr std::array<unsigned char, 3> kH2 = {2, 'h', '2'};
    SSL_set_alpn_protos(tls_->native_handle(), kH2.data(), kH2.size());
    SSL_set_tlsext_host_name(tls_->native_handle(), name_.c_str());
    tls_->set_verify_callback([this](bool passed, asio::ssl::verify_context& certificate) {
      return net::verify(certificate, passed, name_, unverified_);
    });
    tls_->async_handshake(asio::ssl::stream_base::client,
                          [self = shared_from_this()](const error_code& error) {
                            if (self->closed_) return;
                            if (!self->unverified_.empty())
                              return self->end("TLS: certificate verify failed: " + self->unverified_);
                            if (error) return self->end("TLS: " + error.message());
                            self->begin();
                          });
  }

  void begin() {
    read();
    events_.opened();
  }

  template <class Use>
  void with_stream(const Use& use) {
    tls_ ? use(*tls_) : use(socket_);
  }

  void read() {
    with_stream([this](auto& stream) {
      stream.async_read_some(
          asio::buffer(in_), [self = shared_from_this()](const error_code& error, std::size_t size) {
            if (self->closed_) return;
            if (error)
              return self->end(error == asio::error::eof ? "it closed the connection" : error.message());
            self->events_.received({self->in_.data(), size});
            if (!self->closed_) self->read();
          });
    });
  }

  void flush() {
    if (!writing_.empty() || waiting_.empty()) return;
    writing_.swap(waiting_);
    with_stream([this](auto& stream) {
      asio::async_write(stream, asio::buffer(writing_),
                        [self = shared_from_this()](const error_code& error, std::size_t) {
                          if (self->closed_ || error) return;  // why, the read says
                          self->writing_.clear();
                          self->flush();
                        });
    });
  }

  void end(const std::string& why) {
    close();
    events_.ended(why);
  }

  asio::io_context& context_;
  tcp::socket socket_;
  std::optional<Tls> tls_;
  const Events events_;
  std::string name_;
  std::string unverified_;  // which check of the certificate has failed
  std::shared_ptr<redis::Lookup> lookup_;
  std::shared_ptr<redis::Dial> dial_;
  std::array<char, std::size_t{16} << 10> in_{};
  std::string writing_;
  std::string waiting_;
  bool closed_ = false;
};

class XdsSource::Impl {
 public:
  Impl(const XdsSettings& settings, service::XdsInForce& rates)
      : settings_(settings),
        rates_(rates),
        tls_(read_tls()),
        subscription_({.id = settings.node, .metadata = settings.metadata},
                      [this](xds::Update update) { return use(std::move(update)); }),
        work_(asio::make_work_guard(context_)),
        retry_(net::asio_timer(context_, [this] { connect(); })),
        deadline_(net::asio_timer(context_, [this] { overdue(); })),
        answer_(net::asio_timer(context_, [this] { say(); })) {}
  ~Impl() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
    if (connection_) connection_->close();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void start() {
    thread_ = std::thread([this] {
      connect();
      context_.run();
    });
  }

 private:
  std::optional<asio::ssl::context> read_tls() const {
    if (!settings_.tls) return std::nullopt;
    return net::client_tls("rls-xds-tls", {settings_.tls_ca, settings_.tls_cert, settings_.tls_key});
  }

  void connect() {
    rates_.note(Link::connecting);
    // The files may be others by now.
    try {
      if (tls_) tls_ = read_tls();
    } catch (const std::exception& error) {
      spdlog::error("{}; what was read before stays in use", error.what());
    }
    quiet_said_ = heard_ = pinged_ = false;
    connection_ = std::make_shared<XdsConnection>(
        context_, XdsConnection::Events{.opened = [this] { opened(); },
                                        .received = [this](std::string_view bytes) { received(bytes); },
                                        .ended = [this](const std::string& why) { failed(why); }});
    deadline_->set(kGreetWithin);
    connection_->open(settings_.server,
                      settings_.tls_name.empty() ? settings_.server.host : settings_.tls_name,
                      tls_ ? &*tls_ : nullptr);
  }

  void opened() {
    malformed_ = false;
    stream_ = std::make_unique<grpc::ClientStream>(
        grpc::ClientStream::Options{.path = std::string(xds::kMethod),
                                    .authority = settings_.text,
                                    .scheme = tls_ ? "https" : "http",
                                    .headers = settings_.headers,
                                    .most_message = settings_.most_message},
        [this](std::string_view message) {
          if (!malformed_) malformed_ = !subscription_.take(message, now());
        });
    stream_->write(subscription_.begin());
    flush();
  }

  void received(std::string_view bytes) {
    const bool first = !stream_->greeted();
    const bool goes_on = stream_->receive(bytes);
    if (malformed_) return fail("it sent a message that is not a DiscoveryResponse");
    if (first && stream_->greeted()) deadline_->set(kQuietAfter);
    if (!std::exchange(heard_, subscription_.heard()) && heard_) {
      rates_.note(Link::up);
      spdlog::info("rls-xds: {} answers", settings_.text);
      deadline_->set(kPingEvery);
    }
    say();
    if (!goes_on) fail(core::printable(stream_->why()));
  }

  // What is due.
  void say() {
    if (!stream_) return;
    if (const auto answer = subscription_.answer(now())) {
      stream_->write(*answer);
      pace_.succeeded();
    }
    flush();
    if (const auto due = subscription_.due()) answer_->set(std::max(*due - now(), nanoseconds{0}));
  }

  void flush() {
    std::string out;
    stream_->send(out);
    if (!out.empty()) connection_->write(std::move(out));
  }

  void overdue() {
    if (!stream_ || !stream_->greeted())
      return fail("it has not answered for " + std::to_string(kGreetWithin.count()) + " s");
    if (stream_->owes_pong())
      return fail("it has not answered a ping for " + std::to_string(kPongWithin.count()) + " s");
    if (!heard_ && !std::exchange(quiet_said_, true)) {
      spdlog::warn("rls-xds: {} has sent nothing for {} s; it may not know the node '{}'", settings_.text,
                   kQuietAfter.count(), core::printable(settings_.node));
      return deadline_->set(kPingEvery);
    }
    // Before it has answered, or after.
    pinged_ = !pinged_;
    if (pinged_) {
      stream_->ping();
      flush();
    }
    deadline_->set(pinged_ ? kPongWithin : kPingEvery);
  }

  void fail(const std::string& why) {
    connection_->close();
    failed(why);
  }

  void failed(const std::string& why) {
    stream_.reset();
    answer_->stop();
    deadline_->stop();
    rates_.note_failure(why);
    const nanoseconds delay = pace_.next(std::uniform_real_distribution<double>()(chance_));
    retry_->set(delay);
    const nanoseconds at = now();
    if (why == said_ && at - said_at_ < kSayAgain) return;
    said_ = why;
    said_at_ = at;
    spdlog::warn("rls-xds: {}: {}; what is in force stays, next attempt in {:.1f} s", settings_.text, why,
                 std::chrono::duration<double>(delay).count());
  }

  std::vector<std::string> use(xds::Update update) {
    return rates_.take({.version = std::move(update.version),
                        .domains = std::move(update.domains),
                        .errors = std::move(update.errors),
                        .text = std::move(update.text)});
  }

  const XdsSettings& settings_;
  service::XdsInForce& rates_;
  asio::io_context context_{1};
  std::optional<asio::ssl::context> tls_;
  xds::Subscription subscription_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::unique_ptr<net::Timer> retry_;
  std::unique_ptr<net::Timer> deadline_;  // for what the server owes
  std::unique_ptr<net::Timer> answer_;
  std::shared_ptr<XdsConnection> connection_;
  std::unique_ptr<grpc::ClientStream> stream_;
  xds::Retry pace_{settings_.retry_first, settings_.retry_most};
  std::mt19937_64 chance_{std::random_device{}()};
  bool malformed_ = false;
  bool heard_ = false;
  bool quiet_said_ = false;
  bool pinged_ = false;
  std::string said_;  // why it last failed, as logged
  nanoseconds said_at_{0};
  std::thread thread_;
};

XdsSource::XdsSource(const XdsSettings& settings, service::XdsInForce& rates)
    : impl_(std::make_unique<Impl>(settings, rates)) {}
XdsSource::~XdsSource() = default;
void XdsSource::start() { impl_->start(); }

}  // namespace weir::server
