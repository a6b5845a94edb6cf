#include "cli/top_watch.hpp"

#include <future>
#include <memory>
#include <utility>

#include "cli/ctl_answer.hpp"

namespace weir::inline v0_1::cli {
namespace {

// What it says or what is wrong. A connection lasts until something is.
ServerTop ask_one(const ServerFlags& flags, const ServerFlags::Named& server, const TopWanted& wanted,
                  std::unique_ptr<ServerConnection>& connection, const std::function<bool()>& interrupted) {
  ServerTop top;
  try {
    if (!connection) connection = flags.connect(server, interrupted);
    connection->renew_patience();
    top = top_of(*connection, wanted.limit, wanted.by);
  } catch (const RefusedByServer& refused) {
    top.wrong = refused.what();
    top.refused = true;
  } catch (const std::exception& error) {
    top.wrong = error.what();
    connection = nullptr;
  }
  top.server = server.name;
  top.by = wanted.by;
  return top;
}

}  // namespace

std::vector<ServerTop> ask_all(const ServerFlags& flags, const TopWanted& wanted) {
  const auto servers = flags.servers();
  std::vector<std::future<ServerTop>> asked;
  for (const ServerFlags::Named& each : servers) {
    asked.push_back(std::async(std::launch::async, [&flags, &wanted, &each] {
      std::unique_ptr<ServerConnection> connection;
      return ask_one(flags, each, wanted, connection, {});
    }));
  }
  std::vector<ServerTop> all;
  for (auto& each : asked) all.push_back(each.get());
  return all;
}

TopWatch::TopWatch(const ServerFlags& flags, TopWanted wanted, std::chrono::nanoseconds every,
                   std::function<void()> changed)
    : flags_(flags),
      servers_(flags.servers()),
      every_(every),
      changed_(std::move(changed)),
      wanted_(std::move(wanted)),
      latest_(servers_.size()) {
  for (std::size_t i = 0; i < servers_.size(); ++i) threads_.emplace_back([this, i] { watch(i); });
}

TopWatch::~TopWatch() {
  end();
  for (std::thread& each : threads_) each.join();
}

void TopWatch::end() {
  const detail::Held lock(mutex_);
  ends_ = true;
  wake_.notify_all();
}

bool TopWatch::ends() const {
  const detail::Held lock(mutex_);
  return ends_;
}

void TopWatch::sort_by(const std::string& by) {
  {
    const detail::Held lock(mutex_);
    wanted_.by = by;
  }
  wake_.notify_all();
}

std::vector<ServerTop> TopWatch::latest() const {
  const detail::Held lock(mutex_);
  std::vector<ServerTop> found;
  for (const ServerTop& each : latest_)
    if (each.by == wanted_.by) found.push_back(each);
  return found;
}

void TopWatch::watch(std::size_t server) {
  std::unique_ptr<ServerConnection> connection;
  while (true) {
    TopWanted wanted;
    {
      const detail::Held lock(mutex_);
      if (ends_) return;
      wanted = wanted_;
    }
    const auto next = std::chrono::steady_clock::now() + every_;
    ServerTop top = ask_one(flags_, servers_[server], wanted, connection, [this] { return ends(); });
    {
      const detail::Held lock(mutex_);
      if (ends_) return;
      latest_[server] = std::move(top);
    }
    changed_();
    const detail::Held lock(mutex_);
    while (!ends_ && wanted_.by == wanted.by && wake_.wait_until(mutex_, next)) {
    }
  }
}

}  // namespace weir::cli
