// The side of a takeover that is in charge: it listens at --takeover, and hands over to one that asks.
//
// On a thread of its own, which may wait; what it does to event loops it does in turns of theirs, and none of
// them waits for the other process: where that is too slow, or ends, this one goes on as before. One takeover
// at a time; others are refused meanwhile.
//
// What is handed in must outlive it, and the loops must run until it is told to end().
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/siphash.hpp"
#include "net/listener.hpp"
#include "net/owned_descriptor.hpp"
#include "net/session.hpp"
#include "server/takeover_channel.hpp"
#include "server/takeover_message.hpp"
#include "server/takeover_part.hpp"
#include "server/takeover_word.hpp"
#include "server/worker.hpp"
#include "store/embedded_store.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::server {

// What it hands over.
struct InCharge {
  TakeoverFacts facts;
  std::chrono::nanoseconds wall_ahead{0};
  // How long those that wait for their answers hold up the rest, at most.
  std::chrono::nanoseconds patience{0};
  int snapshot_lock = -1;
  std::vector<Worker*> workers{};
  // In the order of facts.listeners, each with the context of its thread.
  struct Open {
    net::Listener* listener;
    boost::asio::io_context* context;
  };
  std::vector<Open> listeners{};
  store::EmbeddedStore* embedded = nullptr;
  TakeoverParts parts{};
  // Whether the files that one process writes at a time are left alone from now on. It waits for what is
  // being written.
  std::function<void(bool)> leave_files;
  // The next one is in charge: this one is to end, without a last snapshot. Any thread.
  std::function<void()> end;
};

class TakeoverGiver {
 public:
  // Listens from now on; the file is removed in the end, unless another has taken its place. Throws
  // std::runtime_error with one line.
  explicit TakeoverGiver(std::string path);
  // Those that have connected are answered from then on.
  void start(InCharge in_charge);
  ~TakeoverGiver();
  TakeoverGiver(const TakeoverGiver&) = delete;
  TakeoverGiver& operator=(const TakeoverGiver&) = delete;

  // Takes part in no takeover any more, and ends one that is under way. False: the next process is in charge.
  // Any thread.
  bool end();

 private:
  using Steady = std::chrono::steady_clock;
  using HandedOver = std::vector<std::vector<net::HandedOver>>;  // by worker

  void listen();
  void run();
  void hand_over(TakeoverChannel& next);
  std::optional<TakeoverChannel::Message> hear(TakeoverChannel& next, Steady::time_point deadline);
  bool offer(TakeoverChannel& next);
  bool give(TakeoverChannel& next);
  bool stays();
  void say_goodbye();
  bool hold(Steady::time_point deadline);
  bool collect(const std::shared_ptr<HandedOver>& handed, Steady::time_point deadline);
  bool send_all(TakeoverChannel& next, const HandedOver& handed, std::chrono::nanoseconds stopped,
                Steady::time_point deadline);
  static bool send_part(TakeoverChannel& next, std::string_view name, int descriptor,
                        Steady::time_point deadline);
  void go_on(const std::shared_ptr<HandedOver>& handed);
  void leave(const std::shared_ptr<HandedOver>& handed);
  std::chrono::nanoseconds longest() const;

  bool on(boost::asio::io_context& context, std::function<void()> what, Steady::time_point deadline);
  bool on_workers(const std::function<void(std::size_t, Worker&)>& what, Steady::time_point deadline);
  bool ask_workers(bool (*question)(Worker&), Steady::time_point patience, Steady::time_point deadline);

  const std::string path_;
  InCharge its_;
  net::OwnedDescriptor listens_;
  net::OwnedDescriptor wake_;
  std::uint64_t file_ = 0;
  std::atomic<bool> ends_{false};
  detail::Mutex mutex_;
  std::shared_ptr<TakeoverWord> word_ WEIR_GUARDED_BY(mutex_);  // of the last takeover
  std::thread thread_;
};

}  // namespace weir::server
