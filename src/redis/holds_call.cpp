// Which holds of a limit are open: one call, as all of its states lie in one slot. It changes nothing, and
// tells nobody but Redis: a server that counts by itself meanwhile has its own.
#include "redis/reserve_script.hpp"
#include "redis/store_calls.hpp"

namespace weir::inline v0_1::redis {

using std::chrono::nanoseconds;
using store::Request;

namespace {

class HoldsCall final : public StoreCall {
 public:
  HoldsCall(StoreParts& in, Request& request) : StoreCall(in), ticket_(request) {}

 private:
  void heard(std::unique_ptr<Call>, const Result& result, nanoseconds) override {
    Request* const request = ticket_.take();
    if (result.cause != Cause::none) in_.tally.failed(result.cause);
    if (request == nullptr) return;  // cancelled
    if (result.cause != Cause::none)
      return refuse(*request, 0, result.cause == Cause::wrongtype ? Fault::foreign_value : Fault::store_down,
                    std::string(result.error));
    auto open = read_holds(*result.value);
    if (!open) return refuse(*request, 0, Fault::store_down, open.error());
    request->reservation->open = *std::move(open);
    finish(*request);
  }

  Ticket ticket_;
};

}  // namespace

void holds(StoreParts& in, Request& request, nanoseconds now) {
  request.reservation->open.clear();
  if (request.checks.empty()) return finish(request);
  std::vector<KeptCheck> kept;
  std::vector<ScriptCheck> asks;
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    if (auto why = cannot_reserve(request.checks[i].limit->rule))
      return refuse(request, i, Fault::unsuitable, *std::move(why));
    kept.push_back(in.keep(request.checks[i]));
    if (in.slot(kept[i].name) != in.slot(kept[0].name))
      return refuse(request, i, Fault::unsuitable, "its states lie in different slots");
  }
  for (const KeptCheck& each : kept) asks.push_back(each.ask());
  std::string command;
  append_holds(command, in.endpoint.prefix, asks, request.reservation->most);
  in.client.call(std::make_unique<HoldsCall>(in, request), in.slot(kept[0].name), std::move(command),
                 now + in.patience_of(request), now);
}

}  // namespace weir::redis
