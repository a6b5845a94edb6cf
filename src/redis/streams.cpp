#include "redis/streams.hpp"

#include <array>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
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

template <class Stream>
class StreamConnection final : public Sockets::Connection {
 public:
  template <class... Arguments>
  StreamConnection(Sockets& sockets, Client::NodeId node, asio::io_context& context, Arguments&&... arguments)
      : Connection(sockets, node),
        context_(context),
        stream_(context, std::forward<Arguments>(arguments)...) {}

  void open(const NodeAddress& address, const std::string& certified) {
    if constexpr (std::is_same_v<Stream, Local::socket>) {
      stream_.async_connect(Local::endpoint(address.host),
                            [self = self()](const error_code& error) { self->connected(error); });
    } else {
      certified_ = certified.empty() ? address.host : certified;
      error_code is_a_name;
      const auto number = asio::ip::make_address(address.host, is_a_name);
      if (!is_a_name) return dial({tcp::endpoint(number, address.port)});
      lookup_ = Lookup::start(context_, address.host, address.port,
                              [self = self()](const error_code& error, const Lookup::Endpoints& found) {
                                if (self->closed()) return;
                                if (error) return self->ended("cannot be found: " + error.message());
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
    buffer_ = take_output();
    if (buffer_.empty()) return;
    writing_ = true;
    asio::async_write(stream_, asio::buffer(buffer_), [self = self()](const error_code& error, std::size_t) {
      // Nothing more can be written then. Why, the read says, which ends too: with TLS by an alert that came
      // before the reset, such as "certificate required".
      if (error) return;
      self->writing_ = false;
      if (!self->closed()) self->flush();
    });
  }

 private:
  std::shared_ptr<StreamConnection> self() {
    return std::static_pointer_cast<StreamConnection>(this->shared_from_this());
  }

  void dial(const Dial::Endpoints& found) {
    const std::size_t first = first_address();
    dial_ =
        Dial::start(context_, Dial::order(found, first),
                    [self = self(), first](const error_code& error, tcp::socket socket, std::size_t number) {
                      if (self->closed()) return;
                      self->tried(first + number);
                      self->stream_.lowest_layer() = std::move(socket);
                      self->connected(error);
                    });
  }

  void connected(const error_code& error) {
    if (closed()) return;
    if (error) return ended(error.message());
    error_code ignored;
    if constexpr (!std::is_same_v<Stream, Local::socket>)
      stream_.lowest_layer().set_option(tcp::no_delay(true), ignored);
    if constexpr (std::is_same_v<Stream, Tls>) {
      SSL_set_tlsext_host_name(stream_.native_handle(), certified_.c_str());
      stream_.set_verify_callback([this](bool passed, asio::ssl::verify_context& certificate) {
        return net::verify(certificate, passed, certified_, unverified_);
      });
      stream_.async_handshake(asio::ssl::stream_base::client, [self = self()](const error_code& done) {
        if (self->closed()) return;
        if (!self->unverified_.empty())
          return self->ended("TLS: certificate verify failed: " + self->unverified_);
        if (done) return self->ended("TLS: " + done.message());
        self->begin();
      });
    } else {
      begin();
    }
  }

  void begin() {
    ready_ = true;
    read();
    opened();
  }

  void read() {
    stream_.async_read_some(asio::buffer(in_), [self = self()](const error_code& error, std::size_t n) {
      if (self->closed()) return;
      if (error)
        return self->ended(error == asio::error::eof ? "the connection was closed" : error.message());
      self->received({self->in_.data(), n});
      if (!self->closed()) self->read();
    });
  }

  void shut() override {
    error_code ignored;
    if (lookup_) lookup_->cancel();
    if (dial_) dial_->cancel();
    stream_.lowest_layer().close(ignored);
  }

  asio::io_context& context_;
  Stream stream_;
  std::string certified_;   // whom a certificate has to name
  std::string unverified_;  // which check of the certificate has failed
  std::shared_ptr<Lookup> lookup_;
  std::shared_ptr<Dial> dial_;
  std::string buffer_;  // being written
  std::vector<char> in_ = std::vector<char>(kReadBytes);
  bool ready_ = false;
  bool writing_ = false;
};

template <class Stream, class... Arguments>
std::shared_ptr<Sockets::Connection> open(const NodeAddress& address, const std::string& certified,
                                          Arguments&&... arguments) {
  const auto made = std::make_shared<StreamConnection<Stream>>(std::forward<Arguments>(arguments)...);
  made->open(address, certified);
  return made;
}

}  // namespace

std::optional<asio::ssl::context> tls_for(const Endpoint& endpoint, const net::TlsFiles& files,
                                          const std::string& certified) {
  const std::string flag = "store-tls";
  (void)net::has_certificate(flag, files);
  if (endpoint.tls) return net::client_tls(flag, files);
  for (const auto& [part, said] :
       {std::pair("-ca", &files.ca), std::pair("-cert", &files.cert), std::pair("-name", &certified)}) {
    if (!said->empty())
      throw std::invalid_argument(flag + part + " needs a store with TLS: a URL that begins with rediss");
  }
  return std::nullopt;
}

Sockets::Open streams(asio::io_context& context, asio::ssl::context* tls, std::string certified) {
  return [&context, tls, certified = std::move(certified)](Sockets& sockets, Client::NodeId node,
                                                           const NodeAddress& address) {
    if (address.port == 0) return open<Local::socket>(address, certified, sockets, node, context);
    if (tls != nullptr) return open<Tls>(address, certified, sockets, node, context, *tls);
    return open<tcp::socket>(address, certified, sockets, node, context);
  };
}

}  // namespace weir::redis
