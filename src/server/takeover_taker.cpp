#include "server/takeover_taker.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "core/plural.hpp"
#include "server/snapshots.hpp"
#include "server/takeover_facts.hpp"
#include "server/takeover_memory.hpp"

namespace weir::inline v0_1::server {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::nanoseconds;

// For an answer that costs nothing to give.
constexpr std::chrono::seconds kAnswers{10};

}  // namespace

std::vector<std::string> names_of(const TakeoverParts& parts) {
  std::vector<std::string> names;
  for (const TakeoverPart& each : parts) names.push_back(each.name);
  return names;
}

std::optional<TakeoverTaker> TakeoverTaker::begin(const Settings& settings,
                                                  const std::vector<std::string>& parts) {
  if (settings.takeover.empty()) return std::nullopt;
  const std::string hello = pack_hello(facts_of(settings, parts));
  std::optional<TakeoverChannel> channel;
  try {
    channel = TakeoverChannel::connect(settings.takeover);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("takeover: '" + settings.takeover + "': " + error.what());
  }
  if (!channel) return std::nullopt;
  std::optional<TakeoverTaker> taker(TakeoverTaker(settings.takeover, *std::move(channel)));
  if (!taker->channel_.is_of_us())
    taker->fail("a process of another user listens there; only one of the same user hands over");
  // One that is refused before it has said anything hears why all the same.
  taker->channel_.send(hello, {}, Steady::now() + kAnswers);
  taker->hear_offer();
  return taker;
}

void TakeoverTaker::fail(const std::string& what) const {
  throw std::runtime_error("takeover: '" + path_ + "': " + what);
}

// `what`: where the other has not ended, or that cannot be known. One that stays in charge has said so before
// it went.
void TakeoverTaker::fail_as_gone(const std::string& what) const {
  const bool stays = word_ && word_->is_said();
  if (!channel_.its_process_ends(Steady::now() + (stays ? std::chrono::seconds{0} : kAnswers))) fail(what);
  throw OtherHasEnded("takeover: '" + path_ + "': the process in charge has ended and not handed over");
}

void TakeoverTaker::hear_offer() {
  auto answer = channel_.receive(Steady::now() + kAnswers);
  if (!answer && channel_.has_gone())
    fail_as_gone("the process in charge has just ended, or another takes over from it: try again");
  if (!answer) fail("the process in charge does not answer");
  auto offer = read_offer(answer->bytes);
  if (!offer) fail(offer.error());
  offer_ = *std::move(offer);
  const std::size_t before = offer_.has_lock ? 2 : 1;
  std::vector<net::OwnedDescriptor>& given = answer->descriptors;
  if (given.size() != before + offer_.listeners.size())
    fail("the process in charge offers half of what it has");
  try {
    word_ = std::make_unique<TakeoverWord>(std::move(given[0]));
  } catch (const std::exception& error) {
    fail(error.what());
  }
  if (offer_.has_lock) lock_ = std::move(given[1]);
  std::move(given.begin() + static_cast<std::ptrdiff_t>(before), given.end(), std::back_inserter(listeners_));
}

Settings TakeoverTaker::settings(Settings ours) {
  return with_listeners(std::move(ours), offer_.listeners, std::move(listeners_));
}

void TakeoverTaker::take_over(const Into& into) {
  Received received = receive();
  restore(received, into);
  take_charge();
  for (std::size_t i = 0; i < offer_.listeners.size(); ++i)
    into.all_listeners[i]->own_file(offer_.listeners[i].owns_file);
  connections_ = received.connections.size();
  stopped_ = received.stopped;
  for (Connection& each : received.connections) {
    TakeoverConnection& what = each.what;
    const net::Protocol& protocol = *into.listeners.plain(what.protocol, each.descriptor.get());
    into.dispatcher.take_over(
        each.descriptor.release(),
        {what.id, std::move(what.address), static_cast<std::uint16_t>(what.port), what.local},
        std::move(what.state), std::move(what.rest), protocol);
  }
}

// All that may be refused, before the word is said.
void TakeoverTaker::restore(Received& received, const Into& into) {
  for (const Connection& each : received.connections)
    if (into.listeners.plain(each.what.protocol, each.descriptor.get()) == nullptr)
      fail("the process in charge has other protocols");
  MemoryDisk disk(std::move(received.parts[kTablePart]));
  auto file = store::SnapshotFile::open("takeover", {}, disk);
  if (!file) fail(file.error());
  const auto restored =
      file->take_over_into(into.embedded.table(), into.now(), into.embedded.reservations(), into.threads);
  if (!restored) fail(restored.error());
  restored_ = *restored;
  warn_of_lost("takeover", into.embedded.reservations());
  for (const TakeoverPart& each : into.parts) {
    const auto found = received.parts.find(each.name);
    if (found != received.parts.end() && !each.restore(read_all(found->second)))
      fail("'" + each.name + "' is handed over in a form that is not understood");
  }
}

void TakeoverTaker::tell(nanoseconds now) const {
  using std::chrono::milliseconds;
  const auto took = std::chrono::ceil<milliseconds>(Steady::now() - began_);
  spdlog::info("took over from process {}: {}, {}, in {} ms: decisions paused {} ms", channel_.its_process(),
               core::counted(restored_.keys, "key"), core::counted(connections_, "connection"), took.count(),
               std::chrono::ceil<milliseconds>(now - stopped_).count());
  if (restored_.dropped > 0)
    spdlog::warn("takeover: {} keys, those least in debt, have no room and are forgotten", restored_.dropped);
}

TakeoverTaker::Received TakeoverTaker::receive() {
  if (!channel_.send(pack_word(kBegin), {}, Steady::now() + kAnswers))
    fail_as_gone("the process in charge has ended, or waits for this one no longer");
  std::map<std::string, net::OwnedDescriptor> parts;
  std::vector<net::OwnedDescriptor> descriptors;
  for (;;) {
    auto message = channel_.receive(Steady::now() + kAnswers + offer_.longest);
    if (!message && channel_.has_gone()) fail_as_gone("the process in charge stays in charge, or has ended");
    if (!message) fail("the process in charge does not hand over");
    const TakeoverStep step = read_step(message->bytes);
    if (step.kind == kDone) return put_together(std::move(parts), std::move(descriptors), step.done);
    if (step.kind == kConnections) {
      std::move(message->descriptors.begin(), message->descriptors.end(), std::back_inserter(descriptors));
    } else if (step.kind == kPart && message->descriptors.size() == 1) {
      parts[step.name] = std::move(message->descriptors.front());
    } else {
      fail("the process in charge says what is not understood");
    }
  }
}

TakeoverTaker::Received TakeoverTaker::put_together(std::map<std::string, net::OwnedDescriptor> parts,
                                                    std::vector<net::OwnedDescriptor> descriptors,
                                                    const TakeoverDone& done) {
  Received received{.parts = std::move(parts), .connections = {}, .stopped = done.stopped};
  std::vector<TakeoverConnection> told;
  const auto found = received.parts.find(kConnectionsPart);
  if (found == received.parts.end() || !received.parts.contains(kTablePart) ||
      !read_connections(read_all(found->second), told) || told.size() != descriptors.size() ||
      told.size() != done.connections)
    fail("the process in charge has handed over half of what it has");
  for (std::size_t i = 0; i < told.size(); ++i)
    received.connections.push_back({std::move(told[i]), std::move(descriptors[i])});
  return received;
}

void TakeoverTaker::take_charge() {
  if (!word_->take_over())
    fail_as_gone("this process was not ready in time, so the process in charge stays in charge");
}

void TakeoverTaker::say_ready() {
  channel_.send(pack_word(kReady), {}, Steady::now() + std::chrono::seconds{1});
}

}  // namespace weir::server
