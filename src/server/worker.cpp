#include "server/worker.hpp"

#include <boost/asio/post.hpp>
#include <utility>

#include "http/conversation.hpp"
#include "resp/conversation.hpp"
#include "rls/conversation.hpp"
#include "store/reservations.hpp"

namespace weir::inline v0_1::server {

namespace {

std::unique_ptr<redis::SharedStore> shared_of(const Settings& settings, const service::Service& service,
                                              store::EmbeddedStore& embedded, redis::ProcessMemory* memory,
                                              waiting::House& house) {
  if (!settings.store) return nullptr;
  redis::SharedStore::Options options = settings.store_options;
  options.lease_parts = settings.threads;  // what a limit leases is a server's, whatever its loops are
  options.owed_changed = [&house](std::uint64_t hash) {
    const std::uint64_t place = store::Reservations::place_of(hash);
    house.queues.owed_changed(place);
    house.queues.slot_freed(place);
  };
  options.paused = [&house](std::uint64_t hash, std::chrono::nanoseconds end, bool afresh) {
    house.queues.paused(store::Reservations::place_of(hash), end, afresh);
  };
  return std::make_unique<redis::SharedStore>(*settings.store, options, embedded, *memory,
                                              service.options().clock);
}

// Connections stall by the real clock.
core::ClockFunction loop_clock(const service::Service& service) {
  return service.options().virtual_time ? store::steady_now : service.options().clock;
}

}  // namespace

Worker::Worker(std::size_t number, const Settings& settings, service::Service& service,
               store::EmbeddedStore& embedded, redis::ProcessMemory* memory, StoreStatus& status,
               waiting::House& house, rls::RlsCounts& rls_counts, net::LoopCounters& connections,
               WorldLinks world)
    : service_(service),
      embedded_(embedded),
      shared_(shared_of(settings, service, embedded, memory, house)),
      acquiring_(
          store(), house, service.options().clock, [this] { wake(); },
          [this] { boost::asio::post(loop_.context, [this] { advance(); }); }, shared_ == nullptr),
      counting_(service, shared_ == nullptr),
      resp_(service, store(), &acquiring_,
            [this] { boost::asio::post(loop_.context, [this] { resp_.ender.advance(); }); }),
      room_(service, store(), &acquiring_,
            [this](std::function<void()> call) { boost::asio::post(loop_.context, std::move(call)); }),
      rls_(service, store(), shared_ != nullptr, settings.rls_options, rls_counts,
           [this] { wake_for_holds(); }),
      loop_(number, loop_clock(service), settings.stall_timeout, connections, service.notices,
            world.make_timers) {
  const core::ClockFunction& clock = service.options().clock;
  acquiring_.look_for_askers(&service::Asking::has_gone);
  for (service::Asker* const each : {&resp_.asker, &room_.asker, &rls_.asker}) each->count_in(&counting_);
  for (service::HoldEnder* const each : {&resp_.ender, &rls_.holds.ender()}) {
    each->on_changed([this](const store::Request& request) {
      const auto set = service_.limits ? service_.limits->current() : nullptr;
      if (set && set->tracks()) counting_.count_change(request, *set, nullptr);
    });
  }
  if (!settings.store) return;
  link_.emplace(loop_, *shared_, settings, clock, status, std::move(world.open_connection));
  loop_.poller.set_brake({[this] { return shared_->client().room(); }, settings.store_options.deadline},
                         clock);
  if (number == 0) usage_.emplace(loop_, *shared_, settings.store->prefix, service.counting);
  link_->on_change([this] {
    loop_.poller.look_at_brake();
    watch_leases();
  });
}

std::unique_ptr<net::Conversation> Worker::converse(const net::Peer& peer, std::function<void()> resume,
                                                    steering::Role most) {
  return std::make_unique<resp::Conversation>(service_, resp_, peer, std::move(resume), &clients_, most);
}

std::unique_ptr<net::Conversation> Worker::converse_http(const net::Peer& peer, std::function<void()> resume,
                                                         steering::Role most) {
  return std::make_unique<http::Conversation>(service_, room_, peer, std::move(resume), most);
}

std::unique_ptr<net::Conversation> Worker::converse_rls(const net::Peer& peer, std::function<void()> resume) {
  return std::make_unique<rls::Conversation>(service_, rls_, peer, std::move(resume));
}

void Worker::forward(std::string request, net::Peer peer, steering::Role most,
                     std::function<void(http::Forwarded)> done) {
  boost::asio::post(loop_.context, [this, request = std::move(request), peer = std::move(peer), most,
                                    done = std::move(done)]() mutable {
    loop_.turn([&] { forwards_.begin(std::move(request), std::move(peer), most, std::move(done)); });
  });
}

store::Store& Worker::store() { return shared_ ? static_cast<store::Store&>(*shared_) : embedded_; }

// Asio's timers go by a timerfd, whose slack is 50 us however long they run; that of epoll's timeouts grows
// with them.
void Worker::wake() {
  const auto next = acquiring_.next_deadline();
  if (!next) return;
  const std::chrono::nanoseconds after = *next - service_.now();
  // In virtual time it is pass_time() that comes to a later one.
  if (after.count() <= 0 || !service_.options().virtual_time) next_moment_->set(after);
}

void Worker::advance() {
  loop_.turn([this] { acquiring_.advance(service_.now()); });
  wake();
}

// What acts frees room or moves others up, who then have their turn at the same moment.
void Worker::pass_time(std::chrono::nanoseconds by) {
  core::VirtualTime& time = *service_.options().virtual_time;
  const std::chrono::nanoseconds end = time.now() + by;
  const auto act = [this] {
    advance();
    advance();
  };
  act();
  for (auto next = acquiring_.next_deadline(); next && *next <= end; next = acquiring_.next_deadline()) {
    time.go_to(*next);
    act();
  }
  time.go_to(end);
  act();
}

void Worker::start_again(const std::function<void()>& forget) {
  loop_.turn([this] { acquiring_.end_all_after(service_.now()); });
  advance();
  counting_.forget();
  forget();
  service_.options().virtual_time->start_again();
  acquiring_.end_all_after(std::chrono::nanoseconds::max());
}

void Worker::wake_for_holds() {
  if (const auto next = rls_.holds.next()) next_end_->set(*next - service_.now());
}

void Worker::end_holds() {
  loop_.turn([this] { rls_.holds.end_due(service_.now()); });
  wake_for_holds();
}

void Worker::start() {
  loop_.start_sweeping();
  if (link_) link_->start();
  if (usage_) usage_->start();
}

void Worker::run() {
  start();
  loop_.context.run();
}

void Worker::use(boost::asio::ssl::context store_tls) {
  boost::asio::post(loop_.context, [this, tls = std::move(store_tls)]() mutable {
    if (link_) link_->use(std::move(tls));
  });
}

void Worker::judge_waiting() {
  if (judges_waiting_.exchange(true)) return;
  boost::asio::post(loop_.context, [this] {
    judges_waiting_ = false;
    acquiring_.judge_waiting(&service::Asking::judge);
    advance();
  });
}

void Worker::ask_store(std::string key, std::string command, std::chrono::nanoseconds patience,
                       std::function<void(const redis::Call::Result&)> told) {
  boost::asio::post(loop_.context, [this, key = std::move(key), command = std::move(command), patience,
                                    told = std::move(told)]() mutable {
    shared_->ask(key, std::move(command), patience, std::move(told));
  });
}

void Worker::drain(std::chrono::nanoseconds until) {
  boost::asio::post(loop_.context, [this, until] {
    acquiring_.end_all_after(until, &service::Asking::tell_the_end);
    loop_.drain();
  });
}

void Worker::hold() {
  loop_.hold();
  acquiring_.end_all_after(service_.now(), &service::Asking::tell_the_end);
  next_end_->stop();
}

bool Worker::is_settled() const { return loop_.is_settled() && resp_.ender.empty(); }

void Worker::go_on() {
  acquiring_.end_all_after(std::chrono::nanoseconds::max());
  wake_for_holds();
  loop_.go_on();
}

void Worker::let_end() {
  boost::asio::post(loop_.context, [this] {
    loop_.stop();
    next_moment_->stop();
    next_end_->stop();
    if (usage_) usage_->stop();
    end_store();
  });
}

// While there are leases they are looked at now and then, whether one has ended.
void Worker::watch_leases() {
  if (watches_leases_ || !shared_->has_leases()) return;
  watches_leases_ = true;
  leases_.start(std::chrono::milliseconds{100}, [this] {
    watches_leases_ = shared_->end_leases(false);
    if (!watches_leases_) leases_.stop();
  });
}

// What is left of leases is given back, which takes no longer than a deadline.
void Worker::end_store() {
  if (!link_) return;
  leases_.stop();
  watches_leases_ = true;
  if (usage_) usage_->flush();
  if (shared_->empty()) shared_->end_leases(true);
  if (shared_->empty() && resp_.ender.empty() && (!usage_ || usage_->empty())) return link_->stop();
  next_look_->set(std::chrono::milliseconds{1});
}

void Worker::make_end() { loop_.context.stop(); }

}  // namespace weir::server
