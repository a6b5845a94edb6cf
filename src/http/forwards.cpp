#include "http/forwards.hpp"

#include <algorithm>
#include <utility>

namespace weir::inline v0_1::http {

struct Forwards::One {
  std::string request;
  std::function<void(Forwarded)> done;
  Forwarded answer{};
  std::unique_ptr<Conversation> conversation{};
  std::shared_ptr<int> alive = std::make_shared<int>();
};

Forwards::Forwards(service::Service& service, HttpLoop& loop) : service_(service), loop_(loop) {}
Forwards::~Forwards() = default;

void Forwards::begin(std::string request, net::Peer peer, steering::Role most,
                     std::function<void(Forwarded)> done) {
  One& one = *open_.emplace_back(std::make_unique<One>(One{std::move(request), std::move(done)}));
  // It must not be fed from inside of its own call.
  const auto resume = [this, &one, alive = std::weak_ptr<int>(one.alive)] {
    loop_.post([this, &one, alive] {
      if (!alive.expired()) go_on(one);
    });
  };
  one.conversation = std::make_unique<Conversation>(service_, loop_, std::move(peer), resume, most);
  one.conversation->let_pages_ask();
  go_on(one);
}

void Forwards::go_on(One& one) {
  const std::chrono::nanoseconds now = service_.now();
  const std::size_t taken = one.conversation->feed(one.request, one.answer.reply, {now, now});
  one.request.erase(0, taken);
  if (one.conversation->waiting()) return;
  one.answer.closes = one.conversation->closing();
  one.answer.late = one.conversation->late();
  one.done(std::move(one.answer));
  open_.remove_if([&one](const std::unique_ptr<One>& each) { return each.get() == &one; });
}

}  // namespace weir::http
