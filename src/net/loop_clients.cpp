#include "net/loop_clients.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <iterator>
#include <memory>
#include <utility>

#include "net/session.hpp"

namespace weir::inline v0_1::net {
namespace {

// Visits each loop in a turn of its, and then the first one again.
struct Tour {
  Loop& home;
  std::function<void(Loop&)> visit;
  std::function<void()> end;
};

void go_on(std::shared_ptr<Tour> tour, std::size_t at) {
  const std::vector<Loop*>& loops = tour->home.counters.loops;
  Loop& next = at < loops.size() ? *loops[at] : tour->home;
  boost::asio::post(next.context, [tour = std::move(tour), at, &next]() mutable {
    if (at == next.counters.loops.size()) return tour->end();
    tour->visit(next);
    go_on(std::move(tour), at + 1);
  });
}

}  // namespace

void LoopClients::list(std::function<void(const Rows&)> done) {
  askers_.push_back(std::move(done));
  if (!making_) make_list();
}

void LoopClients::make_list() {
  making_ = true;
  const auto found = std::make_shared<List>();
  const auto visit = [found](Loop& loop) {
    for (const auto& session : loop.sessions) found->rows.push_back(session->client());
  };
  const auto end = [this, found, askers = std::exchange(askers_, {})]() mutable {
    std::sort(found->rows.begin(), found->rows.end(),
              [](const ClientInfo& a, const ClientInfo& b) { return a.peer.id < b.peer.id; });
    hand_out(found, std::move(askers), 0);
  };
  go_on(std::make_shared<Tour>(Tour{mine_, visit, end}), 0);
}

void LoopClients::hand_out(Rows list, std::vector<ListCallback> askers, std::size_t next) {
  askers[next](list);
  askers[next] = nullptr;  // what it holds
  if (++next < askers.size()) {
    return boost::asio::post(mine_.context,
                             [this, list = std::move(list), askers = std::move(askers), next]() mutable {
                               hand_out(std::move(list), std::move(askers), next);
                             });
  }
  making_ = false;
  if (!askers_.empty()) make_list();
}

void LoopClients::close(std::vector<std::uint64_t> ids, std::function<void(std::size_t)> done) {
  std::sort(ids.begin(), ids.end());
  const auto closed = std::make_shared<std::size_t>(0);
  const auto visit = [closed, ids = std::move(ids)](Loop& loop) {
    if (ids.empty()) return;
    std::vector<std::shared_ptr<Session>> found;
    std::copy_if(
        loop.sessions.begin(), loop.sessions.end(), std::back_inserter(found),
        [&](const auto& session) { return std::binary_search(ids.begin(), ids.end(), session->id()); });
    for (const auto& session : found) session->close();
    *closed += found.size();
  };
  const auto end = [closed, done = std::move(done)] { done(*closed); };
  go_on(std::make_shared<Tour>(Tour{mine_, visit, end}), 0);
}

void LoopClients::end_wait(std::uint64_t id, bool with_error, std::function<void(std::size_t)> done) {
  const auto ended = std::make_shared<std::size_t>(0);
  const auto visit = [ended, id, with_error](Loop& loop) {
    for (const auto& session : loop.sessions)
      if (session->id() == id) *ended += session->end_wait(with_error) ? 1 : 0;
  };
  const auto end = [ended, done = std::move(done)] { done(*ended); };
  go_on(std::make_shared<Tour>(Tour{mine_, visit, end}), 0);
}

void LoopClients::post(std::function<void()> call) { boost::asio::post(mine_.context, std::move(call)); }

}  // namespace weir::net
