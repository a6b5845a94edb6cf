#include "server/session.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

namespace weir::server {
namespace {

using boost::system::error_code;

// How long a connection that we have closed may take to close its side. Closing at once instead would send a
// reset, and a reset can overtake the last reply.
constexpr std::chrono::seconds kLinger{2};

bool would_block(const error_code& error) {
  return error == asio::error::would_block || error == asio::error::try_again;
}

}  // namespace

Session::Session(Loop& loop, Service& service, std::uint64_t id, std::string address)
    : loop_(loop), service_(service), front_(service, loop.pending, id, std::move(address)) {
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

class PlainSession final : public Session {
 public:
  PlainSession(Loop& loop, Service& service, Socket socket, std::uint64_t id, std::string address)
      : Session(loop, service, id, std::move(address)), socket_(std::move(socket)) {
    error_code ignored;
    socket_.non_blocking(true, ignored);
  }

  void start() override { await_input(); }

  void drain() override {
    if (lingering_) return close();
    draining_ = true;
    error_code ignored;
    left_to_drain_ = socket_.available(ignored);
    if (occupied_) return;  // its end goes on
    if (!reading_) return read(0);
    // The read that waits may already have bytes: its handler goes on with them or with none.
    socket_.cancel(ignored);
  }

  void close() override {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  std::shared_ptr<PlainSession> self() { return std::static_pointer_cast<PlainSession>(shared_from_this()); }

  // A read into a little buffer of the connection's own, not a wait: for a wait Asio tells the kernel anew
  // each time what it waits for, and at one request a packet that system call is a tenth of all work.
  void await_input() {
    reading_ = true;
    socket_.async_read_some(asio::buffer(first_), [self = self()](const error_code& error, std::size_t n) {
      self->reading_ = false;
      if (self->lingering_) return error ? self->close() : self->discard();
      if (error == asio::error::eof) return self->finish();
      if (error && !self->draining_) return self->close();
      self->read(n);
    });
  }

  // Reads on from the `n` bytes in first_, runs all, answers.
  void read(std::size_t n) {
    std::copy_n(first_.data(), n, loop_.read_buffer.data());
    bool more = n == 0 || n == first_.size() || draining_;
    bool ended = false;
    // A client that sends without pause gets this many turns before the others.
    constexpr int kTurns = 4;
    for (int turn = 0; turn < kTurns; ++turn) {
      bool full = false;
      if (more) {
        error_code error;
        const std::size_t fresh = socket_.read_some(asio::buffer(loop_.read_buffer) + n, error);
        if (error && !would_block(error) && error != asio::error::eof) return close();
        ended = error == asio::error::eof;
        n += error ? 0 : fresh;
        full = n == loop_.read_buffer.size();
        if (n == 0) return ended || draining_ ? finish() : await_input();
      }
      // What comes after the signal to stop is not what had arrived.
      left_to_drain_ -= std::min(left_to_drain_, n);
      ended = ended || (draining_ && (!full || left_to_drain_ == 0));
      std::string& out = loop_.replies;
      out.clear();
      take({loop_.read_buffer.data(), n}, out, arrival(n));
      if (!send(out)) return;
      if (ended) return finish();
      if (!full) return await_input();
      n = 0;
      more = true;
    }
    go_on([](PlainSession& self) { self.read(0); });
  }

  // Later, after the other connections of this loop.
  template <class Next>
  void go_on(Next next) {
    occupied_ = true;
    asio::post(loop_.context, [self = self(), next] {
      self->occupied_ = false;
      next(*self);
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
      error_code ignored;
      waiting_bytes_ = socket_.available(ignored);
      waiting_since_ = now;
    }
    return {arrived, now};
  }

  // Writes replies. True when they are written and more may be read; otherwise what goes on has been
  // arranged.
  bool send(std::string& out) {
    if (!out.empty()) {
      error_code error;
      const std::size_t n = socket_.write_some(asio::buffer(out), error);
      if (error && !would_block(error)) {
        close();
        return false;
      }
      if (n < out.size()) {
        waiting_.assign(out, n);
        written_ = 0;
        await_output();
        return false;
      }
    }
    if (front_.closing()) {
      finish();
      return false;
    }
    if (!front_.busy()) return true;
    go_on([](PlainSession& self) { self.run_on(); });
    return false;
  }

  void run_on() {
    loop_.replies.clear();
    take({}, loop_.replies, just_now());
    if (send(loop_.replies)) read(0);
  }

  void await_output() {
    occupied_ = true;
    note_progress(true, true);
    socket_.async_wait(Socket::wait_write, [self = self()](const error_code& error) {
      self->occupied_ = false;
      if (!error) self->write_waiting();
    });
  }

  void write_waiting() {
    error_code error;
    const std::size_t n =
        socket_.write_some(asio::buffer(waiting_.data() + written_, waiting_.size() - written_), error);
    if (error && !would_block(error)) return close();
    written_ += n;
    if (written_ < waiting_.size()) return await_output();
    std::string().swap(waiting_);
    note_progress(true, !rest_.empty());
    loop_.replies.clear();
    if (send(loop_.replies)) read(0);
  }

  void finish() {
    error_code error;
    socket_.shutdown(Socket::shutdown_send, error);
    if (error) return close();
    lingering_ = true;
    stalled_since_ = loop_.coarse_now;
    discard();
  }

  void discard() {
    for (int turn = 0; turn < 16; ++turn) {
      error_code error;
      socket_.read_some(asio::buffer(loop_.read_buffer), error);
      if (would_block(error)) return draining_ ? close() : await_input();
      if (error) return close();
    }
    close();
  }

  Socket socket_;
  std::array<char, 2048> first_;
  std::string waiting_;  // replies that the socket did not take at once
  std::size_t written_ = 0;
  std::size_t waiting_bytes_ = 0;  // seen in the kernel at waiting_since_
  std::chrono::nanoseconds waiting_since_{0};
  std::size_t left_to_drain_ = 0;
  bool reading_ = false;
  bool occupied_ = false;  // a write, or a turn of ours, is under way
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
      if (!error && !self->writing_) self->finish();
    });
  }

  void close() override {
    error_code ignored;
    drained_.cancel(ignored);
    stream_.lowest_layer().close(ignored);
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

  void next() {
    if (front_.closing()) return finish();
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
  std::vector<char> buffer_;
  std::string out_;
  asio::steady_timer drained_{loop_.context};
  bool shaken_ = false;  // the handshake is done
  bool writing_ = false;
  bool draining_ = false;
};

}  // namespace

std::shared_ptr<Session> make_session(Loop& loop, Service& service, Socket socket, std::uint64_t id,
                                      std::string address) {
  return std::make_shared<PlainSession>(loop, service, std::move(socket), id, std::move(address));
}

std::shared_ptr<Session> make_tls_session(Loop& loop, Service& service, asio::ssl::context& tls,
                                          Socket socket, std::uint64_t id, std::string address) {
  return std::make_shared<TlsSession>(loop, service, tls, std::move(socket), id, std::move(address));
}

}  // namespace weir::server
