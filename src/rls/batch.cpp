#include "rls/batch.hpp"

#include <algorithm>
#include <utility>

#include "limits/attribute.hpp"
#include "limits/scalars.hpp"
#include "rls/status.hpp"

namespace weir::inline v0_1::rls {
namespace {

using std::chrono::nanoseconds;

// What is left less than this before its deadline is too late for a store beyond this process.
constexpr std::chrono::milliseconds kWayBack{2};

}  // namespace

Batch::Batch(RlsLoop& loop, grpc::Connection& connection, std::uint64_t client, std::function<void()> resume)
    : loop_(loop),
      connection_(connection),
      asking_(loop.asker, client, [](service::Question&) {}, std::move(resume)) {}

void Batch::begin(store::Arrival when) {
  when_ = when;
  asking_.begin(when);
}

void Batch::take(grpc::Call& call) {
  if (when_.now >= call.deadline)
    return connection_.refuse(call, grpc::Code::deadline_exceeded, "the deadline has passed");
  Request& request = loop_.request;
  Wrong wrong = request.read(call.message());
  if (wrong != Wrong::nothing) return refuse(call, wrong);
  const limits::Set* const set = loop_.asker.limits();
  if (set == nullptr)
    return connection_.refuse(call, grpc::Code::unknown, "no rate limit configuration loaded");
  const limits::RlsDomain* const domain = set->rls(request.domain());
  nanoseconds patience{0};
  if (loop_.is_far && call.deadline != grpc::Call::kNoDeadline)
    patience = std::max(call.deadline - when_.now - kWayBack, nanoseconds{1});
  std::size_t asked = 0;
  for (const Descriptor& each : request.descriptors()) {
    wrong = domain == nullptr ? Wrong::nothing : ask(each, *domain, patience);
    if (domain == nullptr) asking_.add_answered(static_cast<std::uint8_t>(Form::free));
    if (wrong != Wrong::nothing) break;
    ++asked;
  }
  if (wrong != Wrong::nothing) {
    while (asked-- > 0) loop_.asker.drop_last();
    return refuse(call, wrong);
  }
  call.asked = true;
  messages_.push_back({&call, asked, Answer(call.answer())});
}

// By weir's own file: its entries are attributes.
Wrong Batch::ask(const Descriptor& descriptor, const limits::RlsDomain& domain, nanoseconds patience) {
  const Request& request = loop_.request;
  const auto entries = request.entries(descriptor);
  auto& attributes = loop_.asker.attributes();
  const limits::Set& set = *loop_.asker.limits();
  std::size_t count = 0;
  for (const Entry& each : entries) {
    const auto same = [&each](const Entry& other) { return other.key == each.key; };
    if (std::count_if(entries.begin(), entries.end(), same) > 1) return Wrong::key_twice;
    const std::string_view name = domain.attribute_of(each.key);
    if (name.empty() || !limits::wrong_attribute(name).empty() ||
        !(set.takes_any_attribute() || set.knows_attribute(name)))
      continue;
    attributes[count++] = {name, each.value};
  }
  if (count == 0) {
    asking_.add_answered(static_cast<std::uint8_t>(Form::free));
    return Wrong::nothing;
  }
  const std::uint64_t hits = std::min(request.hits(descriptor), limits::kMostUnits);
  const bool looks = hits == 0 || descriptor.gives_back;
  const limits::Description description{.attributes = std::span(attributes).first(count),
                                        .cost = looks ? 1 : hits};
  const service::Ask ask{.verb = looks ? store::Verb::look : store::Verb::check, .as = &description};
  if (service::Question* const question = asking_.add(ask, static_cast<std::uint8_t>(Form::by_file), false)) {
    question->patience = patience;
    return Wrong::nothing;
  }
  if (loop_.asker.refusal().what != service::Refusal::What::required) return Wrong::attribute;
  asking_.add_answered(static_cast<std::uint8_t>(Form::refused));
  return Wrong::nothing;
}

// What Envoy's configuration alone can cause is an error; what anybody can, denies.
void Batch::refuse(grpc::Call& call, Wrong wrong) {
  if (!is_bad(wrong)) {
    const bool broken = wrong == Wrong::malformed;
    return connection_.refuse(call, broken ? grpc::Code::internal : grpc::Code::invalid_argument,
                              sentence_of(wrong));
  }
  Answer answer(call.answer());
  for (std::size_t i = 0; i < loop_.request.descriptors().size(); ++i) answer.add({.over = true});
  answer.raw_body(sentence_of(wrong));
  connection_.reply(call);
}

bool Batch::settle() {
  const bool done = asking_.settle([this](const service::Question& question) { tell(question); });
  if (told_ == messages_.size()) {
    messages_.clear();
    told_ = 0;
  }
  return done;
}

void Batch::tell(const service::Question& question) {
  Message& message = messages_[told_];
  const auto form = static_cast<Form>(question.form);
  if (form != Form::by_file) {
    message.answer.add({.over = form == Form::refused});
  } else if (question.fault != Fault::none) {
    message.undecided = true;
    message.answer.add({});
  } else {
    const limits::Set& set = *asking_.set_of(question);
    const auto [status, retry_after] = status_of(question, set, name_);
    if (!question.looks()) loop_.asker.count(question, &set, !status.over);
    message.over = message.over || status.over;
    message.retry_after = std::max(message.retry_after, retry_after.value_or(message.retry_after));
    message.answer.add(status);
  }
  message.over = message.over || form == Form::refused;
  if (--message.left > 0) return;
  ++told_;
  finish(message);
}

void Batch::finish(Message& message) {
  if (message.undecided && !message.over)
    return connection_.refuse(*message.call, grpc::Code::unavailable, "nobody could decide");
  if (message.retry_after.count() > 0)
    message.answer.header("Retry-After", std::to_string(message.retry_after.count()));
  connection_.reply(*message.call);
}

}  // namespace weir::rls
