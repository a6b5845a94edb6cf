#include "server/takeover_giver.hpp"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <future>
#include <span>
#include <stdexcept>
#include <utility>

#include "server/takeover_memory.hpp"
#include "server/takeover_taker.hpp"
#include "store/clock.hpp"
#include "store/snapshot.hpp"

namespace weir::inline v0_1::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// The next one has this long to say what it is, and to read its files and make its loops. Nothing waits for
// it.
constexpr seconds kSaysHello{5};
constexpr seconds kGetsReady{60};
// Everything waits for this one: as long as it takes to hand over 64 MiB on a machine that is fifty times as
// busy as it should be, and what a larger table takes more.
constexpr seconds kTakesAtLeast{1};
constexpr std::uint64_t kBytesASecond = std::uint64_t{64} << 20;
// For clients of gRPC to hear that they are to connect again.
constexpr milliseconds kFarewell{200};
// For connections that are told to end to be answered what they have sent.
constexpr milliseconds kEndsOfOthers{20};
// How often one that waits looks whether it is to end.
constexpr milliseconds kSlice{20};
// Before another is accepted, when that has failed.
constexpr milliseconds kAgain{100};
// For a hello to come after its connection, where somebody else waits.
constexpr milliseconds kHello{5};

}  // namespace

TakeoverGiver::TakeoverGiver(std::string path)
    : path_(std::move(path)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  listen();
}

void TakeoverGiver::start(InCharge in_charge) {
  its_ = std::move(in_charge);
  thread_ = std::thread([this] { run(); });
}

TakeoverGiver::~TakeoverGiver() {
  const bool ours = end();
  if (thread_.joinable()) thread_.join();
  if (ours && net::file_at(path_) == file_) unlink(path_.c_str());
}

// Beside the path and then moved into place, so that there is always one to connect to, and no other user
// ever can.
void TakeoverGiver::listen() {
  const auto fail = [this](const std::string& what) {
    throw std::runtime_error("takeover: '" + path_ + "': " + what);
  };
  struct stat found{};
  if (lstat(path_.c_str(), &found) == 0 && !S_ISSOCK(found.st_mode)) fail("exists and is not a socket");
  const std::string beside = path_ + "." + std::to_string(getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (beside.size() >= sizeof address.sun_path) fail("is too long for a socket's path");
  std::memcpy(address.sun_path, beside.data(), beside.size());
  unlink(beside.c_str());
  listens_ = net::OwnedDescriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool listening =
      listens_ && bind(listens_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      chmod(beside.c_str(), 0600) == 0 && ::listen(listens_.get(), 8) == 0;
  file_ = net::file_at(beside);
  if (listening && rename(beside.c_str(), path_.c_str()) == 0) return;
  const std::string why = std::strerror(errno);
  unlink(beside.c_str());
  fail("cannot listen there: " + why);
}

bool TakeoverGiver::end() {
  ends_ = true;
  eventfd_write(wake_.get(), 1);
  return stays();
}

void TakeoverGiver::run() {
  while (!ends_) {
    std::array<pollfd, 2> watched{pollfd{.fd = listens_.get(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
    poll(watched.data(), watched.size(), -1);
    net::OwnedDescriptor came(accept4(listens_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!came && !ends_) std::this_thread::sleep_for(kAgain);  // no descriptor is free
    if (!came || ends_) continue;
    TakeoverChannel next(std::move(came));
    // Its file lets no other user in, and another that could change that is not answered.
    if (!next.is_of_us()) continue;
    try {
      hand_over(next);
    } catch (const std::exception& error) {
      spdlog::error("takeover: {}", error.what());
    }
  }
}

// What it says next; others that ask meanwhile are told to wait.
std::optional<TakeoverChannel::Message> TakeoverGiver::hear(TakeoverChannel& next,
                                                            Steady::time_point deadline) {
  while (!ends_) {
    std::array<pollfd, 3> watched{pollfd{.fd = next.descriptor(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = listens_.get(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
    const auto left = std::chrono::ceil<milliseconds>(deadline - Steady::now());
    if (left.count() <= 0) return std::nullopt;
    poll(watched.data(), watched.size(), static_cast<int>(left.count()));
    if (watched[0].revents != 0) return next.receive(Steady::now());
    if (watched[1].revents == 0) continue;
    TakeoverChannel other(
        net::OwnedDescriptor(accept4(listens_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
    (void)other.receive(Steady::now() + kHello);  // what is closed unread looks like a failure there
    other.send(pack_refusal("another process is taking over"), {}, Steady::now());
  }
  return std::nullopt;
}

void TakeoverGiver::hand_over(TakeoverChannel& next) {
  const auto hello = hear(next, Steady::now() + kSaysHello);
  if (!hello) return;
  const auto facts = read_hello(hello->bytes);
  const std::string why = facts ? why_not(its_.facts, *facts) : facts.error();
  if (!why.empty()) {
    next.send(pack_refusal(why), {}, Steady::now() + kSaysHello);
    return spdlog::warn("takeover: process {} is refused: {}", next.its_process(), why);
  }
  const bool offered = offer(next);
  const auto begin = offered ? hear(next, Steady::now() + kGetsReady) : std::nullopt;
  if (!begin || !is_word(begin->bytes, kBegin)) {
    stays();  // the next one is to know that this one has not ended
    return spdlog::warn("takeover: process {} was offered all, and does not begin", next.its_process());
  }
  if (give(next)) return;
  spdlog::error("takeover: process {} was not ready in time, or has ended: this one stays in charge",
                next.its_process());
}

bool TakeoverGiver::offer(TakeoverChannel& next) {
  const auto word = std::make_shared<TakeoverWord>();
  {
    const detail::Held lock(mutex_);
    if (ends_) return false;
    word_ = word;
  }
  TakeoverOffer offer{.seed = its_.embedded->table().seed(),
                      .wall_ahead = its_.wall_ahead,
                      .longest = longest(),
                      .has_lock = its_.snapshot_lock >= 0,
                      .listeners = its_.facts.listeners};
  std::vector<int> descriptors{word->descriptor()};
  if (offer.has_lock) descriptors.push_back(its_.snapshot_lock);
  for (const InCharge::Open& each : its_.listeners) descriptors.push_back(each.listener->descriptor());
  return next.send(pack_offer(offer), descriptors, Steady::now() + kSaysHello);
}

nanoseconds TakeoverGiver::longest() const {
  return kTakesAtLeast +
         nanoseconds{seconds{1}} * static_cast<std::int64_t>(its_.facts.memory / kBytesASecond);
}

// False: this one is in charge as before.
bool TakeoverGiver::give(TakeoverChannel& next) {
  its_.leave_files(true);
  say_goodbye();
  const nanoseconds stopped = store::steady_now();
  const auto deadline = Steady::now() + longest();
  const auto handed = std::make_shared<HandedOver>(its_.workers.size());
  try {
    if (hold(deadline) && collect(handed, deadline) && send_all(next, *handed, stopped, deadline))
      hear(next, deadline);
  } catch (const std::exception& error) {
    spdlog::error("takeover: {}", error.what());
  }
  // Whatever it has told us: it may have said the word, and ended.
  if (stays()) {
    go_on(handed);
    return false;
  }
  spdlog::info("takeover: process {} has taken over", next.its_process());
  leave(handed);
  return true;
}

bool TakeoverGiver::stays() {
  const detail::Held lock(mutex_);
  return !word_ || word_->stay();
}

// Clients of gRPC connect again when they have heard it, and meanwhile are answered: to the next one, as
// nobody is accepted here.
void TakeoverGiver::say_goodbye() {
  const auto deadline = Steady::now() + kFarewell;
  for (std::size_t i = 0; i < its_.listeners.size(); ++i) {
    if (its_.facts.listeners[i].flag == "rls")
      on(
          *its_.listeners[i].context, [listener = its_.listeners[i].listener] { listener->pause(); },
          deadline);
  }
  ask_workers([](Worker& worker) { return !worker.loop().say_goodbye(); }, deadline, deadline);
}

bool TakeoverGiver::send_all(TakeoverChannel& next, const HandedOver& handed, nanoseconds stopped,
                             Steady::time_point deadline) {
  MemoryDisk disk;
  const auto saved =
      store::hand_snapshot(its_.embedded->table(), "takeover", its_.embedded->reservations(), disk);
  if (!saved) throw std::runtime_error(saved.error());
  std::vector<TakeoverConnection> told;
  std::vector<int> descriptors;
  for (const auto& list : handed) {
    for (const net::HandedOver& each : list) {
      told.push_back({each.protocol, each.peer.id, each.peer.address, each.peer.port, each.peer.local,
                      each.state, each.rest});
      descriptors.push_back(each.descriptor);
    }
  }
  for (std::span<const int> rest(descriptors); !rest.empty();) {
    const auto some = rest.first(std::min(rest.size(), TakeoverChannel::kMostDescriptors));
    if (!next.send(pack_word(kConnections), some, deadline)) return false;
    rest = rest.subspan(some.size());
  }
  if (!send_part(next, kTablePart, disk.descriptor(), deadline)) return false;
  if (!send_part(next, kConnectionsPart, in_memory(pack_connections(told)).get(), deadline)) return false;
  for (const TakeoverPart& each : its_.parts)
    if (!send_part(next, each.name, in_memory(each.save()).get(), deadline)) return false;
  return next.send(pack_done({.stopped = stopped, .connections = told.size()}), {}, deadline);
}

bool TakeoverGiver::send_part(TakeoverChannel& next, std::string_view name, int descriptor,
                              Steady::time_point deadline) {
  return next.send(pack_part(name), std::span(&descriptor, 1), deadline);
}

// Nothing that comes is accepted or read any more.
bool TakeoverGiver::hold(Steady::time_point deadline) {
  for (const InCharge::Open& each : its_.listeners)
    if (!on(*each.context, [listener = each.listener] { listener->pause(); }, deadline)) return false;
  return on_workers([](std::size_t, Worker& worker) { worker.hold(); }, deadline);
}

// Those at rest are kept as they are; the others end, with all that they bring about in the table. No
// connection whose answers take long holds up all others.
bool TakeoverGiver::collect(const std::shared_ptr<HandedOver>& handed, Steady::time_point deadline) {
  const auto is_settled = [](Worker& worker) { return worker.is_settled(); };
  const auto take = [handed](std::size_t i, Worker& worker) { (*handed)[i] = worker.loop().hand_over(); };
  const auto cut = [](std::size_t, Worker& worker) { worker.loop().cut_others(); };
  const auto nothing = [](std::size_t, Worker&) {};
  return ask_workers(is_settled, Steady::now() + its_.patience, deadline) && on_workers(take, deadline) &&
         ask_workers(is_settled, Steady::now() + kEndsOfOthers, deadline) && on_workers(cut, deadline) &&
         on_workers(nothing, deadline);
}

// As before. In turns that are later than all that was asked of the loops, and may not have been done yet.
void TakeoverGiver::go_on(const std::shared_ptr<HandedOver>& handed) {
  for (std::size_t i = 0; i < its_.workers.size(); ++i) {
    boost::asio::post(its_.workers[i]->loop().context, [handed, i, worker = its_.workers[i]] {
      (*handed)[i].clear();
      worker->go_on();
    });
  }
  for (const InCharge::Open& each : its_.listeners)
    boost::asio::post(*each.context, [listener = each.listener] { listener->go_on(); });
  its_.leave_files(false);
}

void TakeoverGiver::leave(const std::shared_ptr<HandedOver>& handed) {
  for (std::size_t i = 0; i < its_.workers.size(); ++i) {
    boost::asio::post(its_.workers[i]->loop().context, [handed, i] {
      for (const net::HandedOver& each : (*handed)[i]) each.session->leave();
      (*handed)[i].clear();
    });
  }
  for (const InCharge::Open& each : its_.listeners) {
    boost::asio::post(*each.context, [listener = each.listener] {
      listener->own_file(false);
      listener->stop();
    });
  }
  its_.end();
}

// False: it did not run in time; it may yet.
bool TakeoverGiver::on(boost::asio::io_context& context, std::function<void()> what,
                       Steady::time_point deadline) {
  const auto done = std::make_shared<std::promise<void>>();
  boost::asio::post(context, [done, what = std::move(what)] {
    what();
    done->set_value();
  });
  const auto future = done->get_future();
  while (future.wait_for(kSlice) != std::future_status::ready)
    if (ends_ || Steady::now() >= deadline) return false;
  return true;
}

bool TakeoverGiver::on_workers(const std::function<void(std::size_t, Worker&)>& what,
                               Steady::time_point deadline) {
  std::vector<std::future<void>> all;
  for (std::size_t i = 0; i < its_.workers.size(); ++i) {
    const auto done = std::make_shared<std::promise<void>>();
    all.push_back(done->get_future());
    boost::asio::post(its_.workers[i]->loop().context, [done, what, i, worker = its_.workers[i]] {
      what(i, *worker);
      done->set_value();
    });
  }
  for (const auto& each : all)
    while (each.wait_for(kSlice) != std::future_status::ready)
      if (ends_ || Steady::now() >= deadline) return false;
  return true;
}

// Until all say yes, or the patience has an end. False: one did not answer in time.
bool TakeoverGiver::ask_workers(bool (*question)(Worker&), Steady::time_point patience,
                                Steady::time_point deadline) {
  for (;;) {
    const auto all = std::make_shared<std::atomic<bool>>(true);
    const auto ask = [question, all](std::size_t, Worker& worker) {
      if (!question(worker)) *all = false;
    };
    if (!on_workers(ask, deadline)) return false;
    if (*all || Steady::now() >= patience) return true;
    std::this_thread::sleep_for(milliseconds{1});
  }
}

}  // namespace weir::server
