#include "redis/node.hpp"

#include <limits>

#include "resp/writer.hpp"

namespace weir::inline v0_1::redis {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kConnectAtMost = 500ms;  // and greet
constexpr nanoseconds kFirstRetry = 20ms;      // less a half at most, or more by a half
constexpr nanoseconds kLastRetry = 400ms;      // back within a second of a recovery
constexpr nanoseconds kSteadyAfter = 1s;       // of being up, failures are forgotten
constexpr nanoseconds kPingAfter = 1s;

}  // namespace

void Node::ask(SentCommand::Kind kind, std::span<const std::string_view> words, nanoseconds now) {
  resp::Writer request(out);
  request.array(words.size());
  for (const std::string_view word : words) request.bulk(word);
  questions.push_back({kind, {}, now, {}, 0});
  ++untaken;
}

void Node::send(const OpenCall& call, CallRef ref, nanoseconds now) {
  out += call.command;
  questions.push_back({SentCommand::Kind::call, ref, now, call.patience, questions.size() + 1});
  ++untaken;
}

std::string Node::take_output() {
  untaken = 0;
  return std::exchange(out, {});
}

void Node::go_up(nanoseconds now) {
  state = State::up;
  since = heard = now;
  ever_failed = false;
}

std::vector<CallRef> Node::take_waiting() {
  std::vector<CallRef> calls;
  while (const auto next = admission.next()) calls.push_back(next->call);
  return calls;
}

Node::Lost Node::go_down(Cause why, std::string what, nanoseconds now, Jitter& jitter) {
  if (up() && now >= since + kSteadyAfter) failures = 0;
  cause = why;
  error = std::move(what);
  state = State::down;
  ever_failed = true;
  loading_script = asked = false;
  take_output();
  in.clear();
  Lost lost{std::exchange(questions, {}), take_waiting()};
  admission.window = {};
  // Soon, since most breaks are short; the patience that grows is counted from the last time, so that a node
  // that lets us wait is not waited for twice.
  const int doublings = std::min(failures++, 6);
  retry_at = now + jitter(kFirstRetry);
  retry_at = std::max(retry_at, tried_at + jitter(std::min(kFirstRetry * (1 << doublings), kLastRetry)));
  return lost;
}

nanoseconds Node::due(nanoseconds silence) const {
  if (state == State::down) return retry_at;
  if (state != State::up) return tried_at + kConnectAtMost;
  if (questions.empty()) return heard + kPingAfter;
  const SentCommand& first = questions.front();
  // The answers before it may have taken their time.
  return std::max(first.sent_at, heard) +
         (first.kind == SentCommand::Kind::call ? std::max(silence, first.patience) : kAnswerAtMost);
}

Nodes::Load Nodes::load() const {
  Load load;
  for (const Node& node : nodes_) {
    load.under_way += node.questions.size();
    load.waiting += node.admission.waits();
  }
  return load;
}

std::size_t Nodes::room() const {
  std::size_t most = 0;
  for (const Node& node : nodes_) {
    if (node.up() && !node.sentinel) most = std::max(most, node.room());
  }
  return any_up(false) ? most : std::numeric_limits<std::size_t>::max();
}

nanoseconds Nodes::round_trip() const {
  nanoseconds longest{0};
  for (const Node& node : nodes_) {
    if (node.up() && !node.sentinel) longest = std::max(longest, node.admission.window.round_trip());
  }
  return longest;
}

}  // namespace weir::redis
