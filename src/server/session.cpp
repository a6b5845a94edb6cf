#include "server/session.hpp"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>

namespace weir::server {
namespace {

using boost::system::error_code;

// How long a connection that we have closed may take to close its side. Closing at once instead would send a
// reset, and a reset can overtake the last reply.
constexpr std::chrono::seconds kLinger{2};

}  // namespace

Session::Session(Loop& loop, Service& service, std::uint64_t id, std::string address)
    : loop_(loop),
      service_(service),
      front_(service, loop.pending, id, std::move(address), loop.store.get(), [this] {
        // Not here and now: this is called from the store's, or from our own, functions.
        asio::post(loop_.context, [weak = weak_from_this()] {
          if (const auto self = weak.lock()) self->resume();
        });
      }) {
  loop_.sessions.insert(this);
  if (!front_.trusted()) stalled_since_ = loop_.coarse_now;
}

Session::~Session() {
  loop_.sessions.erase(this);
  service_.counters.connections_now.fetch_sub(1, std::memory_order_relaxed);
}

Session::Moment Session::just_now() const {
  const std::chrono::nanoseconds now = service_.now();
  return {now, now};
}

void Session::take(std::string_view fresh, std::string& out, Moment when) {
  std::size_t used = 0;
  if (rest_.empty()) {
    used = front_.feed(fresh, out, when.arrived, when.now);
    if (used < fresh.size()) rest_.assign(fresh.substr(used));
  } else {
    rest_.append(fresh);
    used = front_.feed(rest_, out, when.arrived, when.now);
    rest_.erase(0, used);
    if (rest_.empty()) std::string().swap(rest_);
  }
  note_progress(used > 0, !rest_.empty());
}

void Session::note_progress(bool progress, bool waiting) {
  if (!waiting && front_.trusted()) {
    stalled_since_ = std::chrono::nanoseconds{0};
  } else if (stalled_since_ == std::chrono::nanoseconds{0} || (progress && front_.trusted())) {
    stalled_since_ = loop_.coarse_now;
  }
}

void Session::close_if_stalled() {
  if (stalled_since_ == std::chrono::nanoseconds{0}) return;
  const std::chrono::nanoseconds most = lingering_ ? kLinger : service_.settings.stall_timeout;
  if (loop_.coarse_now - stalled_since_ < most) return;
  if (!lingering_) service_.counters.connections_stalled.fetch_add(1, std::memory_order_relaxed);
  close();
}

namespace {

class PlainSession final : public Session, private Poller::Watched {
 public:
  PlainSession(Loop& loop, Service& service, int descriptor, std::uint64_t id, std::string address)
      : Session(loop, service, id, std::move(address)), descriptor_(descriptor) {}
  ~PlainSession() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  void start() override {
    if (loop_.poller.add(descriptor_, *this)) alive_ = shared_from_this();
  }

  void drain() override {
    if (lingering_) return close();
    draining_ = true;
    left_to_drain_ = waiting_in_kernel();
    if (!occupied_ && waiting_.empty() && !front_.waiting()) read();
  }

  void close() override {
    if (descriptor_ < 0) return;
    loop_.poller.remove(descriptor_);
    ::close(descriptor_);
    descriptor_ = -1;
    // Not here and now: this may be called from one of our own functions.
    asio::post(loop_.context, [alive = std::move(alive_)] {});
  }

 private:
  void on_ready() override {
    if (lingering_) return discard();
    if (occupied_) return;
    if (!waiting_.empty()) return write_waiting();
    if (front_.waiting()) return look_away();
    read();
  }

  // What recv says: a count, 0 at the end, -1 for nothing yet, -2 for a connection that is no more.
  ssize_t receive() {
    const ssize_t n = recv(descriptor_, loop_.read_buffer.data(), loop_.read_buffer.size(), 0);
    return n >= 0 || errno == EAGAIN || errno == EINTR ? n : -2;
  }
  ssize_t transmit(std::string_view bytes) {
    const ssize_t n = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return n >= 0 || errno == EAGAIN || errno == EINTR ? n : -2;
  }
  std::size_t waiting_in_kernel() const {
    int bytes = 0;
    return ioctl(descriptor_, FIONREAD, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
  }

  void read() {
    // A client that sends without pause gets this many turns before the others.
    constexpr int kTurns = 4;
    for (int turn = 0; turn < kTurns; ++turn) {
      const ssize_t received = receive();
      if (received == -2) return close();
      if (received == 0 || (received < 0 && draining_)) return finish();
      if (received < 0) return;
      const auto n = static_cast<std::size_t>(received);
      const bool full = n == loop_.read_buffer.size();
      std::string& out = loop_.replies;
      out.clear();
      take({loop_.read_buffer.data(), n}, out, arrival(n));
      if (!send(out)) return;
      // What comes after the signal to stop is not what had arrived.
      left_to_drain_ -= std::min(left_to_drain_, n);
      if (draining_ && (!full || left_to_drain_ == 0)) return finish();
      if (!full) return;
    }
    if (draining_) go_on(&PlainSession::read);
  }

  // Later, after the other connections of this loop.
  void go_on(void (PlainSession::*next)()) {
    occupied_ = true;
    asio::post(loop_.context, [this, alive = shared_from_this(), next] {
      occupied_ = false;
      if (descriptor_ >= 0) (this->*next)();
    });
  }

  // When the `n` bytes just read had all arrived. A client that sends faster than we read has its bytes
  // waiting in the kernel while we work; what was counted there after the last read is older than this one.
  // Never more than kPatience back: permissions that pile up behind a stall of ours are not to be handed out
  // all at once.
  Moment arrival(std::size_t n) {
    constexpr std::chrono::milliseconds kPatience{1};
    const std::chrono::nanoseconds now = service_.now();
    const bool waited = n <= waiting_bytes_;
    const std::chrono::nanoseconds arrived = waited ? std::max(waiting_since_, now - kPatience) : now;
    waiting_bytes_ = 0;
    if (n == loop_.read_buffer.size()) {
      waiting_bytes_ = waiting_in_kernel();
      waiting_since_ = now;
    }
    return {arrived, now};
  }

  // Writes replies. True when they are written and more may be read; otherwise what goes on has been
  // arranged.
  bool send(const std::string& out) {
    if (!out.empty()) {
      const ssize_t sent = transmit(out);
      if (sent == -2) {
        close();
        return false;
      }
      const auto n = static_cast<std::size_t>(std::max<ssize_t>(0, sent));
      if (n < out.size()) {
        waiting_.assign(out, n);
        written_ = 0;
        note_progress(true, true);
        loop_.poller.await_output(descriptor_, *this);
        return false;
      }
    }
    if (front_.closing()) {
      finish();
      return false;
    }
    if (front_.waiting()) return false;  // resume() goes on
    if (!front_.busy()) return true;
    go_on(&PlainSession::run_on);
    return false;
  }

  // While the store is asked nothing is read, and what cannot be read must not be told of again and again;
  // not even that the client has gone.
  void look_away() {
    loop_.poller.remove(descriptor_);
    looking_away_ = true;
  }

  void resume() override {
    if (descriptor_ < 0 || lingering_ || front_.waiting()) return;
    if (std::exchange(looking_away_, false) && !loop_.poller.add(descriptor_, *this)) return close();
    if (waiting_.empty()) run_on();
  }

  void run_on() {
    loop_.replies.clear();
    take({}, loop_.replies, just_now());
    if (send(loop_.replies) && draining_) read();
  }

  void write_waiting() {
    const ssize_t sent = transmit(std::string_view(waiting_).substr(written_));
    if (sent == -2) return close();
    if (sent > 0) {
      written_ += static_cast<std::size_t>(sent);
      note_progress(true, true);
    }
    if (written_ < waiting_.size()) return;
    std::string().swap(waiting_);
    note_progress(true, !rest_.empty());
    loop_.poller.await_input(descriptor_, *this);
    if (send("") && draining_) read();
  }

  void finish() {
    if (shutdown(descriptor_, SHUT_WR) != 0) return close();
    lingering_ = true;
    stalled_since_ = loop_.coarse_now;
    discard();
  }

  void discard() {
    for (int turn = 0; turn < 16; ++turn) {
      const ssize_t n = receive();
      if (n == -1 && !draining_) return;
      if (n <= 0) return close();
    }
    close();
  }

  int descriptor_;
  std::shared_ptr<Session> alive_;  // itself, until it is closed
  std::string waiting_;             // replies that the socket did not take at once
  std::size_t written_ = 0;
  std::size_t waiting_bytes_ = 0;  // seen in the kernel at waiting_since_
  std::chrono::nanoseconds waiting_since_{0};
  std::size_t left_to_drain_ = 0;
  bool occupied_ = false;  // a turn of ours is under way
  bool looking_away_ = false;
  bool draining_ = false;
};

class TlsSession final : public Session {
 public:
  TlsSession(Loop& loop, Service& service, asio::ssl::context& tls, Socket socket, std::uint64_t id,
             std::string address)
      : Session(loop, service, id, std::move(address)), stream_(std::move(socket), tls) {
    stalled_since_ = loop.coarse_now;  // the handshake is timed too
  }

  void start() override {
    stream_.async_handshake(asio::ssl::stream_base::server, [self = self()](const error_code& error) {
      if (error) return self->close();
      self->shaken_ = true;
      self->note_progress(true, false);
      self->read();
    });
  }

  // How much of what has arrived is still encrypted in a buffer is not to be seen from here, so it is what
  // comes within a tenth of a second.
  void drain() override {
    if (lingering_ || !shaken_) return close();
    draining_ = true;
    drained_.expires_after(std::chrono::milliseconds{100});
    drained_.async_wait([self = self()](const error_code& error) {
      if (!error && !self->writing_ && !self->front_.waiting()) self->finish();
    });
  }

  void close() override {
    error_code ignored;
    drained_.cancel(ignored);
    stream_.lowest_layer().close(ignored);
    // Not here and now: this may be called from one of our own functions.
    if (alive_) asio::post(loop_.context, [alive = std::move(alive_)] {});
  }

 private:
  static constexpr std::size_t kRecord = 4096;

  std::shared_ptr<TlsSession> self() { return std::static_pointer_cast<TlsSession>(shared_from_this()); }

  void read() {
    buffer_.resize(kRecord);
    stream_.async_read_some(asio::buffer(buffer_), [self = self()](const error_code& error, std::size_t n) {
      if (self->lingering_) return;
      if (error) return self->close();
      self->out_.clear();
      self->take({self->buffer_.data(), n}, self->out_, self->just_now());
      self->write();
    });
  }

  void write() {
    if (out_.empty()) return next();
    writing_ = true;
    note_progress(true, true);
    asio::async_write(stream_, asio::buffer(out_), [self = self()](const error_code& error, std::size_t) {
      self->writing_ = false;
      if (error) return self->close();
      self->note_progress(true, !self->rest_.empty());
      self->next();
    });
  }

  void resume() override {
    const auto alive = std::exchange(alive_, nullptr);
    if (!alive || lingering_ || front_.waiting() || writing_) return;
    out_.clear();
    take({}, out_, just_now());
    write();
  }

  void next() {
    if (front_.closing()) return finish();
    if (front_.waiting()) {
      alive_ = self();  // nothing else is under way until resume()
      return;
    }
    if (!front_.busy()) {
      if (draining_ && drained_.expiry() <= std::chrono::steady_clock::now()) return finish();
      return read();
    }
    asio::post(loop_.context, [self = self()] {
      self->out_.clear();
      self->take({}, self->out_, self->just_now());
      self->write();
    });
  }

  void finish() {
    lingering_ = true;
    stalled_since_ = loop_.coarse_now;
    drained_.expires_after(draining_ ? std::chrono::milliseconds{200} : kLinger);
    drained_.async_wait([self = self()](const error_code& error) {
      if (!error) self->close();
    });
    stream_.async_shutdown([self = self()](const error_code&) { self->close(); });
  }

  asio::ssl::stream<Socket> stream_;
  std::shared_ptr<TlsSession> alive_;  // itself, while it waits for the store
  std::vector<char> buffer_;
  std::string out_;
  asio::steady_timer drained_{loop_.context};
  bool shaken_ = false;  // the handshake is done
  bool writing_ = false;
  bool draining_ = false;
};

}  // namespace

std::shared_ptr<Session> make_session(Loop& loop, Service& service, int descriptor, std::uint64_t id,
                                      std::string address) {
  return std::make_shared<PlainSession>(loop, service, descriptor, id, std::move(address));
}

std::shared_ptr<Session> make_tls_session(Loop& loop, Service& service, asio::ssl::context& tls,
                                          Socket socket, std::uint64_t id, std::string address) {
  return std::make_shared<TlsSession>(loop, service, tls, std::move(socket), id, std::move(address));
}

}  // namespace weir::server
