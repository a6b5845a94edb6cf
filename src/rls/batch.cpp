#include "rls/batch.hpp"

#include <algorithm>
#include <utility>

#include "rls/file_descriptor.hpp"
#include "rls/form.hpp"
#include "rls/metadata.hpp"

namespace weir::inline v0_1::rls {
namespace {

using std::chrono::nanoseconds;

// What is left less than this before its deadline is too late for a store beyond this process.
constexpr std::chrono::milliseconds kWayBack{2};

}  // namespace

Batch::Batch(RlsLoop& loop, grpc::Connection& connection, std::string peer, std::function<void()> resume)
    : loop_(loop),
      connection_(connection),
      peer_(std::move(peer)),
      asking_(loop.asker, std::hash<std::string>{}(peer_), [](service::Question&) {}, std::move(resume)) {}

void Batch::begin(store::Arrival when) {
  when_ = when;
  asking_.begin(when);
}

void Batch::take(grpc::GrpcCall& call) {
  RlsCounts& counts = loop_.counts;
  RlsCounts::count(counts.calls);
  if (when_.now >= call.deadline) {
    RlsCounts::count(counts.late);
    return connection_.refuse(call, grpc::Code::deadline_exceeded, "the deadline has passed");
  }
  RateLimitRequest& request = loop_.request;
  Wrong wrong = request.read(call.message());
  if (wrong != Wrong::nothing) return refuse(call, wrong);
  const limits::Set* const set = loop_.asker.limits();
  if (set == nullptr)
    return connection_.refuse(call, grpc::Code::unknown, "no rate limit configuration loaded");
  const limits::RlsDomain* const domain = set->rls(request.domain());
  if (domain != nullptr) {
    nanoseconds patience{0};
    if (loop_.is_far && call.deadline != grpc::GrpcCall::kNoDeadline)
      patience = std::max<nanoseconds>(call.deadline - when_.now - kWayBack, nanoseconds{1});
    wrong = ask(*domain, patience);
    if (wrong != Wrong::nothing) return refuse(call, wrong);
  } else {
    RlsCounts::count(counts.unknown_domain);
    for (std::size_t i = 0; i < request.descriptors().size(); ++i)
      asking_.add_answered(byte_of(Form::free) | kLast);
  }
  call.asked = true;
  messages_.push_back({&call, request.descriptors().size(), RateLimitAnswer(call.answer())});
}

// All descriptors, or none of them.
Wrong Batch::ask(const limits::RlsDomain& domain, nanoseconds patience) {
  service::Asker& asker = loop_.asker;
  const std::size_t before = asker.size();
  for (const AskedDescriptor& each : loop_.request.descriptors()) {
    const Wrong wrong = ask_by_file(loop_, asking_, each, domain, patience);
    if (wrong != Wrong::nothing) {
      while (asker.size() > before) asker.drop_last();
      return wrong;
    }
    asker[asker.size() - 1].form |= kLast;
  }
  return Wrong::nothing;
}

// What Envoy's configuration alone can cause is an error; what anybody can, denies.
void Batch::refuse(grpc::GrpcCall& call, Wrong wrong) {
  const std::string_view why = sentence_of(wrong);
  if (wrong == Wrong::malformed) return connection_.refuse(call, grpc::Code::internal, why);
  if (!is_bad(wrong)) return connection_.refuse(call, grpc::Code::invalid_argument, why);
  service::Service& service = loop_.asker.service();
  loop_.counts.count(wrong);
  service.notices.tell(core::Notice::rls_refused, peer_, why);
  if (loop_.options.bad_is_error) return connection_.refuse(call, grpc::Code::invalid_argument, why);
  service.counters.count(&service::Counters::denied);
  RateLimitAnswer answer(call.answer());
  for (std::size_t i = 0; i < loop_.request.descriptors().size(); ++i) answer.add({.over = true});
  answer.raw_body(why);
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
  const Form form = form_of(question.form);
  if (form == Form::refused) {
    telling_.deny();
  } else if (form == Form::by_file && question.fault != Fault::none) {
    telling_.undecided = true;
  } else if (form == Form::by_file) {
    const limits::Set& set = *asking_.set_of(question);
    const bool charges = question.verb == store::Verb::charge;
    if (charges) decide_charge(question);
    const bool looks =
        question.looks() || (charges && !question.checks.empty() && question.checks[0].cost.units == 0);
    if ((question.form & kShadow) != 0) question.checks[0].shadow = true;
    telling_.add(question, set);
    if (!looks) loop_.asker.count(question, &set, !telling_.status.over);
  }
  if ((question.form & kLast) != 0) tell_descriptor(messages_[told_]);
}

void Batch::tell_descriptor(Message& message) {
  const Status& status = telling_.status;
  if (!status.limit && !status.over) RlsCounts::count(loop_.counts.unlimited);
  message.answer.add(status, telling_.undecided && !status.over);
  message.tightest.take(status);
  message.over = message.over || status.over;
  message.undecided = message.undecided || telling_.undecided;
  message.by_fallback = message.by_fallback || telling_.by_fallback;
  if (telling_.helps && status.until_reset)
    message.retry_after = std::max(message.retry_after, *status.until_reset);
  telling_.clear();
  if (--message.left > 0) return;
  ++told_;
  finish(message);
}

void Batch::finish(Message& message) {
  if (message.undecided && !message.over)
    return connection_.refuse(*message.call, grpc::Code::unavailable, "nobody could decide");
  write_headers(message);
  if (loop_.options.metadata)
    message.answer.metadata(metadata_of(message.call->message(), message.by_fallback));
  connection_.reply(*message.call);
}

void Batch::write_headers(Message& message) const {
  const auto& names = loop_.options.headers;
  if (!names[0].empty() && message.tightest.any) {
    const Tightest& least = message.tightest;
    message.answer.header(names[0], std::to_string(least.limit));
    message.answer.header(names[1], std::to_string(least.remaining));
    message.answer.header(names[2], std::to_string(least.until_reset.count()));
  }
  if (message.retry_after.count() > 0)
    message.answer.header("Retry-After", std::to_string(message.retry_after.count()));
}

}  // namespace weir::rls
