#include "http/exchange.hpp"

#include "http/gate_request.hpp"
#include "http/json.hpp"

namespace weir::inline v0_1::http {

HttpLoop::HttpLoop(service::Service& service, store::Store& store, waiting::AcquiringStore* acquiring,
                   Post from)
    : post(std::move(from)),
      asker(service, store, acquiring),
      json(std::make_unique<Json>()),
      gate_request(std::make_unique<GateRequest>()),
      service_(service) {}

HttpLoop::~HttpLoop() = default;

std::unique_ptr<Exchange> HttpLoop::take() {
  if (exchanges_.empty()) return std::make_unique<Exchange>(service_, *this);
  std::unique_ptr<Exchange> last = std::move(exchanges_.back());
  exchanges_.pop_back();
  return last;
}

void HttpLoop::put_back(std::unique_ptr<Exchange> exchange) {
  constexpr std::size_t kMostText = std::size_t{64} << 10;
  exchange->gateway = nullptr;
  exchange->tell = nullptr;
  exchange->verb = service::kVerbs.data();
  exchange->prefers.reset();
  exchange->batch = exchange->trusted = false;
  exchange->told = 0;
  exchange->faults.clear();
  exchange->reply.clear();
  if (exchanges_.size() < kMostFree && exchange->reply.body.capacity() <= kMostText)
    exchanges_.push_back(std::move(exchange));
}

std::string_view HttpLoop::date() {
  const auto now = std::chrono::floor<std::chrono::seconds>(service_.wall_now());
  if (now != dated_) {
    dated_ = now;
    date_ = date_text(std::chrono::sys_seconds(now));
  }
  return date_;
}

}  // namespace weir::http
