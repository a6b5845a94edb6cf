#include "net/socket.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "net/announced_hello.hpp"

namespace weir::inline v0_1::net {
namespace {

class PlainSocket : public Socket {
 public:
  PlainSocket(Poller& poller, int descriptor) : poller_(poller), descriptor_(descriptor) {}
  PlainSocket(const PlainSocket&) = delete;
  PlainSocket& operator=(const PlainSocket&) = delete;
  ~PlainSocket() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  Outcome handshake() override { return {}; }

  Outcome receive(std::span<char> buffer) override {
    const ssize_t n = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
    if (n == 0) return {.status = Status::end};
    if (n < 0) return failed(Want::input);
    const auto bytes = static_cast<std::size_t>(n);
    return {.bytes = bytes, .taken = bytes, .more = bytes == buffer.size()};
  }

  Outcome send(std::string_view bytes) override {
    const ssize_t n = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0) return failed(Want::output);
    const auto sent = static_cast<std::size_t>(n);
    return {.want = sent < bytes.size() ? Want::output : Want::nothing, .bytes = sent};
  }

  Outcome end_output() override {
    return {.status = ::shutdown(descriptor_, SHUT_WR) == 0 ? Status::done : Status::broken};
  }

  // What is read and found at its end would be later: a request that the peer has sent may lie before it.
  bool has_ended() const override {
    pollfd its{.fd = descriptor_, .events = POLLRDHUP, .revents = 0};
    return ::poll(&its, 1, 0) > 0;
  }

  std::size_t unread() const override {
    int bytes = 0;
    return ioctl(descriptor_, FIONREAD, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
  }

  bool watch(Want want, Poller::Watched& watched) override {
    if (!poller_.change(descriptor_, watched, watching_, want)) return false;
    watching_ = want;
    return true;
  }
  Want watching() const override { return watching_; }
  int plain_descriptor() const override { return descriptor_; }

  void close() override {
    // Closing does not take it out of the poller where another process has it too.
    if (watching_ != Want::nothing) poller_.forget(descriptor_);
    ::close(descriptor_);
    descriptor_ = -1;
  }

  std::size_t at_rest() const override { return 0; }
  std::size_t kept() const override { return 0; }

 protected:
  int descriptor() const { return descriptor_; }

 private:
  static Outcome failed(Want want) {
    if (errno != EAGAIN && errno != EINTR) return {.status = Status::broken};
    return {.status = Status::again, .want = want};
  }

  Poller& poller_;
  int descriptor_;
  Want watching_ = Want::nothing;
};

// The most that one record holds; with room for it, OpenSSL keeps nothing back that has been decrypted.
constexpr std::size_t kRecord = 16384;

// What OpenSSL 3 keeps for a connection (tests/end_to_end/test_client_memory.py measures it): 15 KiB for one
// that is idle, whose buffers are released; in a handshake 32 KiB, the record that it reads, and the whole of
// a message as soon as its length is known, or half as much again as has been read; and a buffer for half a
// record.
constexpr std::size_t kTlsAtRest = std::size_t{16} << 10;
constexpr std::size_t kTlsHandshake = std::size_t{32} << 10;
constexpr std::size_t kTlsBuffer = std::size_t{18} << 10;

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

// Of the certificate that the peer has shown and that was verified. One with several common names is
// nobody's.
std::string common_name_of(SSL* ssl) {
  if ((SSL_get_verify_mode(ssl) & SSL_VERIFY_PEER) == 0 || SSL_get_verify_result(ssl) != X509_V_OK) return {};
  const X509* const certificate = SSL_get0_peer_certificate(ssl);
  if (certificate == nullptr) return {};
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0) return {};
  unsigned char* bytes = nullptr;
  const int size = ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (size < 0) return {};
  std::string name(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return name;
}

// OpenSSL reads and writes the descriptor itself. It reads no further than the record that it is asked for,
// so that what the kernel holds is what has not been read, but for the beginning of one record.
class TlsSocket final : public PlainSocket {
 public:
  TlsSocket(Poller& poller, int descriptor, boost::asio::ssl::context& tls)
      : PlainSocket(poller, descriptor), ssl_(SSL_new(tls.native_handle())) {
    if (!ssl_ || SSL_set_fd(ssl_.get(), descriptor) != 1) throw std::bad_alloc();
    SSL_set_accept_state(ssl_.get());
    // A peer that ends its side without TLS's word for it has sent all the same what came before, and still
    // takes its replies. Nothing is cut short unseen: what messages need, their own lengths say.
    SSL_set_options(ssl_.get(), SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_set_mode(ssl_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    BIO_set_callback_arg(input(), reinterpret_cast<char*>(&hello_));
    BIO_set_callback_ex(input(), look_at_hello);
  }

  Outcome handshake() override {
    ERR_clear_error();
    const Outcome shaken = after(SSL_do_handshake(ssl_.get()));
    shaking_ = shaken.status == Status::again;
    refused_ = shaken.status != Status::done && shaken.status != Status::again;
    if (refused_) reason_ = ERR_peek_last_error();
    return shaken;
  }

  int plain_descriptor() const override { return -1; }

  HandshakeFailure refusal() const override {
    const char* const why = reason_ == 0 ? nullptr : ERR_reason_error_string(reason_);
    const int reason = ERR_GET_REASON(reason_);
    const bool plain = reason == SSL_R_HTTP_REQUEST || reason == SSL_R_HTTPS_PROXY_REQUEST ||
                       reason == SSL_R_WRONG_VERSION_NUMBER;
    return {plain, why != nullptr ? why : ""};
  }

  std::string peer_certificate() const override { return common_name_of(ssl_.get()); }

  Outcome receive(std::span<char> buffer) override {
    if (refused_) return PlainSocket::receive(buffer);
    const std::uint64_t before = read_so_far();
    std::size_t bytes = 0;
    Outcome last{};
    while (last.status == Status::done && buffer.size() - bytes >= kRecord) {
      std::size_t n = 0;
      ERR_clear_error();
      last = after(SSL_read_ex(ssl_.get(), buffer.data() + bytes, buffer.size() - bytes, &n));
      bytes += n;
    }
    last.taken = static_cast<std::size_t>(read_so_far() - before);
    if (bytes == 0) return last;
    return {.bytes = bytes, .taken = last.taken, .more = last.want != Want::input};
  }

  Outcome send(std::string_view bytes) override {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      std::size_t n = 0;
      ERR_clear_error();
      const Outcome last = after(SSL_write_ex(ssl_.get(), bytes.data() + sent, bytes.size() - sent, &n));
      sent += n;
      half_written_ = last.status == Status::again;
      if (half_written_) return {.want = last.want, .bytes = sent};
      if (last.status != Status::done) return {.status = Status::broken};
    }
    return {.bytes = sent};
  }

  Outcome end_output() override {
    if (refused_) return PlainSocket::end_output();
    ERR_clear_error();
    // 0: ours is sent, theirs has not come.
    const int result = SSL_shutdown(ssl_.get());
    const Outcome told = result >= 0 ? Outcome{} : after(result);
    return told.status == Status::done ? PlainSocket::end_output() : told;
  }

  std::size_t at_rest() const override { return kTlsAtRest; }
  std::size_t kept() const override {
    if (shaking_) {
      const std::uint64_t read = read_so_far();
      return kTlsHandshake +
             std::max(read * 3 / 2, hello_.bytes() + std::min<std::uint64_t>(read, kTlsBuffer));
    }
    return (SSL_has_pending(ssl_.get()) == 1 ? kTlsBuffer : 0) + (half_written_ ? kTlsBuffer : 0);
  }

 private:
  BIO* input() const { return SSL_get_rbio(ssl_.get()); }
  std::uint64_t read_so_far() const { return BIO_number_read(input()); }

  // Of OpenSSL, after each read of the socket.
  static long look_at_hello(BIO* bio, int what, const char* bytes, std::size_t /*most*/, int, long,
                            int result, std::size_t* count) {
    if (what != (BIO_CB_READ | BIO_CB_RETURN) || result <= 0) return result;
    auto& hello = *reinterpret_cast<AnnouncedHello*>(BIO_get_callback_arg(bio));
    hello.feed({bytes, *count});
    if (hello.is_known()) BIO_set_callback_ex(bio, nullptr);
    return result;
  }

  Outcome after(int result) {
    if (result == 1) return {};
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return {.status = Status::again, .want = Want::input};
      case SSL_ERROR_WANT_WRITE:
        return {.status = Status::again, .want = Want::output};
      case SSL_ERROR_ZERO_RETURN:
        return {.status = Status::end};
      default:
        return {.status = Status::broken};
    }
  }

  AnnouncedHello hello_;
  std::unique_ptr<SSL, FreeSsl> ssl_;  // it looks at what is said there
  bool shaking_ = true;                // the handshake is under way
  bool half_written_ = false;          // a record
  unsigned long reason_ = 0;
  bool refused_ = false;  // the handshake has failed: an alert may be on its way, and nothing else is
};

}  // namespace

std::unique_ptr<Socket> plain_socket(Poller& poller, int descriptor) {
  return std::make_unique<PlainSocket>(poller, descriptor);
}

std::unique_ptr<Socket> tls_socket(Poller& poller, int descriptor, boost::asio::ssl::context& tls) {
  return std::make_unique<TlsSocket>(poller, descriptor, tls);
}

}  // namespace weir::net
