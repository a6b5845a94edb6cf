#include "redis/sockets.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <stdexcept>
#include <vector>

#include "redis/dial.hpp"
#include "redis/lookup.hpp"

namespace weir::inline v0_1::redis {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Local = asio::local::stream_protocol;
using Tls = asio::ssl::stream<tcp::socket>;

// At once. With more Redis and we would take turns, each idle while the other works through all of it
// (bench/overload.py, 10 connections to one server: 0.8 of the loop by hand with 64 KiB).
constexpr std::size_t kReadBytes = std::size_t{16} << 10;
// How often a tick waits for more to be read: no more than 1 MiB, a window of several thousand answers.
constexpr int kReadsFirst = 64;

}  // namespace

std::optional<asio::ssl::context> tls_for(const Endpoint& endpoint, const net::TlsFiles& files) {
  const std::string flag = "store-tls";
  const bool shows = net::has_certificate(flag, files);
  if (endpoint.tls) return net::client_tls(flag, files);
  if (shows)
    throw std::invalid_argument(flag + "-cert needs a store with TLS: a URL that begins with rediss");
  return std::nullopt;
}

// One connection. When it has ended it says so once, and never calls again; close() keeps it from saying so.
class Sockets::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Sockets& sockets, Client::NodeId node) : sockets_(sockets), node_(node) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  virtual ~Connection() = default;

  virtual void open(const NodeAddress& address) = 0;
  virtual void flush() = 0;
  // Whether bytes have come that have not been read.
  virtual bool has_unread() = 0;
  void close() {
    closed_ = true;
    shut();
  }

 protected:
  virtual void shut() = 0;

  void end(const std::string& why) {
    if (std::exchange(closed_, true)) return;
    shut();
    sockets_.connections_.erase(node_);
    sockets_.client_.failed(node_, why, sockets_.clock_());
    sockets_.pump();
  }
  void greet() {
    sockets_.client_.connected(node_, sockets_.clock_());
    sockets_.pump();
  }
  void take(std::string_view bytes) {
    sockets_.client_.received(node_, bytes, sockets_.clock_());
    sockets_.pump();
  }

  Sockets& sockets_;
  Client::NodeId node_;
  bool closed_ = false;
};

template <class Stream>
class Sockets::StreamConnection final : public Connection {
 public:
  template <class... Arguments>
  StreamConnection(Sockets& sockets, Client::NodeId node, Arguments&&... arguments)
      : Connection(sockets, node), stream_(sockets.context_, std::forward<Arguments>(arguments)...) {}

  void open(const NodeAddress& address) override {
    if constexpr (std::is_same_v<Stream, Local::socket>) {
      stream_.async_connect(Local::endpoint(address.host),
                            [self = self()](const error_code& error) { self->opened(error); });
    } else {
      host_ = address.host;
      error_code is_a_name;
      const auto number = asio::ip::make_address(host_, is_a_name);
      if (!is_a_name) return dial({tcp::endpoint(number, address.port)});
      lookup_ = Lookup::start(sockets_.context_, host_, address.port,
                              [self = self()](const error_code& error, const Lookup::Endpoints& found) {
                                if (self->closed_) return;
                                if (error) return self->end("cannot be found: " + error.message());
                                self->dial(found);
                              });
    }
  }

  bool has_unread() override {
    error_code error;
    return ready_ && stream_.lowest_layer().available(error) > 0;
  }

  void flush() override {
    if (writing_ || !ready_) return;
    buffer_ = sockets_.client_.take_output(node_);
    if (buffer_.empty()) return;
    writing_ = true;
    asio::async_write(stream_, asio::buffer(buffer_), [self = self()](const error_code& error, std::size_t) {
      // Nothing more can be written then. Why, the read says, which ends too: with TLS by an alert that came
      // before the reset, such as "certificate required".
      if (error) return;
      self->writing_ = false;
      if (!self->closed_) self->flush();
    });
  }

 private:
  std::shared_ptr<StreamConnection> self() {
    return std::static_pointer_cast<StreamConnection>(this->shared_from_this());
  }

  void dial(const Dial::Endpoints& found) {
    // The next attempt begins with another address than one that has been of no use, until one has answered.
    const std::size_t first = sockets_.first_address_[node_]++;
    dial_ =
        Dial::start(sockets_.context_, Dial::order(found, first),
                    [self = self(), first](const error_code& error, tcp::socket socket, std::size_t number) {
                      if (self->closed_) return;
                      self->number_ = first + number;
                      self->sockets_.first_address_[self->node_] = self->number_ + 1;
                      self->stream_.lowest_layer() = std::move(socket);
                      self->opened(error);
                    });
  }

  void opened(const error_code& error) {
    if (closed_) return;
    if (error) return end(error.message());
    error_code ignored;
    if constexpr (!std::is_same_v<Stream, Local::socket>)
      stream_.lowest_layer().set_option(tcp::no_delay(true), ignored);
    if constexpr (std::is_same_v<Stream, Tls>) {
      SSL_set_tlsext_host_name(stream_.native_handle(), host_.c_str());
      stream_.set_verify_callback([this](bool passed, asio::ssl::verify_context& certificate) {
        return net::verify(certificate, passed, host_, unverified_);
      });
      stream_.async_handshake(asio::ssl::stream_base::client, [self = self()](const error_code& done) {
        if (self->closed_) return;
        if (!self->unverified_.empty())
          return self->end("TLS: certificate verify failed: " + self->unverified_);
        if (done) return self->end("TLS: " + done.message());
        self->begin();
      });
    } else {
      begin();
    }
  }

  void begin() {
    ready_ = true;
    read();
    greet();
  }

  void read() {
    stream_.async_read_some(asio::buffer(in_), [self = self()](const error_code& error, std::size_t n) {
      if (self->closed_) return;
      if (error) return self->end(error == asio::error::eof ? "the connection was closed" : error.message());
      if (!std::exchange(self->heard_, true)) self->sockets_.first_address_[self->node_] = self->number_;
      self->take({self->in_.data(), n});
      if (!self->closed_) self->read();
    });
  }

  void shut() override {
    error_code ignored;
    if (lookup_) lookup_->cancel();
    if (dial_) dial_->cancel();
    stream_.lowest_layer().close(ignored);
  }

  Stream stream_;
  std::string host_;
  std::string unverified_;  // which check of the certificate has failed
  std::shared_ptr<Lookup> lookup_;
  std::shared_ptr<Dial> dial_;
  std::string buffer_;  // being written
  std::vector<char> in_ = std::vector<char>(kReadBytes);
  bool ready_ = false;
  bool writing_ = false;
  bool heard_ = false;
  std::size_t number_ = 0;  // of the address among those that the host has
};

Sockets::Sockets(asio::io_context& context, net::Timers& timers, Client& client, asio::ssl::context* tls,
                 core::ClockFunction clock)
    : context_(context), client_(client), tls_(tls), clock_(std::move(clock)), timer_(timers.make([this] {
        armed_for_ = std::chrono::nanoseconds{0};
        tick();
      })) {}

Sockets::~Sockets() { stop(); }

void Sockets::start() {
  client_.start(clock_());
  pump();
}

void Sockets::stop() {
  stopped_ = true;
  *alive_ = false;
  timer_->stop();
  for (auto& [node, connection] : std::exchange(connections_, {})) connection->close();
}

void Sockets::wake(std::size_t calls) {
  // When half of what is asked waits to be sent, it goes: otherwise Redis and we would take turns, each idle
  // while the other works through all of it (bench/redis.py at 64 in flight: 0.93 of hiredis, with this 1.1).
  waiting_ += calls;
  if (waiting_ * 2 >= client_.open_calls()) {
    waiting_ = 0;
    for (const auto& [node, connection] : connections_) connection->flush();
  }
  if (std::exchange(waking_, true)) return;
  asio::post(context_, [this, alive = alive_] {
    if (!*alive) return;
    waking_ = false;
    pump();
  });
}

void Sockets::pump() {
  if (stopped_) return;
  waiting_ = 0;
  changed_();
  for (;;) {
    const std::vector<Client::Action> actions = client_.take_actions();
    if (actions.empty()) break;
    for (const Client::Action& action : actions) {
      const auto found = connections_.find(action.node);
      switch (action.kind) {
        case Client::Action::Kind::connect:
          open(action.node, action.address);
          break;
        case Client::Action::Kind::close:
          if (found != connections_.end()) {
            found->second->close();
            connections_.erase(found);
          }
          break;
        case Client::Action::Kind::write:
          if (found != connections_.end()) found->second->flush();
          break;
      }
    }
  }
  arm();
}

void Sockets::open(Client::NodeId node, const NodeAddress& address) {
  std::shared_ptr<Connection> connection;
  if (address.port == 0) {
    connection = std::make_shared<StreamConnection<Local::socket>>(*this, node);
  } else if (tls_ != nullptr) {
    connection = std::make_shared<StreamConnection<Tls>>(*this, node, *tls_);
  } else {
    connection = std::make_shared<StreamConnection<tcp::socket>>(*this, node);
  }
  connections_[node] = connection;
  connection->open(address);
}

// One timer for all deadlines; it is set again only when it would fire too late.
void Sockets::arm() {
  using std::chrono::nanoseconds;
  const nanoseconds next = client_.next_tick();
  const nanoseconds now = clock_();
  if (next > now) {
    reads_first_ = 0;
    quiet_ = false;
  }
  if (armed_for_ > now && armed_for_ <= next) return;
  armed_for_ = std::max(next, now + nanoseconds{1});
  const nanoseconds wait = std::min<nanoseconds>(armed_for_ - now, std::chrono::seconds{1});
  armed_for_ = now + wait;
  timer_->set(wait);
}

bool Sockets::has_unread() const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const auto& each) { return each.second->has_unread(); });
}

// A loop that is busy with clients comes late to its sockets. What has come by then is read before deadlines
// are looked at, however many turns of the loop that takes: of answers that came together, the last would
// else be given up while they lie there. Asio reads the next as soon as it is asked to and tells us a turn
// later, so nothing is there only when it is so twice. A node of which bytes lie there is not silent.
void Sockets::tick() {
  const bool was_quiet = std::exchange(quiet_, !has_unread());
  if (reads_first_ < kReadsFirst && !(was_quiet && quiet_)) {
    ++reads_first_;
    armed_for_ = std::chrono::nanoseconds{0};
    // arm() may set it again, which a further turn then takes.
    armed_for_ = std::chrono::nanoseconds{0};
    timer_->set(std::chrono::nanoseconds{0});
    return;
  }
  reads_first_ = 0;
  quiet_ = false;
  for (const auto& [node, connection] : connections_) {
    if (connection->has_unread()) client_.heard(node, clock_());
  }
  client_.tick(clock_());
  pump();
}

}  // namespace weir::redis
