#include "cli/server_connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/duration.hpp"
#include "core/printable.hpp"
#include "resp/writer.hpp"

namespace weir::inline v0_1::cli {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using AnySocket = asio::generic::stream_protocol::socket;  // TCP and Unix
using Endpoints = std::vector<asio::generic::stream_protocol::endpoint>;

bool means_tls(const ServerAddress& address) {
  return address.tls || !address.tls_name.empty() || !address.files.ca.empty() ||
         !address.files.cert.empty() || !address.files.key.empty();
}

std::string name_of(const ServerAddress& address) {
  if (!address.unix_socket.empty()) return address.unix_socket;
  return address.host + ":" + std::to_string(address.port);
}

}  // namespace

struct ServerConnection::Impl {
  // Longer than anybody waits, and no sum with it overflows.
  static constexpr std::chrono::years kLongest{1};

  Impl(const ServerAddress& address, std::chrono::nanoseconds longest, std::function<bool()> ends)
      : where(name_of(address)),
        patience(longest),
        interrupted(std::move(ends)),
        context(std::make_unique<asio::io_context>()),
        socket(*context) {
    renew_patience();
  }

  void renew_patience() {
    deadline = std::chrono::steady_clock::now() + std::min<std::chrono::nanoseconds>(patience, kLongest);
  }

  std::string without_password(std::string text) const {
    constexpr std::string_view kHidden = "***";
    for (std::size_t at = 0; !password.empty() && (at = text.find(password, at)) != std::string::npos;
         at += kHidden.size())
      text.replace(at, password.size(), kHidden);
    return text;
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error(core::printable(without_password(why)));
  }

  // Until what was begun is done. The calls are asynchronous, because Asio's blocking ones have no timeout.
  void wait() {
    context->restart();
    run();
    if (context->stopped()) return;
    error_code ignored;
    socket.close(ignored);
    context->run();  // the handler refers to its caller
    late();
  }
  // Until all is done, time is up, or somebody interrupts.
  void run() {
    if (!interrupted) {
      context->run_until(deadline);
      return;
    }
    constexpr std::chrono::milliseconds kLook{50};
    while (!context->stopped() && !interrupted() && std::chrono::steady_clock::now() < deadline)
      context->run_until(std::min(deadline, std::chrono::steady_clock::now() + kLook));
  }
  [[noreturn]] void late() const { fail(where + " did not answer within " + core::to_text(patience)); }

  // A name is looked up in a thread of Asio's that nothing can interrupt: when time is up it is left alone,
  // and so is the context that would wait for it.
  Endpoints look_up(const std::string& host, const std::string& port) {
    struct Lookup {
      tcp::resolver resolver;
      error_code error;
      tcp::resolver::results_type found;
    };
    const auto lookup = std::make_shared<Lookup>(Lookup{tcp::resolver(*context), {}, {}});
    lookup->resolver.async_resolve(host, port, [lookup](const error_code& error, const auto& found) {
      lookup->error = error;
      lookup->found = found;
    });
    run();
    if (!context->stopped()) {
      static const auto* const kLeftAlone = new std::pair(std::move(context), std::move(socket));
      static_cast<void>(kLeftAlone);
      late();
    }
    if (lookup->error) fail("cannot connect to " + where + ": " + lookup->error.message());
    Endpoints endpoints;
    for (const auto& each : lookup->found) endpoints.emplace_back(each.endpoint());
    return endpoints;
  }

  void connect(const Endpoints& endpoints) {
    error_code error;
    asio::async_connect(socket, endpoints, [&error](const error_code& done, const auto&) { error = done; });
    wait();
    if (error) fail("cannot connect to " + where + ": " + error.message());
  }

  void shake_hands(const ServerAddress& address) {
    const std::string name = address.tls_name.empty() ? address.host : address.tls_name;
    tls_context.emplace(net::client_tls("tls", address.files));
    tls.emplace(socket, *tls_context);
    SSL_set_tlsext_host_name(tls->native_handle(), name.c_str());
    tls->set_verify_callback([this, name](bool passed, asio::ssl::verify_context& certificate) {
      return net::verify(certificate, passed, name, unverified);
    });
    error_code error;
    tls->async_handshake(asio::ssl::stream_base::client, [&error](const error_code& done) { error = done; });
    wait();
    if (error)
      fail("no TLS with " + where + ": " +
           (unverified.empty() ? error.message() : "its certificate: " + unverified));
  }

  template <class Operation>
  void on_stream(const Operation& operation) {
    if (tls) return operation(*tls);
    operation(socket);
  }

  void read_more() {
    std::array<char, 4096> bytes;
    error_code error;
    std::size_t size = 0;
    on_stream([&](auto& stream) {
      stream.async_read_some(asio::buffer(bytes), [&](const error_code& done, std::size_t got) {
        error = done;
        size = got;
      });
    });
    wait();
    // An alert such as "certificate required" comes here, since the client's side of TLS 1.3 is done before
    // it.
    const bool alert = error && error.category() == asio::error::get_ssl_category();
    if (alert) fail(where + " ended TLS: " + error.message());
    if (error) fail(where + " closed the connection");
    input.append(bytes.data(), size);
  }

  std::string where;
  std::string password;    // so that no message shows it
  std::string unverified;  // which check the server's certificate has failed
  std::chrono::nanoseconds patience;
  std::function<bool()> interrupted;  // may be empty
  std::chrono::steady_clock::time_point deadline;
  std::unique_ptr<asio::io_context> context;
  AnySocket socket;
  std::optional<asio::ssl::context> tls_context;
  std::optional<asio::ssl::stream<AnySocket&>> tls;
  resp::ReplyParser replies;
  std::string input;
  std::size_t used = 0;  // of it: the last reply
};

ServerConnection::ServerConnection(const ServerAddress& address, std::chrono::nanoseconds patience,
                                   std::function<bool()> interrupted)
    : impl_(std::make_unique<Impl>(address, patience, std::move(interrupted))) {
  const bool tls = means_tls(address);
  if (!address.unix_socket.empty()) {
    if (tls) throw std::runtime_error("unix-socket: a Unix socket is plain, so no tls flag goes with it");
    constexpr std::size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;
    if (address.unix_socket.size() > kLongest)
      throw std::runtime_error("unix-socket: '" + address.unix_socket +
                               "' is longer than a path of a socket (" + std::to_string(kLongest) +
                               " bytes)");
    impl_->connect({asio::local::stream_protocol::endpoint(address.unix_socket)});
    return;
  }
  impl_->connect(impl_->look_up(address.host, std::to_string(address.port)));
  if (tls) impl_->shake_hands(address);
}

ServerConnection::~ServerConnection() = default;

unsigned ServerConnection::listening_user() const {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(impl_->socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    impl_->fail("whose '" + impl_->where + "' is cannot be seen: " + std::strerror(errno));
  return peer.uid;
}

void ServerConnection::authenticate(const std::string& user, const std::string& password) {
  impl_->password = password;
  send({"AUTH", user, password});
  if (const auto said = answer(); !said || said->text != "OK")
    impl_->fail("unexpected answer to AUTH: " + impl_->where + " is not a weir server");
}

std::string ServerConnection::without_password(std::string text) const {
  return impl_->without_password(std::move(text));
}

void ServerConnection::renew_patience() { impl_->renew_patience(); }

void ServerConnection::send(std::initializer_list<std::string_view> words) {
  std::string out;
  resp::Writer request(out);
  request.array(words.size());
  for (const std::string_view word : words) request.bulk(word);
  send_bytes(out);
}

void ServerConnection::send_bytes(std::string_view bytes) {
  error_code error;
  impl_->on_stream([&](auto& stream) {
    asio::async_write(stream, asio::buffer(bytes),
                      [&error](const error_code& done, std::size_t) { error = done; });
  });
  impl_->wait();
  if (error) impl_->fail("cannot send to " + impl_->where + ": " + error.message());
}

std::optional<resp::Value> ServerConnection::answer() {
  const std::optional<Reply> said = reply();
  if (!said) return std::nullopt;
  if (said->value.type == resp::Value::Type::error)
    impl_->fail(impl_->where + " answered: " + std::string(said->value.text));
  return said->value;
}

std::optional<ServerConnection::Reply> ServerConnection::reply() {
  impl_->input.erase(0, std::exchange(impl_->used, 0));
  for (;;) {
    const resp::Parsed parsed = impl_->replies.parse(impl_->input);
    if (parsed.status == resp::Parsed::Status::broken) return std::nullopt;
    if (parsed.status == resp::Parsed::Status::value) {
      impl_->used = parsed.used;
      return Reply{parsed.value, std::string_view(impl_->input).substr(0, parsed.used)};
    }
    impl_->read_more();
  }
}

}  // namespace weir::cli
