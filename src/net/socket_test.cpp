#include "net/socket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::inline v0_1::net {
namespace {

using Status = Socket::Status;
namespace ssl = boost::asio::ssl;

struct Watched final : Poller::Watched {
  void on_ready() override { ++count; }
  int count = 0;
};

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(SSL* connection) const { SSL_free(connection); }
};

// Shows a certificate that it has signed itself.
std::unique_ptr<ssl::context> server_tls() {
  const std::unique_ptr<EVP_PKEY, Free> key(EVP_EC_gen("P-256"));
  const std::unique_ptr<X509, Free> certificate(X509_new());
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  auto tls = std::make_unique<ssl::context>(ssl::context::tls_server);
  SSL_CTX_use_certificate(tls->native_handle(), certificate.get());
  SSL_CTX_use_PrivateKey(tls->native_handle(), key.get());
  return tls;
}

// Both ends of a connection: ours is a Socket, the peer's the plain or TLS client that a test plays.
class SocketTest : public ::testing::TestWithParam<bool> {
 protected:
  SocketTest() {
    std::signal(SIGPIPE, SIG_IGN);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) throw std::bad_alloc();
    peer_ = ends[1];
    if (GetParam()) {
      tls_ = server_tls();
      socket_ = tls_socket(poller_, ends[0], *tls_);
      peer_ssl_.reset(SSL_new(client_.native_handle()));
      SSL_set_fd(peer_ssl_.get(), peer_);
      SSL_set_connect_state(peer_ssl_.get());
    } else {
      socket_ = plain_socket(poller_, ends[0]);
    }
  }
  ~SocketTest() override {
    peer_ssl_.reset();
    if (peer_ >= 0) ::close(peer_);
  }

  void shake_hands() {
    for (int step = 0; step < 10; ++step) {
      const bool peer_done = !peer_ssl_ || SSL_do_handshake(peer_ssl_.get()) == 1;
      const Socket::Outcome ours = socket_->handshake();
      if (peer_done && ours.status == Status::done) return;
      EXPECT_NE(ours.status, Status::broken);
    }
    FAIL() << "no end of the handshake";
  }

  std::size_t peer_sends(std::string_view bytes) {
    const int n = peer_ssl_ ? SSL_write(peer_ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                            : static_cast<int>(::send(peer_, bytes.data(), bytes.size(), 0));
    return n < 0 ? 0 : static_cast<std::size_t>(n);
  }

  // All that is there; -1 in `end` is nothing yet, 0 the end.
  std::string peer_reads(int* end = nullptr) {
    std::string all;
    char buffer[4096];
    int n = 0;
    while ((n = peer_ssl_ ? SSL_read(peer_ssl_.get(), buffer, sizeof buffer)
                          : static_cast<int>(::recv(peer_, buffer, sizeof buffer, 0))) > 0)
      all.append(buffer, static_cast<std::size_t>(n));
    if (end != nullptr)
      *end = peer_ssl_ && SSL_get_error(peer_ssl_.get(), n) != SSL_ERROR_ZERO_RETURN ? -1 : n;
    return all;
  }

  std::string received(const Socket::Outcome& got) const {
    return {buffer_.data(), got.status == Status::done ? got.bytes : 0};
  }

  boost::asio::io_context context_;
  Poller poller_{context_, *asio_timers(context_)};
  ssl::context client_{ssl::context::tls_client};
  std::unique_ptr<ssl::context> tls_;
  std::unique_ptr<Socket> socket_;
  int peer_ = -1;
  std::unique_ptr<SSL, Free> peer_ssl_;
  std::vector<char> buffer_ = std::vector<char>(65536);
};

INSTANTIATE_TEST_SUITE_P(Net, SocketTest, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "tls" : "plain"; });

TEST_P(SocketTest, a_message_each_way) {
  shake_hands();
  const Socket::Outcome nothing = socket_->receive(buffer_);
  EXPECT_EQ(nothing.status, Status::again);
  EXPECT_EQ(nothing.want, Want::input);
  peer_sends("question");
  const Socket::Outcome got = socket_->receive(buffer_);
  EXPECT_EQ(received(got), "question");
  EXPECT_FALSE(got.more);
  const Socket::Outcome sent = socket_->send("answer");
  EXPECT_EQ(sent.bytes, 6U);
  EXPECT_EQ(sent.want, Want::nothing);
  EXPECT_EQ(peer_reads(), "answer");
}

TEST_P(SocketTest, what_is_unread_is_what_reading_takes) {
  shake_hands();
  socket_->receive(buffer_);  // what TLS says after its handshake
  EXPECT_EQ(socket_->unread(), 0U);
  peer_sends("one");
  peer_sends("two");
  const std::size_t unread = socket_->unread();
  EXPECT_GE(unread, 6U);
  const Socket::Outcome got = socket_->receive(buffer_);
  EXPECT_EQ(received(got), "onetwo");
  EXPECT_EQ(got.taken, unread);
  EXPECT_EQ(socket_->unread(), 0U);
}

TEST_P(SocketTest, more_than_the_buffer_holds_is_read_by_the_next_calls) {
  shake_hands();
  socket_->receive(buffer_);
  const std::string all = std::string(70'000, 'a') + std::string(30'000, 'b');
  std::size_t sent = 0;
  while (sent < all.size()) {
    const std::size_t n = peer_sends(std::string_view(all).substr(sent));
    if (n == 0) break;
    sent += n;
  }
  ASSERT_EQ(sent, all.size());
  std::size_t unread = socket_->unread();
  std::string whole;
  for (bool more = true; more;) {
    const Socket::Outcome got = socket_->receive(buffer_);
    whole += received(got);
    unread -= got.taken;
    more = got.more;
  }
  EXPECT_EQ(whole, all);
  EXPECT_EQ(unread, 0U);
}

TEST_P(SocketTest, what_a_full_socket_does_not_take_is_sent_later) {
  shake_hands();
  const std::string all(3'000'000, 'x');
  Socket::Outcome sent = socket_->send(all);
  ASSERT_LT(sent.bytes, all.size());
  EXPECT_EQ(sent.want, Want::output);
  const std::string rest = all.substr(sent.bytes);  // elsewhere, as the session keeps it
  EXPECT_EQ(socket_->send(rest).status == Status::again || socket_->send(rest).bytes == 0, true);
  std::string whole;
  for (std::size_t at = 0; at < rest.size();) {
    whole += peer_reads();
    const Socket::Outcome next = socket_->send(std::string_view(rest).substr(at));
    ASSERT_NE(next.status, Status::broken);
    at += next.bytes;
  }
  whole += peer_reads();
  EXPECT_EQ(whole.size(), all.size());
}

TEST_P(SocketTest, the_peer_ends_its_side_and_is_still_answered) {
  shake_hands();
  peer_sends("last");
  if (peer_ssl_) SSL_shutdown(peer_ssl_.get());
  shutdown(peer_, SHUT_WR);
  const Socket::Outcome got = socket_->receive(buffer_);
  EXPECT_EQ(received(got), "last");
  // TLS has read the end already, and the poller would not tell of it.
  EXPECT_EQ(got.more, GetParam());
  EXPECT_EQ(socket_->receive(buffer_).status, Status::end);
  EXPECT_EQ(socket_->send("answer").bytes, 6U);
  EXPECT_EQ(socket_->end_output().status, Status::done);
  int end = -1;
  EXPECT_EQ(peer_reads(&end), "answer");
  EXPECT_EQ(end, 0);
}

TEST_P(SocketTest, after_our_end_the_peer_is_still_read) {
  shake_hands();
  EXPECT_EQ(socket_->end_output().status, Status::done);
  int end = -1;
  peer_reads(&end);
  EXPECT_EQ(end, 0);
  peer_sends("late");
  EXPECT_EQ(received(socket_->receive(buffer_)), "late");
}

TEST_P(SocketTest, a_peer_that_is_gone_breaks_it) {
  shake_hands();
  ::close(std::exchange(peer_, -1));
  // Plain, a close cannot be told from the end of a side; without a goodbye, TLS can.
  EXPECT_EQ(socket_->receive(buffer_).status, GetParam() ? Status::broken : Status::end);
  EXPECT_EQ(socket_->send("answer").status, Status::broken);
}

TEST_P(SocketTest, the_poller_tells_of_what_is_wanted_and_of_nothing_else) {
  shake_hands();
  socket_->receive(buffer_);
  Watched watched;
  const auto told = [&] {
    watched.count = 0;
    context_.restart();
    // Not poll(), which would go on as long as the poller tells.
    for (int handler = 0; handler < 3; ++handler) context_.poll_one();
    return watched.count > 0;
  };
  EXPECT_TRUE(socket_->watch(Want::input, watched));
  EXPECT_FALSE(told());
  EXPECT_TRUE(socket_->watch(Want::output, watched));
  EXPECT_TRUE(told());
  EXPECT_TRUE(socket_->watch(Want::input, watched));
  peer_sends("bytes");
  EXPECT_TRUE(told());
  EXPECT_TRUE(socket_->watch(Want::nothing, watched));
  EXPECT_FALSE(told());
  EXPECT_TRUE(socket_->watch(Want::input, watched));
  EXPECT_TRUE(told()) << "what is still there is told of again";
  socket_->close();
  EXPECT_FALSE(told());
}

TEST_P(SocketTest, a_peer_that_ends_its_side_without_a_word_still_gets_its_answer) {
  shake_hands();
  socket_->receive(buffer_);  // what TLS says after its handshake
  peer_sends("question");
  ASSERT_EQ(::shutdown(peer_, SHUT_WR), 0);
  EXPECT_EQ(received(socket_->receive(buffer_)), "question");
  EXPECT_EQ(socket_->receive(buffer_).status, Status::end);
  EXPECT_EQ(socket_->send("answer").bytes, 6U);
  EXPECT_EQ(peer_reads(), "answer");
}

TEST_P(SocketTest, the_end_of_the_peer_is_seen_before_what_is_unread_is_read) {
  shake_hands();
  socket_->receive(buffer_);  // what TLS says after its handshake
  EXPECT_FALSE(socket_->has_ended());
  peer_sends("question");
  EXPECT_FALSE(socket_->has_ended());
  ASSERT_EQ(::shutdown(peer_, SHUT_WR), 0);
  EXPECT_TRUE(socket_->has_ended());
  EXPECT_EQ(received(socket_->receive(buffer_)), "question");
  ::close(std::exchange(peer_, -1));
  EXPECT_TRUE(socket_->has_ended());
}

TEST(TlsSocketTest, what_is_not_tls_breaks_the_handshake) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  boost::asio::io_context context;
  Poller poller(context, *asio_timers(context));
  const auto tls = server_tls();
  const auto socket = tls_socket(poller, ends[0], *tls);
  EXPECT_EQ(socket->handshake().status, Status::again);
  ASSERT_EQ(::send(ends[1], "PING\r\nPING\r\n", 12, 0), 12);
  EXPECT_EQ(socket->handshake().status, Status::broken);
  // What else the peer has sent is read, or the kernel would send a reset, which can overtake the alert.
  EXPECT_EQ(socket->end_output().status, Status::done);
  ASSERT_EQ(::send(ends[1], "PING\r\n", 6, 0), 6);
  std::vector<char> buffer(65536);
  while (socket->unread() > 0) EXPECT_EQ(socket->receive(buffer).status, Status::done);
  EXPECT_EQ(socket->receive(buffer).status, Status::again);
  ::close(ends[1]);
}

}  // namespace
}  // namespace weir::net
