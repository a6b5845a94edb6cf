#include "server/overrides.hpp"

#include <chrono>
#include <stdexcept>
#include <utility>

#include "core/printable.hpp"
#include "server/log.hpp"
#include "server/snapshots.hpp"
#include "steering/file_keeper.hpp"
#include "store/snapshot.hpp"

namespace weir::inline v0_1::server {
namespace {

service::Overrides::Links links_of(service::Service& service) {
  return {.record =
              [&service](steering::OperatorChange change, std::function<void(bool)> done) {
                service.record(std::move(change), std::move(done));
              },
          .tell = [&service](const steering::OperatorEvent& event) { service.tell(event); },
          .log =
              [](bool warns, const std::string& line) {
                log(warns ? LogLevel::warning : LogLevel::info, core::printable(line));
              }};
}

}  // namespace

std::unique_ptr<service::Overrides> open_overrides(const Settings& settings, service::Service& service) {
  if (!service.limits) return nullptr;
  if (settings.snapshot.empty() || settings.store)
    return std::make_unique<service::Overrides>(*service.limits, std::make_unique<steering::MemoryKeeper>(),
                                                steering::OverrideBook(), links_of(service));
  const std::string path = settings.snapshot + ".overrides";
  store::remove_leftovers(path);
  auto keeper = std::make_unique<steering::FileKeeper>(path);
  auto book = keeper->load();
  if (!book) {
    if (!settings.ignore_bad_snapshot)
      throw std::runtime_error(book.error() +
                               "; --ignore-bad-snapshot puts it aside and starts without overrides");
    log(LogLevel::warning, core::printable(book.error()) +
                               "; starting without overrides, the file is kept as " + put_aside(path));
    book = steering::OverrideBook();
  }
  return std::make_unique<service::Overrides>(*service.limits, std::move(keeper), *std::move(book),
                                              links_of(service));
}

OverridesThread::OverridesThread(service::Service& service, net::Timers& timers)
    : service_(service), ends_(timers) {
  service_.steer = [this](std::function<void()> work) { thread_.run(std::move(work)); };
  ends_.start(std::chrono::seconds{1}, [this] {
    if (looks_.exchange(true)) return;
    thread_.run([this] {
      looks_ = false;
      service_.overrides->end_due();
    });
  });
}

OverridesThread::~OverridesThread() {
  service_.steer = [](const std::function<void()>& work) { work(); };
}

}  // namespace weir::server
