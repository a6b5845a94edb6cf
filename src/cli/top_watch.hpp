// Asks servers for their most denied keys again and again, each in a thread of its own, so that one that
// does not answer holds up nobody.
//
// Any thread may call; `changed` is called by the threads of this. Not for: showing it (top_view.hpp).
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cli/server_flags.hpp"
#include "cli/top_keys.hpp"
#include "weir/lock.hpp"

namespace weir::inline v0_1::cli {

struct TopWanted {
  std::string limit;  // empty: all
  std::string by = "denied";
};

// Each of them once, at the same time.
std::vector<ServerTop> ask_all(const ServerFlags& flags, const TopWanted& wanted);

class TopWatch {
 public:
  TopWatch(const ServerFlags& flags, TopWanted wanted, std::chrono::nanoseconds every,
           std::function<void()> changed);
  ~TopWatch();
  TopWatch(const TopWatch&) = delete;
  TopWatch& operator=(const TopWatch&) = delete;

  // Asks at once.
  void sort_by(const std::string& by);
  // The last of each server, of those that have been asked by what they are sorted by now.
  std::vector<ServerTop> latest() const;

 private:
  void end();
  bool ends() const;
  void watch(std::size_t server);

  const ServerFlags& flags_;
  const std::vector<ServerFlags::Named> servers_;
  const std::chrono::nanoseconds every_;
  const std::function<void()> changed_;
  mutable detail::Mutex mutex_;
  bool ends_ WEIR_GUARDED_BY(mutex_) = false;
  detail::Signal wake_;
  TopWanted wanted_ WEIR_GUARDED_BY(mutex_);
  std::vector<ServerTop> latest_ WEIR_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace weir::cli
