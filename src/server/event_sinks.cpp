#include "server/event_sinks.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "server/event_queue.hpp"
#include "server/event_sink.hpp"
#include "steering/event_line.hpp"

namespace weir::inline v0_1::server {
namespace {

constexpr std::chrono::seconds kFirstRest{1};
constexpr std::chrono::seconds kLongestRest{60};
constexpr std::chrono::seconds kGathering{1};

}  // namespace

struct EventSinks::Place {
  Place(std::unique_ptr<EventSink> its_sink, const EventSinks& all)
      : sink(std::move(its_sink)),
        queue([&all](std::uint64_t lines) {
          return all.line_of({.what = steering::OperatorEvent::What::dropped, .count = lines});
        }),
        log(all.options_.log),
        thread([this] { run(); }) {}

  void run() {
    std::chrono::milliseconds rest{0};
    bool fails = false;
    while (true) {
      const EventQueue::Batch batch = queue.take(sink->gathers() ? kGathering : std::chrono::seconds{0});
      if (batch.text.empty()) return;
      const std::string wrong = sink->deliver(batch.text);
      if (wrong.empty()) {
        queue.delivered(batch);
        rest = {};
        if (std::exchange(fails, false)) log(false, "events: " + sink->name() + ": delivered again");
        continue;
      }
      if (!std::exchange(fails, true)) log(true, "events: " + sink->name() + ": " + wrong);
      if (queue.ends()) return;
      rest = std::clamp<std::chrono::milliseconds>(rest * 2, kFirstRest, kLongestRest);
      queue.rest(rest);
    }
  }

  const std::unique_ptr<EventSink> sink;
  EventQueue queue;
  const std::function<void(bool, const std::string&)>& log;
  std::thread thread;
};

EventSinks::EventSinks(Options options) : options_(std::move(options)) {
  std::vector<std::unique_ptr<EventSink>> sinks;
  for (const std::string& each : options_.places) sinks.push_back(make_event_sink(each));
  for (auto& each : sinks) places_.push_back(std::make_unique<Place>(std::move(each), *this));
}

EventSinks::~EventSinks() {
  for (const auto& each : places_) each->queue.end();
  for (const auto& each : places_) each->sink->give_up();
  for (const auto& each : places_) each->thread.join();
}

std::string EventSinks::line_of(const steering::OperatorEvent& event) const {
  return steering::event_line(event, options_.wall_clock(), options_.server);
}

void EventSinks::tell(const steering::OperatorEvent& event) {
  if (places_.empty()) return;
  told_.fetch_add(1, std::memory_order_relaxed);
  const std::string line = line_of(event);
  for (const auto& each : places_) each->queue.add(line);
}

void EventSinks::reopen() {
  for (const auto& each : places_) each->sink->reopen();
}

void EventSinks::add_rows(service::Metrics& metrics) const {
  using service::Section;
  metrics.counter(Section::stats, "events", "weir_events_total", "Events that were told", told_);
  const auto dropped = [this] {
    std::uint64_t all = 0;
    for (const auto& each : places_) all += each->queue.dropped();
    return all;
  };
  metrics.counter(Section::stats, "events_dropped", "weir_events_dropped_total",
                  "Events that were dropped as a place did not take them", dropped);
}

}  // namespace weir::server
