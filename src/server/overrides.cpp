#include "server/overrides.hpp"

#include <chrono>
#include <stdexcept>
#include <utility>

#include "core/printable.hpp"
#include "core/random.hpp"
#include "server/log.hpp"
#include "server/snapshots.hpp"
#include "steering/file_keeper.hpp"
#include "store/snapshot.hpp"

namespace weir::inline v0_1::server {
namespace {

service::Overrides::Links links_of(service::Service& service) {
  return {.record =
              [&service](steering::OperatorChange change, std::function<void(bool)> done) {
                service.operators.record(std::move(change), std::move(done));
              },
          .tell = [&service](const steering::OperatorEvent& event) { service.operators.tell(event); },
          .log =
              [](bool warns, const std::string& line) {
                log(warns ? LogLevel::warning : LogLevel::info, core::printable(line));
              }};
}

steering::OverrideBook empty_book() {
  steering::OverrideBook book;
  book.skip_to(steering::OverrideBook::before_the_first(core::random_key().k0));
  return book;
}

}  // namespace

std::unique_ptr<service::Overrides> open_overrides(const Settings& settings, service::Service& service,
                                                   steering::SharedKeeper::Ask ask) {
  if (!service.limits || !service.limits->current()) return nullptr;
  if (settings.store)
    return std::make_unique<service::Overrides>(
        *service.limits,
        std::make_unique<steering::SharedKeeper>(std::move(ask), service.options().wall_clock,
                                                 core::random_key),
        steering::OverrideBook(), links_of(service));
  if (settings.snapshot.empty())
    return std::make_unique<service::Overrides>(*service.limits, std::make_unique<steering::MemoryKeeper>(),
                                                empty_book(), links_of(service));
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
  if (book->next_number() == 1) book = empty_book();
  return std::make_unique<service::Overrides>(*service.limits, std::move(keeper), *std::move(book),
                                              links_of(service));
}

OverridesThread::OverridesThread(service::Service& service, net::Timers& timers)
    : service_(service), looks_again_(timers) {
  service_.steer = [this](std::function<void()> work) { thread_.run(std::move(work)); };
  look();
  looks_again_.start(std::chrono::milliseconds{500}, [this] { look(); });
}

// One at a time: a store that does not answer makes it take longer.
void OverridesThread::look() {
  if (looks_.exchange(true)) return;
  thread_.run([this] {
    service_.overrides->look();
    looks_ = false;
  });
}

OverridesThread::~OverridesThread() {
  service_.steer = [](const std::function<void()>& work) { work(); };
}

}  // namespace weir::server
