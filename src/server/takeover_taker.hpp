// The side of a takeover that takes over: a process that starts.
//
// begin() before anything is opened; take_over() when all that can fail here has been done, and before the
// loops run; say_ready() when another can take over from this one. What fails until the word is said leaves
// the other in charge, and throws std::runtime_error of one line. One thread, the main one.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/clock_function.hpp"
#include "core/siphash.hpp"
#include "net/dispatcher.hpp"
#include "net/listener.hpp"
#include "net/owned_descriptor.hpp"
#include "server/listeners.hpp"
#include "server/settings.hpp"
#include "server/takeover_channel.hpp"
#include "server/takeover_message.hpp"
#include "server/takeover_part.hpp"
#include "server/takeover_word.hpp"
#include "store/embedded_store.hpp"
#include "store/snapshot.hpp"

namespace weir::inline v0_1::server {

// The other has ended, without having handed over what it had: a second start finds nobody there, or
// another.
class OtherHasEnded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class TakeoverTaker {
 public:
  // Nothing: no process is in charge at --takeover, or none is asked for. `parts`: the names of those that
  // can be restored.
  static std::optional<TakeoverTaker> begin(const Settings& settings, const std::vector<std::string>& parts);

  // With the listeners of the other; once.
  Settings settings(Settings ours);
  core::HashKey seed() const { return offer_.seed; }
  std::chrono::nanoseconds wall_ahead() const { return offer_.wall_ahead; }
  // Of the snapshot that the other saves to, if it has one; once.
  net::OwnedDescriptor lock() { return std::move(lock_); }

 private:
  struct Connection {
    TakeoverConnection what;
    net::OwnedDescriptor descriptor;
  };
  struct Received {
    std::map<std::string, net::OwnedDescriptor> parts;
    std::vector<Connection> connections;
    std::chrono::nanoseconds stopped{0};
  };

 public:
  // What goes on here; all of it outlives this.
  struct Into {
    store::EmbeddedStore& embedded;
    core::ClockFunction now;
    const TakeoverParts& parts;
    Listeners& listeners;
    std::vector<net::Listener*> all_listeners;  // in the order of the settings
    net::Dispatcher& dispatcher;
    unsigned threads;
  };
  void take_over(const Into& into);
  // The other ends when it has heard it.
  void say_ready();
  // That decisions are made here from now on.
  void tell(std::chrono::nanoseconds now) const;

 private:
  TakeoverTaker(std::string path, TakeoverChannel channel)
      : path_(std::move(path)), channel_(std::move(channel)) {}
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail_as_gone(const std::string& what) const;
  void hear_offer();
  Received receive();
  void restore(Received& received, const Into& into);
  void take_charge();
  Received put_together(std::map<std::string, net::OwnedDescriptor> parts,
                        std::vector<net::OwnedDescriptor> descriptors, const TakeoverDone& done);

  std::string path_;
  TakeoverChannel channel_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  TakeoverOffer offer_;
  std::unique_ptr<TakeoverWord> word_;
  net::OwnedDescriptor lock_;
  std::vector<net::OwnedDescriptor> listeners_;
  store::SnapshotFile::Restored restored_;
  std::size_t connections_ = 0;
  std::chrono::nanoseconds stopped_{0};
};

// Names of parts that every takeover has.
constexpr const char* kTablePart = "table";
constexpr const char* kConnectionsPart = "connections";

}  // namespace weir::server
