#include "net/session.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace weir::inline v0_1::net {
namespace {

namespace asio = boost::asio;
using Status = Socket::Status;

// How long the peer may take to close its side after we have ended ours. Closing at once would send a reset,
// which can overtake the last reply.
constexpr std::chrono::seconds kLinger{2};

// How long the answer to a wrong guess is held back, and for how many connections at once: beyond that the
// answer comes at once, and the connection ends. Each is one that a right client cannot have.
constexpr std::chrono::seconds kGuessTakes{1};
constexpr std::uint64_t kMostDelayed = 1024;

// What a connection costs that keeps nothing: this object, its conversation, its places in sets and in the
// allocator. bench/connections.py measures it, 1.0 KiB, and the kernel's part is not ours to count.
constexpr std::size_t kConnection = 2048;

}  // namespace

std::shared_ptr<Session> Session::start(Loop& loop, std::unique_ptr<Socket> socket, Peer peer,
                                        const Protocol& protocol) {
  auto session = std::make_shared<Session>(loop, std::move(socket), std::move(peer), protocol);
  loop.sessions.insert(session);
  session->shake_hands();
  session->account();
  return session;
}

Session::Session(Loop& loop, std::unique_ptr<Socket> socket, Peer peer, const Protocol& protocol)
    : loop_(loop),
      socket_(std::move(socket)),
      peer_(std::move(peer)),
      protocol_(protocol),
      came_(loop.clock()),
      stalled_since_(came_) {
  if (protocol_.open != nullptr) protocol_.open->fetch_add(1, std::memory_order_relaxed);
}

Session::~Session() {
  loop_.counters.memory.leaving.fetch_sub(leaving_, std::memory_order_relaxed);
  loop_.counters.now.fetch_sub(1, std::memory_order_relaxed);
  if (protocol_.open != nullptr) protocol_.open->fetch_sub(1, std::memory_order_relaxed);
}

// The events. What each means depends on the state alone.

void Session::on_ready() {
  act();
  account();
}

void Session::act() {
  switch (state_) {
    case State::handshaking:
      return shake_hands();
    case State::reading:
      return read();
    case State::answering:
      if (ends_with_peer_) return ends_or_talks();
      [[fallthrough]];
    case State::delaying:
      // What is not to be read must not be told of again and again; not even that the client has gone. So one
      // that does not wait for a delayed answer still takes a place until it is due.
      return watch(Want::nothing);
    case State::writing:
      return write_rest();
    case State::ending:
      return end_output();
    case State::lingering:
      return discard();
    case State::yielding:
    case State::closed:
      return;
  }
}

// It has ended its side, or has sent what is not to be read yet: then only the end is told from now on.
void Session::ends_or_talks() { socket_->watching() == Want::end ? close() : watch(Want::end); }

void Session::on_turn() {
  if (state_ != State::yielding) return;
  state_ = State::reading;
  if (conversation_->busy()) {
    const std::chrono::nanoseconds now = loop_.clock();
    converse({}, {now, now});
  }
  if (state_ == State::reading) read();
  account();
}

void Session::on_answers() {
  // While writing: what comes next is written when that is done.
  const bool listens = state_ == State::reading && conversation_->busy();
  if (!listens && (state_ != State::answering || conversation_->waiting())) return;
  state_ = State::reading;
  speak();
}

// What it has to say without being asked.
void Session::speak() {
  const std::chrono::nanoseconds now = loop_.clock();
  converse({}, {now, now});
  if (state_ == State::reading) expect_input();
  account();
}

void Session::look_at_time(std::chrono::nanoseconds now) {
  if (state_ == State::delaying) {
    if (now - delayed_since_ < kGuessTakes) return;
    end_delay();
  }
  if (state_ == State::reading && loop_.holds()) return;
  if (conversation_) conversation_->look_at_time(now);
  if (state_ == State::reading && conversation_->busy()) speak();
  // What the server takes its time for is answered first.
  if (state_ == State::closed || state_ == State::answering || state_ == State::delaying ||
      stalled_since_ == std::chrono::nanoseconds{0})
    return;
  const bool ended = state_ == State::ending || state_ == State::lingering;
  if (now - stalled_since_ < (ended ? kLinger : loop_.stall_timeout)) return;
  if (!ended) {
    loop_.counters.stalled.fetch_add(1, std::memory_order_relaxed);
    loop_.notices.tell(core::Notice::stalled, peer_.address);
    if (state_ == State::reading && !rest_.empty() && !protocol_.stalled.empty()) return tell_of_stall();
  }
  close();
}

void Session::tell_of_stall() {
  std::string().swap(rest_);
  conversation_.reset();
  socket_->send(protocol_.stalled);
  finish();
  account();
}

void Session::drain() {
  if (state_ == State::closed || cut_ || handed_over_) return;
  if (state_ == State::handshaking || state_ == State::ending || state_ == State::lingering) return close();
  say_goodbye();
  if (says_goodbye_) return;
  draining_ = true;
  left_to_drain_ = socket_->unread();
  if (state_ == State::delaying) end_delay();
  if (state_ == State::reading) read();
}

void Session::say_goodbye() {
  if (!conversation_ || says_goodbye_) return;
  says_goodbye_ = conversation_->say_goodbye();
  if (says_goodbye_ && state_ == State::reading) speak();
}

bool Session::is_settled() const {
  switch (state_) {
    case State::answering:
    case State::writing:
    case State::yielding:
      return false;
    case State::reading:
      return !conversation_->busy() && !conversation_->owes();
    default:
      return true;
  }
}

std::optional<HandedOver> Session::hand_over() {
  const int descriptor = socket_->plain_descriptor();
  if (state_ != State::reading || draining_ || says_goodbye_ || descriptor < 0) return std::nullopt;
  if (conversation_->unfinished() || conversation_->busy() || conversation_->owes()) return std::nullopt;
  std::optional<std::string> state = conversation_->hand_over();
  if (!state) return std::nullopt;
  watch(Want::nothing);
  handed_over_ = true;
  return HandedOver{shared_from_this(), descriptor, peer_, protocol_.name, *std::move(state), rest_};
}

void Session::go_on() {
  handed_over_ = false;
  if (state_ == State::reading) yield();
}

bool Session::take_over(std::string_view state, std::string rest) {
  if (!conversation_->take_over(state)) return false;
  rest_ = std::move(rest);
  note_progress(true, owing(), loop_.clock());
  account();
  return true;
}

void Session::leave() {
  if (state_ == State::closed) return;
  conversation_->leave();
  close();
}

void Session::cut() {
  if (state_ == State::closed || state_ == State::ending || state_ == State::lingering || handed_over_)
    return;
  cut_ = draining_ = true;
  left_to_drain_ = 0;
  if (state_ == State::handshaking) return close();
  if (says_goodbye_ && conversation_) conversation_->take_no_more();
  if (state_ != State::reading && state_ != State::yielding) return;
  state_ = State::reading;
  conversation_->busy() && says_goodbye_ ? speak() : finish();
}

// Says why, where that can be understood, and frees what it kept before anything else happens.
void Session::close_for_memory() {
  loop_.counters.memory.closed.fetch_add(1, std::memory_order_relaxed);
  loop_.notices.tell(core::Notice::client_memory, peer_.address,
                     std::to_string(charge_.sum() >> 10) + " KiB");
  if (handed_over_) return close();
  const bool between_replies =
      state_ == State::reading || state_ == State::answering || state_ == State::yielding;
  if (!between_replies) return close();
  std::string().swap(rest_);
  conversation_.reset();
  socket_->send(protocol_.too_large);
  finish();
  account();
}

void Session::close() {
  const State before = std::exchange(state_, State::closed);
  if (before == State::closed) return;
  if (before == State::delaying) loop_.counters.delayed.fetch_sub(1, std::memory_order_relaxed);
  leaving_ = charge_.sum();
  loop_.counters.memory.leaving.fetch_add(leaving_, std::memory_order_relaxed);
  account();
  socket_->close();
  // Not here and now: this may be called from one of our own functions.
  const auto self = shared_from_this();
  asio::post(loop_.context, [self] {});
  loop_.sessions.erase(self);
}

// What each state does.

void Session::shake_hands() {
  const Socket::Outcome shaken = socket_->handshake();
  if (shaken.status == Status::again) return watch(shaken.want);
  // Not closed at once: a reset would overtake the alert that says why.
  if (shaken.status != Status::done) {
    tell_of_refusal();
    return finish();
  }
  peer_.certificate = socket_->peer_certificate();
  // The conversation is ours, so it calls nothing after our end.
  conversation_ = protocol_.converse(loop_, peer_, [this] { loop_.resume(weak_from_this()); });
  conversation_->look_for_peer([this] { return has_gone(); });
  note_progress(true, false, loop_.clock());
  state_ = State::reading;
  watch(Want::input);
}

void Session::tell_of_refusal() {
  const Socket::HandshakeFailure refusal = socket_->refusal();
  if (refusal.plain) return loop_.notices.tell(core::Notice::plain_client, peer_.address);
  if (!refusal.why.empty()) loop_.notices.tell(core::Notice::tls_refused, peer_.address, refusal.why);
}

void Session::read() {
  if (loop_.holds() && !draining_) return watch(Want::nothing);
  // A client that sends without pause gets this many turns before the others.
  constexpr int kTurns = 4;
  for (int turn = 0; turn < kTurns; ++turn) {
    // Bytes that come after the signal to stop do not count as arrived.
    if (draining_ && left_to_drain_ == 0) return end_drained();
    const Socket::Outcome got = socket_->receive(loop_.read_buffer);
    if (got.status == Status::broken) return close();
    if (got.status == Status::end) return finish();
    if (got.status == Status::again) return draining_ ? end_drained() : watch(got.want);
    left_to_drain_ -= std::min(left_to_drain_, got.taken);
    converse({loop_.read_buffer.data(), got.bytes}, arrival(got));
    if (state_ != State::reading) return;
    if (!got.more) return draining_ ? end_drained() : watch(Want::input);
    // No further until the largest holders have been closed: one of them may be this.
    account();
    if (loop_.counters.memory.over()) break;
  }
  yield();
}

// Runs what has come so far, and sends the replies. The state is `reading` afterwards when more may be read.
void Session::converse(std::string_view fresh, Arrival when) {
  std::string& out = loop_.replies;
  out.clear();
  const std::size_t used = feed(fresh, out, when);
  note_progress(used > 0, owing(), when.now);
  conversation_->late() ? delay(out, when.now) : write(out);
}

// The peer is to send the rest of something.
bool Session::owing() const { return !rest_.empty() || conversation_->unfinished(); }

std::size_t Session::feed(std::string_view fresh, std::string& out, Arrival when) {
  if (rest_.empty()) {
    const std::size_t used = conversation_->feed(fresh, out, when);
    if (used < fresh.size()) rest_.assign(fresh.substr(used));
    return used;
  }
  rest_.append(fresh);
  const std::size_t used = conversation_->feed(rest_, out, when);
  // Not erase(), which would keep the memory of all that was read.
  if (used > 0) std::string(rest_, used).swap(rest_);
  return used;
}

void Session::delay(std::string_view out, std::chrono::nanoseconds now) {
  std::atomic<std::uint64_t>& delayed = loop_.counters.delayed;
  if (delayed.fetch_add(1, std::memory_order_relaxed) >= kMostDelayed || draining_) {
    delayed.fetch_sub(1, std::memory_order_relaxed);
    if (!out.empty()) socket_->send(out);
    return finish();
  }
  loop_.hurry();
  untaken_.assign(out);
  delayed_since_ = now;
  state_ = State::delaying;
  if (conversation_->trusted()) stalled_since_ = std::chrono::nanoseconds{0};
}

void Session::end_delay() {
  loop_.counters.delayed.fetch_sub(1, std::memory_order_relaxed);
  state_ = State::reading;
  write(std::exchange(untaken_, {}));
  if (state_ == State::reading) expect_input();
  account();
}

void Session::write(std::string_view out) {
  if (out.empty()) return answered();
  const Socket::Outcome sent = socket_->send(out);
  if (sent.status == Status::broken) return close();
  if (sent.bytes == out.size()) return answered();
  untaken_.assign(out.substr(sent.bytes));
  written_ = 0;
  state_ = State::writing;
  note_progress(true, true, loop_.clock());
  watch(sent.want);
}

void Session::write_rest() {
  const Socket::Outcome sent = socket_->send(std::string_view(untaken_).substr(written_));
  if (sent.status == Status::broken) return close();
  written_ += sent.bytes;
  if (sent.bytes > 0) note_progress(true, true, loop_.clock());
  if (written_ < untaken_.size()) return watch(sent.want);
  std::string().swap(untaken_);
  note_progress(true, owing(), loop_.clock());
  answered();
  if (state_ == State::reading) expect_input();
}

// After the replies are written.
void Session::answered() {
  if (conversation_->closing() || cut_) return finish();
  if (conversation_->waiting()) {
    state_ = State::answering;
    // A slow store is not a stall of the peer.
    if (conversation_->trusted()) stalled_since_ = std::chrono::nanoseconds{0};
    ends_with_peer_ = conversation_->ends_with_peer();
    // Few send more while they wait, so what it watches for mostly stays: two system calls less.
    if (ends_with_peer_ && socket_->watching() != Want::input) watch(Want::end);
    return;
  }
  if (conversation_->busy()) return yield();
  state_ = State::reading;
}

void Session::expect_input() {
  if (draining_) return read();
  watch(Want::input);
}

void Session::yield() {
  state_ = State::yielding;
  asio::post(loop_.context, [self = shared_from_this()] { self->on_turn(); });
}

// Nothing more is read.
void Session::end_drained() { conversation_->owes() ? watch(Want::nothing) : finish(); }

// What its peer had by being connected ends here; it may take a while to close its side.
void Session::finish() {
  conversation_.reset();
  state_ = State::ending;
  stalled_since_ = loop_.clock();
  end_output();
}

void Session::end_output() {
  const Socket::Outcome told = socket_->end_output();
  if (told.status == Status::again) return watch(told.want);
  if (told.status != Status::done) return close();
  state_ = State::lingering;
  discard();
}

void Session::discard() {
  constexpr int kTurns = 16;
  for (int turn = 0; turn < kTurns; ++turn) {
    const Socket::Outcome got = socket_->receive(loop_.read_buffer);
    if (got.status == Status::again && !draining_ && !says_goodbye_) return watch(got.want);
    if (got.status != Status::done) return close();
  }
  close();
}

// When the bytes just read had all arrived. A client that sends faster than we read has its bytes waiting in
// the kernel while we work; what was counted there after the last read is older than this one. Never more
// than kPatience back: permissions that pile up during a stall of ours are not to be handed out all at once.
Arrival Session::arrival(const Socket::Outcome& got) {
  constexpr std::chrono::milliseconds kPatience{1};
  const std::chrono::nanoseconds now = loop_.clock();
  const bool waited = got.taken <= unread_;
  const std::chrono::nanoseconds arrived = waited ? std::max(unread_since_, now - kPatience) : now;
  unread_ = got.more ? socket_->unread() : 0;
  unread_since_ = now;
  return {arrived, now};
}

void Session::watch(Want want) {
  if (state_ == State::reading && loop_.holds()) want = Want::nothing;
  if (!socket_->watch(want, *this)) close();
}

// `owing`: the peer is to send the rest of a message, or to take its replies. One that is not trusted has
// until the timeout after it came, whatever it does.
void Session::note_progress(bool progress, bool owing, std::chrono::nanoseconds now) {
  const bool trusted = conversation_->trusted();
  if (!owing && trusted) {
    stalled_since_ = std::chrono::nanoseconds{0};
  } else if (stalled_since_ == std::chrono::nanoseconds{0} || (progress && trusted)) {
    stalled_since_ = now;
  }
}

void Session::account() {
  const bool open = state_ != State::closed;
  const std::size_t kept =
      rest_.capacity() + untaken_.capacity() + socket_->kept() + (conversation_ ? conversation_->kept() : 0);
  // After nearly every request: it keeps nothing to speak of, as before.
  if (open && kept <= MemoryCharge::kFree && charge_.beyond == 0 && charge_.rest != 0) return;
  MemoryCharge now;
  const std::size_t at_rest = socket_->at_rest() + (conversation_ ? protocol_.at_rest : 0);
  if (open) now = {.rest = kConnection + at_rest, .beyond = MemoryCharge::steps(kept)};
  if (now == charge_) return;
  if (charge_.beyond == 0) keeps_since_ = loop_.clock();
  loop_.charge(*this, keeps_since_, charge_, now);
  charge_ = now;
}

ClientInfo Session::client() const {
  const std::chrono::nanoseconds now = loop_.clock();
  ClientInfo client{.peer = peer_,
                    .age = now - came_,
                    .idle = now - last_heard(),
                    .memory = charge_.sum(),
                    .input = rest_.size(),
                    .output = untaken_.size() - std::min(untaken_.size(), written_)};
  if (conversation_) conversation_->describe(client);
  return client;
}

}  // namespace weir::net
