#include "server/limits_watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "service/service.hpp"

namespace weir::inline v0_1::server {
namespace {

// An editor or an update writes several files one after the other.
constexpr int kSettleMs = 50;
constexpr int kLookEveryMs = 1000;

}  // namespace

LimitsWatch::LimitsWatch(service::FilesInForce& files)
    : files_(files),
      inotify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      thread_([this] { run(); }) {}

LimitsWatch::~LimitsWatch() {
  end();
  thread_.join();
  close(wake_);
  if (inotify_ >= 0) close(inotify_);
}

void LimitsWatch::ask(Reading what, OnRead told) {
  {
    const detail::Held lock(mutex_);
    const auto waiting = what == Reading::check ? &Callbacks::check : &Callbacks::reload;
    if (!ends_) (asked_.*waiting).push_back(std::exchange(told, nullptr));
  }
  if (told) return told({std::string(service::kShutsDown)});
  wake();
}

void LimitsWatch::end() {
  Callbacks asked;
  Callbacks reading;
  {
    const detail::Held lock(mutex_);
    ends_ = true;
    asked = std::exchange(asked_, {});
    reading = std::exchange(reading_, {});
  }
  files_.give_up();
  wake();
  for (const auto* each : {&asked.check, &asked.reload, &reading.check, &reading.reload})
    for (const OnRead& told : *each) told({std::string(service::kShutsDown)});
}

void LimitsWatch::wake() {
  const std::uint64_t one = 1;
  // It fails only when it has been woken 2^64 times in vain.
  [[maybe_unused]] const auto written = write(wake_, &one, sizeof one);
}

void LimitsWatch::run() {
  using Stamps = service::FilesInForce::Stamps;
  watch_directories();
  Stamps seen = files_.stamps();
  while (!ends_) {
    // The first look is at once: the file may have changed before it was watched.
    const Stamps read = files_.stamps();
    const Stamps now = service::FilesInForce::look(read);
    // Without an event it may be half written: it has to look the same twice.
    const bool changed = now != read && (evented_ || now == seen);
    seen = now;
    evented_ = false;
    read_if(changed || files_.is_overdue());
    wait();
  }
}

void LimitsWatch::read_if(bool changed) {
  bool reloads = changed;
  bool checks = false;
  {
    const detail::Held lock(mutex_);
    reading_ = std::exchange(asked_, {});
    reloads = reloads || !reading_.reload.empty();
    checks = !reading_.check.empty();
  }
  if (reloads) {
    tell(&Callbacks::reload, files_.reload());
    watch_directories();
  }
  if (checks) tell(&Callbacks::check, files_.check());
}

void LimitsWatch::tell(std::vector<OnRead> Callbacks::* which, const std::vector<std::string>& errors) {
  std::vector<OnRead> those;
  {
    const detail::Held lock(mutex_);
    those.swap(reading_.*which);
  }
  for (const OnRead& told : those) told(errors);
}

void LimitsWatch::wait() {
  std::array<pollfd, 2> waits = {{{wake_, POLLIN, 0}, {inotify_, POLLIN, 0}}};
  poll(waits.data(), waits.size(), kLookEveryMs);
  std::uint64_t woken = 0;
  [[maybe_unused]] const auto got = ::read(wake_, &woken, sizeof woken);
  evented_ = drain_events();
  if (!evented_ || ends_) return;
  poll(waits.data(), 1, kSettleMs);
  drain_events();
}

// What is to be watched may be different after a reload; a directory that was replaced has lost its watch.
void LimitsWatch::watch_directories() {
  namespace fs = std::filesystem;
  std::set<std::string> folders;
  for (const auto& [file, stamp] : files_.stamps()) {
    std::error_code ignored;
    for (const fs::path& each : {fs::path(file), fs::canonical(file, ignored)})
      if (!each.empty()) folders.insert(each.has_parent_path() ? each.parent_path().string() : ".");
  }
  std::set<std::string> with_links = folders;
  for (const std::string& folder : folders) {
    std::error_code ignored;
    for (fs::path link = folder; link.has_relative_path(); link = link.parent_path())
      if (fs::is_symlink(link, ignored)) with_links.insert((link.parent_path() / ".").string());
  }
  for (const std::string& each : with_links)
    inotify_add_watch(inotify_, each.c_str(),
                      IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE);
}

bool LimitsWatch::drain_events() const {
  alignas(inotify_event) std::array<char, 4096> events;
  bool any = false;
  while (::read(inotify_, events.data(), events.size()) > 0) any = true;
  return any;
}

}  // namespace weir::server
