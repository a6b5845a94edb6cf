#include "server/server.hpp"

#include <malloc.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/packed.hpp"
#include "core/random.hpp"
#include "grpc/connection.hpp"
#include "http/problem.hpp"
#include "net/dispatcher.hpp"
#include "redis/overrides_script.hpp"
#include "rls/stats_names.hpp"
#include "server/admin.hpp"
#include "server/aside.hpp"
#include "server/audit_log.hpp"
#include "server/certificates.hpp"
#include "server/event_sinks.hpp"
#include "server/every.hpp"
#include "server/file_changes.hpp"
#include "server/limits_file.hpp"
#include "server/limits_watch.hpp"
#include "server/listeners.hpp"
#include "server/local_watch.hpp"
#include "server/metrics.hpp"
#include "server/notice_lines.hpp"
#include "server/overrides.hpp"
#include "server/reload.hpp"
#include "server/service_manager.hpp"
#include "server/shutdown.hpp"
#include "server/snapshots.hpp"
#include "server/store_answer.hpp"
#include "server/takeover_facts.hpp"
#include "server/takeover_giver.hpp"
#include "server/takeover_taker.hpp"
#include "server/watch.hpp"
#include "server/worker.hpp"
#include "server/xds_source.hpp"
#include "service/decision_metrics.hpp"
#include "service/service.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1::server {
namespace {

void raise_descriptor_limit(std::size_t connections) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < connections + 64) {
    spdlog::warn("the system allows {} open files, fewer than --max-connections {} needs", limit.rlim_cur,
                 connections);
  }
}

// What connections made the server keep is the system's again once it is freed. glibc would raise both
// thresholds to what was freed last, up to 64 MiB, and keep that much for each of up to eight arenas a core;
// given once, they stay (mallopt(3)). A buffer of that size is rare enough for a system call of its own.
void give_memory_back(std::size_t threads) {
  constexpr int kAtOnce = 128 << 10;
  mallopt(M_MMAP_THRESHOLD, kAtOnce);
  mallopt(M_TRIM_THRESHOLD, kAtOnce);
  mallopt(M_ARENA_MAX, static_cast<int>(threads) + 1);
}

// Certificates are read again at a signal, and when their files have changed; the log says which.
constexpr const char* kSignal = "SIGHUP";
constexpr const char* kChanged = "new files";
constexpr std::chrono::seconds kLookAtCertificates{10};
constexpr std::chrono::milliseconds kLookForLimits{20};

// How long a takeover waits for answers that are due, beside those of a store.
constexpr std::chrono::milliseconds kOverdueAnswers{30};

// What the program itself keeps resident, connections apart: --memory is to be what the operator sees.
constexpr std::size_t kProgramBytes = 8_MiB;

std::size_t table_bytes(std::size_t memory) {
  return memory > kProgramBytes + store::Table::kLeastBytes ? memory - kProgramBytes
                                                            : store::Table::kLeastBytes;
}

service::ServiceOptions options_from(const Settings& settings, const std::optional<TakeoverTaker>& taker) {
  service::ServiceOptions options{
      .user = settings.user,
      .password = settings.password,
      .http_token = settings.http_token,
      .host_names = settings.admin_names,
      .on_store_error = settings.on_store_error,
      .sharing = settings.store_sharing,
      .max_wait = settings.max_wait,
      .max_waiters = settings.max_waiters,
      .max_overdraft = settings.max_overdraft,
      .allow_refunds = settings.allow_refunds,
      .headers = settings.headers,
      .store_deadline = settings.store
                            ? std::chrono::ceil<std::chrono::milliseconds>(settings.store_options.deadline)
                            : std::chrono::milliseconds{0},
      .counting = {.top = {.entries = settings.top, .sample = settings.top_sample},
                   .hashes = settings.top_hash,
                   .track_memory = settings.track_memory},
      .threads = settings.threads,
      .memory = settings.memory,
      .max_connections = settings.max_connections,
      .snapshots = !settings.snapshot.empty(),
      .allow_shutdown = settings.allow_shutdown,
      .commit = settings.commit};
  if (taker) options.wall_ahead = taker->wall_ahead();
  if (settings.virtual_now) {
    const auto time = std::make_shared<core::VirtualTime>(*settings.virtual_now);
    options.clock = [time] { return time->now(); };
    options.wall_clock = [time] { return time->wall_now(); };
    options.virtual_time = time;
  }
  return options;
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

class Server::Impl {
 public:
  explicit Impl(const Settings& settings)
      : taker_(TakeoverTaker::begin(settings, names_of(handed_parts()))),
        settings_(taker_ ? taker_->settings(settings) : settings),
        snapshot_(taker_ ? take_over_snapshot(settings_, taker_->lock()) : open_snapshot(settings_)),
        embedded_(std::in_place, table_bytes(settings_.memory), settings_.when_full,
                  taker_           ? taker_->seed()
                  : snapshot_.file ? snapshot_.file->seed()
                                   : core::random_key(),
                  settings_.reservation_memory, core::random_key, settings_.penalty_memory),
        memory_(settings_.store ? std::make_unique<redis::ProcessMemory>(settings_.denial_memory) : nullptr),
        service_(options_from(settings_, taker_), embedded().table()) {
    give_memory_back(settings_.threads);
    link_service();
    open_rules();
    settings_.rls_options.healthy = [this] { return why_not_healthy().empty(); };
    std::vector<net::Loop*> loops;
    for (std::size_t i = 0; i < settings_.threads; ++i) {
      workers_.push_back(std::make_unique<Worker>(i, settings_, service_, embedded(), memory_.get(),
                                                  store_status_, house_, rls_counts_, connections_));
      loops.push_back(&workers_.back()->loop());
    }
    if (service_.limits) service_.limits->ruling.changed = [this] { judge_waiting(); };
    watch_embedded();
    connections_.memory.most = settings_.client_memory;
    add_rows();
    service_.notices.sink = write_notice;
    if (settings_.virtual_now) serve_tests();
    await_limits();
    if (!settings_.admin.empty() || settings_.ratelimit)
      admin_ = std::make_unique<Admin>(settings_, service_, admin_links());
    if (admin_ && !taker_) admin_->start();
    dispatcher_ =
        std::make_unique<net::Dispatcher>(std::move(loops), settings_.max_connections, connections_);
    listeners_ = std::make_unique<Listeners>(
        main_context(), settings_, [this](auto most) { return resp(most); },
        [this](auto most) { return http(most); }, [this](auto) { return rls(); }, service_.notices);
    if (snapshot_.file) restore(std::move(*snapshot_.file), settings_, embedded(), service_.now());
    snapshot_.file.reset();
    raise_descriptor_limit(settings_.max_connections);
    // Before the addresses are printed: a signal that comes from then on ends in order.
    shutdown_ = std::make_unique<Shutdown>(main_context(), settings_.drain_grace, shutdown_steps());
    reload_ = std::make_unique<Reload>(main_context(), [this] { reload(); });
    watch_ = std::make_unique<Watch>(main_timers(), embedded().table(), service_.notices);
    if (settings_.local)
      local_watch_ = std::make_unique<LocalWatch>(main_timers(), settings_.unix_socket, *settings_.local,
                                                  connections_, [this](const std::string& why) {
                                                    spdlog::info("ends: {}", why);
                                                    service_.process.shut_down(false);
                                                  });
    warn_of_dates(settings_);
    std::vector<boost::asio::io_context*> contexts;
    for (const auto& worker : workers_) contexts.push_back(&worker->loop().context);
    manager_ = std::make_unique<ServiceManager>(main_timers(), std::move(contexts));
    if (!settings_.takeover.empty()) take_charge();
  }

  std::vector<std::string> addresses() const {
    std::vector<std::string> all = listeners_->addresses();
    if (admin_) all.insert(all.end(), admin_->addresses().begin(), admin_->addresses().end());
    return all;
  }

  bool run() {
    shutdown_->start();
    reload_->start();
    watch_->start();
    if (local_watch_) local_watch_->start();
    listeners_->start(*dispatcher_);
    if (admin_ && taker_) admin_->start();  // it has been another's until now
    manager_->ready();
    aside_ = std::make_unique<Aside>();
    certificates_seen_ = stamps_of_certificates(settings_);
    if (certificates_seen_.find(',') != std::string::npos)
      look_at_certificates_.emplace(main_timers()).start(kLookAtCertificates, [this] {
        look_at_certificates();
      });
    if (service_.limits) {
      limits_watch_ = std::make_unique<LimitsWatch>(*service_.limits);
      service_.read_limits = [this](auto what, auto told) { limits_watch_->ask(what, std::move(told)); };
    }
    if (service_.overrides) overrides_ = std::make_unique<OverridesThread>(service_, main_timers());
    if (xds_source_) {
      start_xds();
    } else if (service_.descriptors) {
      descriptors_watch_ = std::make_unique<LimitsWatch>(*service_.descriptors);
    }
    if (service_.users) users_watch_ = std::make_unique<LimitsWatch>(*service_.users);
    SnapshotWriter snapshots(settings_, embedded(), service_.counters);
    service_.process.save_soon = [&snapshots] { snapshots.save_soon(); };
    service_.process.last_saved = [&snapshots] {
      return std::chrono::floor<std::chrono::seconds>(snapshots.last_saved().time_since_epoch());
    };
    stage_.store(Stage::serving, std::memory_order_release);
    if (giver_) giver_->start(in_charge(snapshots));
    if (taker_) taker_->tell(service_.now());
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < workers_.size(); ++i)
      threads.emplace_back([&worker = *workers_[i]] { worker.run(); });
    workers_.front()->run();
    for (std::thread& thread : threads) thread.join();
    giver_.reset();
    limits_watch_.reset();
    descriptors_watch_.reset();
    users_watch_.reset();
    xds_source_.reset();
    overrides_.reset();
    aside_.reset();
    admin_.reset();  // its metrics read what ends with this call
    service_.logins.stop();
    for (const auto& worker : workers_) worker->loop().close_sessions();  // those that did not end in time
    watch_->look();
    snapshots.stop();
    return !save_at_end_ || snapshots.save();
  }

 private:
  // What the TLS files say now.
  struct Certificates {
    Listeners::Tls ours;
    std::vector<boost::asio::ssl::context> of_the_store;  // one for each loop
  };

  // What the service asks of the rest of the process, and tells it.
  void link_service() {
    service_.operators.record = [this](steering::OperatorChange change, std::function<void(bool)> done) {
      audit_.record(std::move(change), std::move(done));
    };
    service_.operators.recorded = [this](std::size_t most) { return audit_.latest(most); };
    service_.operators.records_later = audit_.waits();
    service_.operators.tell = [this](const steering::OperatorEvent& event) { events_.tell(event); };
    service_.operators.wants_events.store(events_.any());
    store_status_.on_turn = [this](const std::string& why) {
      using What = steering::OperatorEvent::What;
      store_turned_at_.store(service_.wall_now().count(), std::memory_order_relaxed);
      events_.tell({.what = why.empty() ? What::store_back : What::store_failed, .reason = why});
    };
    service_.series = std::make_unique<service::DecisionSeries>();
    service_.process.status = [this] { return status(); };
    service_.process.shut_down = [this](bool save) {
      boost::asio::post(main_context(), [this, save] {
        save_at_end_ = save_at_end_ && save;
        shutdown_->begin();
      });
    };
  }
  void open_rules() {
    service_.limits = open_limits(settings_, service_, limits_text_.get());
    service_.users = open_users(settings_, service_);
    if (service_.users) service_.logins.use(*service_.users);
    service_.overrides = open_overrides(settings_, service_, asks_store_for_overrides());
    service_.descriptors = open_descriptors(settings_, service_);
    if (auto xds = open_xds(settings_, service_); xds && settings_.rls_xds) {
      xds_source_ = std::make_unique<XdsSource>(*settings_.rls_xds, *xds);
      service_.descriptors = std::move(xds);
    }
    tell_changes(service_);
  }

  void start_xds() {
    if (!std::exchange(xds_started_, true)) xds_source_->start();
  }
  // Whether the first limits of an xDS server are still to come: what is asked before that could not be
  // decided. Any thread.
  bool lacks_limits() const {
    return settings_.rls_xds && !settings_.rls_config_later && service_.descriptors &&
           !service_.descriptors->current();
  }
  // In the place of envoyproxy/ratelimit nothing listens before that.
  void await_limits() {
    if (!settings_.ratelimit || !settings_.rls_xds || !lacks_limits()) return;
    spdlog::info("rls-xds: nothing listens before {} has sent rate limits", settings_.rls_xds->text);
    boost::asio::io_context context;
    boost::asio::signal_set signals(context, SIGTERM, SIGINT, SIGQUIT);
    bool ends = false;
    signals.async_wait([&ends](const boost::system::error_code& error, int) { ends = !error; });
    start_xds();
    while (lacks_limits() && !ends) context.run_for(kLookForLimits);
    if (ends) throw EndedAtStart();
  }

  // What the process that takes over from this one goes on with, beside the table and the connections.
  // The files that one process writes at a time.
  void leave_files(SnapshotWriter& snapshots, bool yes) {
    snapshots.leave_alone(yes);
    if (yes) return audit_.leave();
    go_on_with_audit();
  }
  void go_on_with_audit() {
    try {
      audit_.go_on();
    } catch (const std::exception& error) {
      spdlog::error("{}; nothing is written there any more", error.what());
    }
  }

  TakeoverParts handed_parts() {
    return {{"overrides", [this] { return service_.overrides ? service_.overrides->pack() : std::string(); },
             [this](std::string_view bytes) {
               return bytes.empty() || !service_.overrides || service_.overrides->take_over(bytes);
             }},
            {"rls-holds",
             [this] {
               core::Packing out;
               for (const auto& worker : workers_) worker->rls_holds().pack(out);
               return out.take();
             },
             [this](std::string_view bytes) {
               core::Unpacking in(bytes);
               for (std::size_t i = 0; in.good() && !in.is_whole(); ++i) {
                 const std::chrono::nanoseconds ends{static_cast<std::int64_t>(in.number())};
                 workers_[i % workers_.size()]->rls_holds().add(std::string(in.text()), ends);
               }
               return in.is_whole();
             }}};
  }

  void take_charge() {
    if (!taker_) {
      giver_ = std::make_unique<TakeoverGiver>(settings_.takeover);
      return;
    }
    taker_->take_over({embedded(), service_.options().clock, handed_parts(), *listeners_, all_listeners(),
                       *dispatcher_, settings_.threads});
    go_on_with_audit();
    try {
      giver_ = std::make_unique<TakeoverGiver>(settings_.takeover);
    } catch (const std::exception& error) {
      spdlog::error("{}; nobody can take over from this process", error.what());
    }
    taker_->say_ready();  // who looks for the other when it has ended finds this one
  }

  std::vector<net::Listener*> all_listeners() const {
    std::vector<net::Listener*> all = listeners_->all();
    const auto shown = admin_ ? admin_->all() : std::vector<net::Listener*>();
    all.insert(all.end(), shown.begin(), shown.end());
    return all;
  }

  InCharge in_charge(SnapshotWriter& snapshots) {
    InCharge its{.facts = facts_of(settings_, names_of(handed_parts())),
                 .wall_ahead = service_.wall_ahead(),
                 .patience = kOverdueAnswers + (settings_.store ? 2 * settings_.store_options.deadline
                                                                : std::chrono::nanoseconds{0}),
                 .snapshot_lock = snapshot_.lock ? snapshot_.lock->descriptor() : -1,
                 .embedded = &embedded(),
                 .parts = handed_parts(),
                 .leave_files = [this, &snapshots](bool yes) { leave_files(snapshots, yes); },
                 .end = [this] { service_.process.shut_down(false); }};
    for (const auto& worker : workers_) its.workers.push_back(worker.get());
    const std::size_t of_main = listeners_->all().size();
    for (net::Listener* each : all_listeners()) {
      TakeoverListener& told = its.facts.listeners[its.listeners.size()];
      told.address = each->address();
      for (const GivenSocket& given : settings_.given)
        if (given.flag == told.flag && given.address == told.address) told.wanted = given.wanted;
      told.owns_file = each->owns_file();
      its.listeners.push_back({each, its.listeners.size() < of_main ? &main_context() : &admin_->context()});
    }
    return its;
  }

  void reload() {
    manager_->reloading();
    audit_.reopen();
    events_.reopen();
    for (const auto& each : {limits_watch_.get(), descriptors_watch_.get(), users_watch_.get()})
      if (each != nullptr) each->ask(LimitsWatch::Reading::reload, [](const auto&) {});
    aside_->run([this] {
      certificates_seen_ = stamps_of_certificates(settings_);
      auto read = read_certificates(kSignal);
      boost::asio::post(main_context(), [this, read = std::move(read)] {
        if (stage_.load(std::memory_order_relaxed) != Stage::serving) return;
        if (read) use(*read, kSignal);
        manager_->ready();
      });
    });
  }

  // The same when their files have changed: what renews them may know of no signal. A pair of which one is
  // new is read again when the other is.
  void look_at_certificates() {
    aside_->run([this] {
      std::string now = stamps_of_certificates(settings_);
      if (now == certificates_seen_) return;
      certificates_seen_ = std::move(now);
      boost::asio::post(main_context(), [this, read = read_certificates(kChanged)] {
        if (read && stage_.load(std::memory_order_relaxed) == Stage::serving) use(*read, kChanged);
      });
    });
  }

  // Null when one of them cannot be used; then none is.
  std::shared_ptr<Certificates> read_certificates(const char* why) const {
    auto read = std::make_shared<Certificates>();
    try {
      read->ours = listeners_->read_tls();
      for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (auto tls = store_tls(settings_)) read->of_the_store.push_back(*std::move(tls));
      }
    } catch (const std::exception& error) {
      spdlog::error("{}: {}; what was read before stays in use", why, error.what());
      read = nullptr;
    }
    warn_of_dates(settings_);
    return read;
  }

  void use(Certificates& read, const char* why) {
    listeners_->use(std::move(read.ours));
    for (std::size_t i = 0; i < read.of_the_store.size(); ++i)
      workers_[i]->use(std::move(read.of_the_store[i]));
    spdlog::info("{}: certificates and keys read again", why);
  }

  // Any thread but that of the first loop, whose answer it waits for.
  steering::SharedKeeper::Ask asks_store_for_overrides() {
    return [this](const std::vector<std::string>& words) {
      using Told = tl::expected<steering::SharedKeeper::Answer, std::string>;
      const std::string key = redis::overrides_key(settings_.store->prefix);
      const auto answer = std::make_shared<std::promise<Told>>();
      auto told = answer->get_future();
      workers_.front()->ask_store(
          key, redis::overrides_command(key, words), steering::SharedKeeper::kPatience,
          [answer, key](const redis::Call::Result& result) { answer->set_value(told_of(result, key)); });
      constexpr auto kLoopIsBusy = std::chrono::seconds{2};
      if (told.wait_for(steering::SharedKeeper::kPatience + kLoopIsBusy) == std::future_status::ready)
        return told.get();
      return Told(tl::unexpected(std::string("the event loop does not answer")));
    };
  }

  // Others go by what is in force when they are asked about again, or by their moment.
  void judge_waiting() {
    for (const auto& worker : workers_) worker->judge_waiting();
  }

  store::EmbeddedStore& embedded() {
    return *embedded_;  // NOLINT(bugprone-unchecked-optional-access): there always is one
  }
  void watch_embedded() { house_.queues.hear(embedded().reservations()); }

  // What virtual time has beside the other: one thread serves it.
  void serve_tests() {
    if (service_.overrides) no_overrides_ = service_.overrides->pack();
    service_.testing.pass_time = [this](std::chrono::nanoseconds by, std::function<void()> done) {
      boost::asio::post(main_context(), [this, by, done = std::move(done)] {
        workers_.front()->pass_time(by);
        done();
      });
    };
    service_.testing.start_again = [this](std::function<void()> done) {
      boost::asio::post(main_context(), [this, done = std::move(done)] {
        workers_.front()->start_again([this] { forget(); });
        done();
      });
    };
    service_.testing.set_limits = [this](std::string text) { return set_limits(std::move(text)); };
  }
  // Under the same seed: connections have hashes of keys.
  void forget() {
    embedded_.emplace(table_bytes(settings_.memory), settings_.when_full, embedded().table().seed(),
                      settings_.reservation_memory, core::random_key, settings_.penalty_memory);
    watch_embedded();
    service_.counting.forget();
    if (service_.overrides) service_.overrides->take_over(no_overrides_);
  }
  // What is in force stays where the text cannot be used.
  std::vector<std::string> set_limits(std::string text) {
    const std::optional<std::string> before = limits_text_->exchange(std::move(text));
    std::vector<std::string> errors = service_.limits->reload();
    if (!errors.empty()) {
      limits_text_->exchange(before);
    } else if (!service_.overrides) {
      service_.overrides = open_overrides(settings_, service_, asks_store_for_overrides());
      no_overrides_ = service_.overrides->pack();
      overrides_ = std::make_unique<OverridesThread>(service_, main_timers());
    }
    return errors;
  }

  boost::asio::io_context& main_context() { return workers_.front()->loop().context; }
  net::Timers& main_timers() { return *workers_.front()->loop().timers; }

  void add_rows() {
    audit_.add_rows(service_.metrics);
    events_.add_rows(service_.metrics);
    add_connection_rows(service_.metrics, connections_);
    add_waiting_rows(service_.metrics, house_);
    add_reservation_rows(service_.metrics, embedded().reservations());
    add_slot_rows(service_.metrics, service_, house_, settings_.store ? nullptr : &embedded().reservations());
    if (!settings_.rls.empty()) {
      rls::add_rows(service_.metrics, rls_counts_);
      service_.metrics.add([this](service::Exposition& to) {
        rls::SeriesCounts::Total total;
        for (const auto& worker : workers_) worker->series_counts().add_to(total);
        rls::write_series(to, total);
        if (settings_.rls_options.stats_names) write_stats_names(to, total);
      });
    }
    service_.metrics.add([this](service::Exposition& to) { write_decisions(to); });
    service_.metrics.add([this](service::Exposition& to) { write_connections(to); });
    if (service_.limits) service_.limits->add_rows(service_.metrics);
    if (service_.users) service_.users->add_rows(service_.metrics);
    if (service_.overrides) service_.overrides->add_rows(service_.metrics);
    if (service_.descriptors) service_.descriptors->add_rows(service_.metrics);
    if (!settings_.store) return;
    std::vector<const redis::SharedStore*> stores;
    for (const auto& worker : workers_) stores.push_back(worker->shared());
    add_store_rows(service_.metrics, settings_, store_status_, std::move(stores));
  }

  void write_stats_names(service::Exposition& to, const rls::SeriesCounts::Total& total) {
    service::DecisionCounts::Total decided;
    for (const auto& worker : workers_) worker->rls_counts().add_to(decided);
    const auto* const trees = service_.descriptors.get();
    const auto in_force = trees != nullptr ? trees->current() : nullptr;
    rls::write_stats_names(to, {.counts = rls_counts_,
                                .total = total,
                                .trees = in_force.get(),
                                .took = decided.took,
                                .loads = in_force ? trees->reloads() + 1 : 0,
                                .load_errors = trees != nullptr ? trees->reload_errors() : 0});
  }
  void write_decisions(service::Exposition& to) {
    service::ProtocolCounts resp{"resp", {}};
    service::ProtocolCounts http{"http", {}};
    service::ProtocolCounts rls{"rls", {}};
    for (const auto& worker : workers_) {
      resp.loops.push_back(&worker->resp_counts());
      http.loops.push_back(&worker->http_counts());
      rls.loops.push_back(&worker->rls_counts());
    }
    const auto set = service_.limits ? service_.limits->current() : nullptr;
    service::write_decisions(to, {resp, http, rls}, set.get());
    if (set) service::write_slot_waiters(to, *set, house_.queues.slot_waiters());
    // With a store they are its own.
    if (set && !settings_.store)
      service::write_in_flight(to, *set, embedded().reservations().in_flight(service_.now()));
  }
  void write_connections(service::Exposition& to) const {
    to.family(service::Exposition::Kind::gauge, "weir_connections", "Connections open now");
    to.sample({{"protocol", "resp"}}, open_resp_.load(std::memory_order_relaxed));
    to.sample({{"protocol", "http"}}, open_http_.load(std::memory_order_relaxed));
    to.sample({{"protocol", "rls"}}, open_rls_.load(std::memory_order_relaxed));
    to.sample({{"protocol", "admin"}}, admin_->connections());
  }

  Admin::Links admin_links() {
    return {.readiness = readiness(),
            .why_ill = [this] { return why_not_healthy(); },
            .forward =
                [this](std::string request, net::Peer peer, steering::Role most,
                       std::function<void(http::Forwarded)> done) {
                  workers_.front()->forward(std::move(request), std::move(peer), most, std::move(done));
                },
            .each_second =
                [this] {
                  service::DecisionCounts::Total total;
                  for (const auto& worker : workers_)
                    for (const auto* counts :
                         {&worker->resp_counts(), &worker->http_counts(), &worker->rls_counts()})
                      counts->add_to(total);
                  service_.series->sample(total);
                }};
  }

  service::ServerStatus status() const {
    service::ServerStatus status{.draining = stage_.load(std::memory_order_acquire) == Stage::draining,
                                 .connections = connections_.now.load(),
                                 .waiters = house_.waiting()};
    if (!settings_.store) return status;
    const redis::Health::View store = store_status_.worst();
    status.store = {.up = store.state == redis::Health::State::ready,
                    .why = store.why,
                    .since = std::chrono::nanoseconds{store_turned_at_.load(std::memory_order_relaxed)}};
    for (std::size_t i = 1; i < redis::kCauseNames.size(); ++i) {
      std::uint64_t times = 0;
      for (const auto& worker : workers_) times += worker->shared()->counters().failures[i].load();
      if (times > 0) status.store->causes.emplace_back(redis::kCauseNames[i], times);
    }
    return status;
  }

  http::Readiness readiness() {
    return {.started = [this] { return stage_.load(std::memory_order_acquire) != Stage::starting; },
            .why_not = [this] { return why_not_ready(); },
            .why_ill = [this] { return why_ill(); }};
  }
  // Empty: every event loop answers. Any thread.
  std::string why_ill() const {
    constexpr std::chrono::seconds kPatience{5};  // a loop gives a sign of life every second
    if (stage_.load(std::memory_order_acquire) != Stage::serving) return {};
    for (const auto& worker : workers_) {
      const net::Loop& loop = worker->loop();
      const auto silent = std::chrono::floor<std::chrono::seconds>(service_.now() - loop.beat());
      if (silent >= kPatience)
        return "event loop " + std::to_string(loop.number) + " has not answered for " +
               std::to_string(silent.count()) + "s";
    }
    return {};
  }
  // Empty: it is ready. Any thread.
  std::string why_not_ready() const {
    const Stage stage = stage_.load(std::memory_order_acquire);
    if (stage != Stage::serving) return stage == Stage::starting ? "starting" : "draining";
    if (settings_.rls_xds && lacks_limits())
      return "no rate limits have come from " + settings_.rls_xds->text;
    if (!settings_.ready_needs_store) return {};
    const redis::Health::View store = store_status_.worst();
    if (store.state == redis::Health::State::ready) return {};
    return "the store: " + (store.why.empty() ? std::string(name_of(store.state)) : store.why);
  }

  // What gRPC's health and the health check of envoyproxy/ratelimit tell. Any thread.
  std::string why_not_healthy() const {
    if (stage_.load(std::memory_order_acquire) == Stage::draining) return "draining";
    if (lacks_limits()) return "no rate limits have come";
    if (!settings_.ratelimit) return {};
    const auto made = service_.descriptors ? service_.descriptors->current() : nullptr;
    if (settings_.ratelimit->needs_domain && (!made || made->domains() == 0))
      return "no domain is configured";
    const bool ready = store_status_.worst().state == redis::Health::State::ready;
    return settings_.ratelimit->needs_store && !ready ? "the store does not decide" : "";
  }

  net::Protocol resp(steering::Role most) {
    return {.name = "resp",
            .converse =
                [this, most](net::Loop& loop, const net::Peer& peer, std::function<void()> resume) {
                  return workers_[loop.number]->converse(peer, std::move(resume), most);
                },
            .too_many = "-ERR max number of clients reached\r\n",
            .too_large =
                "-ERR closed: clients together keep more than --client-memory, and this one the most\r\n",
            .open = &open_resp_};
  }

  net::Protocol http(steering::Role most) {
    return {.name = "http",
            .converse =
                [this, most](net::Loop& loop, const net::Peer& peer, std::function<void()> resume) {
                  return workers_[loop.number]->converse_http(peer, std::move(resume), most);
                },
            .too_many = http::last_words(503, "--max-connections are open"),
            .too_large = http::last_words(
                503, "clients together keep more than --client-memory, and this one the most"),
            .stalled = http::last_words(408, "half a request for --stall-timeout"),
            .open = &open_http_};
  }

  net::Protocol rls() {
    return {.name = "rls",
            .converse =
                [this](net::Loop& loop, const net::Peer& peer, std::function<void()> resume) {
                  return workers_[loop.number]->converse_rls(peer, std::move(resume));
                },
            .too_many = std::string(grpc::last_words()),
            .too_large = std::string(grpc::last_words()),
            .at_rest = grpc::Connection::kAtRest,
            .open = &open_rls_};
  }

  Shutdown::Steps shutdown_steps() {
    const auto all = [this](void (Worker::*what)()) {
      for (const auto& worker : workers_) (*worker.*what)();
    };
    return {.leave =
                [this] {
                  if (giver_ && !giver_->end()) save_at_end_ = false;
                  stage_.store(Stage::draining, std::memory_order_release);
                  service_.process.leaving.store(true, std::memory_order_relaxed);
                  manager_->stopping();
                },
            .drain =
                [this] {
                  reload_->stop();
                  if (look_at_certificates_) look_at_certificates_->stop();
                  watch_->stop();
                  if (local_watch_) local_watch_->stop();
                  if (overrides_) overrides_->stop();
                  listeners_->stop();
                  for (const auto& each : {limits_watch_.get(), descriptors_watch_.get(), users_watch_.get()})
                    if (each != nullptr) each->end();
                  // The last moments leave their answers the time to get out; in virtual time none comes.
                  auto until = service_.now();
                  if (!settings_.virtual_now) until += Shutdown::kDrainAtMost - std::chrono::seconds{1};
                  for (const auto& worker : workers_) worker->drain(until);
                },
            .drained = [this] { return connections_.now.load() == 0; },
            .let_end = [all] { all(&Worker::let_end); },
            .make_end = [all] { all(&Worker::make_end); }};
  }

  std::optional<TakeoverTaker> taker_;  // of the process before this one, if there is one
  Settings settings_;
  Snapshot snapshot_;
  std::optional<store::EmbeddedStore> embedded_;  // a new one where virtual time starts again
  std::unique_ptr<redis::ProcessMemory> memory_;  // with a store
  // Of virtual time: WEIR.CONFIG SET's, and what Overrides::pack() makes of none.
  const std::unique_ptr<LimitsText> limits_text_ =
      settings_.virtual_now ? std::make_unique<LimitsText>() : nullptr;
  std::string no_overrides_;
  service::Service service_;
  AuditLog audit_{{.path = settings_.audit,
                   .required = settings_.audit_required,
                   .later = taker_.has_value(),
                   .wall_clock = service_.options().wall_clock,
                   .warn = [](const std::string& line) { spdlog::error("{}", line); }}};
  EventSinks events_{{.places = settings_.events,
                      .server = host_name(),
                      .wall_clock = service_.options().wall_clock,
                      .log = [](bool warns, const std::string& line) {
                        warns ? spdlog::warn("{}", line) : spdlog::info("{}", line);
                      }}};
  StoreStatus store_status_{settings_.store_text, settings_.threads};
  std::atomic<std::int64_t> store_turned_at_{0};
  enum class Stage : std::uint8_t { starting, serving, draining };
  std::atomic<Stage> stage_{Stage::starting};
  waiting::House house_{settings_.max_waiters};
  rls::RlsCounts rls_counts_;
  net::LoopCounters connections_;
  std::atomic<std::uint64_t> open_resp_{0};
  std::atomic<std::uint64_t> open_http_{0};
  std::atomic<std::uint64_t> open_rls_{0};
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<net::Dispatcher> dispatcher_;
  std::unique_ptr<Listeners> listeners_;
  std::unique_ptr<Shutdown> shutdown_;
  std::unique_ptr<Reload> reload_;
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<LocalWatch> local_watch_;  // of a local server
  std::unique_ptr<ServiceManager> manager_;
  std::unique_ptr<OverridesThread> overrides_;  // while it runs, as the next two
  std::unique_ptr<LimitsWatch> limits_watch_;   // while it runs, as the next
  std::unique_ptr<LimitsWatch> descriptors_watch_;
  std::unique_ptr<LimitsWatch> users_watch_;
  std::unique_ptr<XdsSource> xds_source_;
  bool xds_started_ = false;
  std::string certificates_seen_;              // of the thread of aside_, while there is one
  std::optional<Every> look_at_certificates_;  // while it runs, where there are any
  std::unique_ptr<Aside> aside_;
  std::unique_ptr<Admin> admin_;  // it reads all of the above
  bool save_at_end_ = true;
  std::unique_ptr<TakeoverGiver> giver_;  // while it runs, with --takeover
};

Server::Server(const Settings& settings) {
  while (!impl_) {
    try {
      impl_ = std::make_unique<Impl>(settings);
    } catch (const OtherHasEnded& error) {
      if (!settings.given.empty()) throw;  // the listeners of systemd are closed by now
      spdlog::warn(
          "{}: this one starts without it; its connections have ended, and what it kept in no snapshot and "
          "no store is lost",
          error.what());
    }
  }
}
Server::~Server() = default;
std::vector<std::string> Server::addresses() const { return impl_->addresses(); }
bool Server::run() { return impl_->run(); }

}  // namespace weir::server
