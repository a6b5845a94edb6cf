#include "redis/lookup.hpp"

#include <boost/asio/post.hpp>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

namespace weir::inline v0_1::redis {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

struct UnderWay {
  detail::Mutex mutex;
  std::map<std::pair<std::string, std::uint16_t>, std::vector<std::weak_ptr<Lookup>>> waiting
      WEIR_GUARDED_BY(mutex);
};

// Never destroyed: a thread may come back when the program has all but ended.
UnderWay& under_way() {
  static auto* const kUnderWay = new UnderWay;
  return *kUnderWay;
}

std::vector<std::shared_ptr<Lookup>> take_waiting(const std::string& host, std::uint16_t port) {
  UnderWay& names = under_way();
  const detail::Held lock(names.mutex);
  const auto found = names.waiting.extract({host, port});
  std::vector<std::shared_ptr<Lookup>> alive;
  for (const auto& each : found.mapped()) {
    if (auto lookup = each.lock()) alive.push_back(std::move(lookup));
  }
  return alive;
}

}  // namespace

std::shared_ptr<Lookup> Lookup::start(asio::io_context& context, const std::string& host, std::uint16_t port,
                                      Done done) {
  auto lookup = std::make_shared<Lookup>(context, std::move(done));
  {
    UnderWay& names = under_way();
    const detail::Held lock(names.mutex);
    const auto [it, first] = names.waiting.try_emplace({host, port});
    // Those that have given up meanwhile must not add up.
    std::erase_if(it->second, [](const auto& each) { return each.expired(); });
    it->second.push_back(lookup);
    if (!first) return lookup;
  }
  try {
    std::thread([host, port] { run(host, port); }).detach();
  } catch (const std::system_error& error) {
    const error_code why(error.code().value(), boost::system::system_category());
    for (const auto& each : take_waiting(host, port)) each->answer(why, {});
  }
  return lookup;
}

void Lookup::run(const std::string& host, std::uint16_t port) {
  asio::io_context own;  // without a thread, since it waits here
  error_code error;
  Endpoints found;
  for (const auto& each : tcp::resolver(own).resolve(host, std::to_string(port), error)) {
    found.push_back(each.endpoint());
  }
  for (const auto& each : take_waiting(host, port)) each->answer(error, found);
}

void Lookup::answer(const error_code& error, const Endpoints& found) {
  const detail::Held lock(mutex_);
  if (context_ == nullptr) return;
  asio::post(*std::exchange(context_, nullptr),
             [done = std::exchange(done_, {}), error, found] { done(error, found); });
}

void Lookup::cancel() {
  Done ended;  // what it holds may go with it, and we with that: after the lock
  const detail::Held lock(mutex_);
  context_ = nullptr;
  ended.swap(done_);
}

}  // namespace weir::redis
