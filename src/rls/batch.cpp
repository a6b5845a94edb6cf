#include "rls/batch.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "rls/file_descriptor.hpp"
#include "rls/form.hpp"
#include "rls/held_limits.hpp"
#include "rls/hold_messages.hpp"
#include "rls/metadata.hpp"
#include "service/told.hpp"

namespace weir::inline v0_1::rls {
namespace {

using std::chrono::nanoseconds;

// What is left less than this before its deadline is too late for a store beyond this process.
constexpr std::chrono::milliseconds kWayBack{2};

// Once all are answered, the room for that many messages is kept for the next.
constexpr std::size_t kMostFree = 8;

constexpr std::string_view kRetryAfter = "Retry-After";
constexpr std::string_view kUndecided = "nobody could decide";

// Timers come late by a part of their length.
nanoseconds patience_of(nanoseconds left) {
  return std::max<nanoseconds>(left - left / 20 - kWayBack, nanoseconds{1});
}

}  // namespace

Batch::Batch(RlsLoop& loop, grpc::Connection& connection, std::string peer, std::function<void()> resume)
    : loop_(loop),
      connection_(connection),
      peer_(std::move(peer)),
      asking_(loop.asker, 0, peer_, [](service::Question&) {}, std::move(resume)) {}

void Batch::begin(store::Arrival when) {
  when_ = when;
  asking_.begin(when);
  loop_.trees.refresh();
  if (trees_ == loop_.trees.made()) return;
  trees_ = loop_.trees.made();
  loop_.series.adopt(trees_);
}

void Batch::take(grpc::GrpcCall& call, Asks asks) {
  RlsCounts& counts = loop_.counts;
  RlsCounts::count(counts.calls);
  if (asks == Asks::may_pass) RlsCounts::count(counts.asked);
  if (when_.now >= call.deadline) {
    RlsCounts::count(counts.late);
    return connection_.refuse(call, grpc::Code::deadline_exceeded, "the deadline has passed");
  }
  RateLimitRequest& request = loop_.request;
  loop_.asks = asks;
  Wrong wrong = request.read(call.message());
  if (wrong != Wrong::nothing) return refuse(call, wrong);
  if (loop_.asker.limits() == nullptr && trees_ == nullptr)
    return refuse(call, grpc::Code::unknown, "no rate limit configuration loaded");
  const nanoseconds patience = loop_.is_far && call.deadline != grpc::GrpcCall::kNoDeadline
                                   ? patience_of(call.deadline - when_.now)
                                   : nanoseconds{0};
  const std::size_t before = loop_.asker.size();
  const std::size_t limits_before = tree_limits_.size();
  wrong = ask_for(call, asks, patience);
  if (wrong != Wrong::nothing) take_back(call, wrong, before, limits_before);
}

// Refused; what it has asked so far is not asked.
void Batch::take_back(grpc::GrpcCall& call, Wrong wrong, std::size_t questions, std::size_t tree_limits) {
  while (loop_.asker.size() > questions) loop_.asker.drop_last();
  tree_limits_.resize(tree_limits);
  refuse(call, wrong);
}

Wrong Batch::ask_for(grpc::GrpcCall& call, Asks asks, nanoseconds patience) {
  if (asks == Asks::reserve) return ask_hold(call, patience);
  if (asks == Asks::commit) return ask_commit(call, patience);
  const Wrong wrong = ask(patience);
  if (wrong == Wrong::nothing) add(call, asks, loop_.request.descriptors().size());
  return wrong;
}

void Batch::add(grpc::GrpcCall& call, Asks asks, std::size_t parts) {
  call.asked = true;
  messages_.push_back({&call, parts, RateLimitAnswer(call.answer()), asks});
}

Wrong Batch::ask_hold(grpc::GrpcCall& call, nanoseconds patience) {
  const ReserveTerms terms = read_reserve(call.message());
  HeldLimits held;
  const Wrong wrong = find_held(loop_, asking_, trees_.get(), terms.amount, held);
  if (wrong != Wrong::nothing) return wrong;
  if (held.denied || loop_.holds.full() || held.all.empty()) {
    reply_reserved(call, held.denied || loop_.holds.full(), {});
    return Wrong::nothing;
  }
  service::Question& question = asking_.add_hold(terms.ttl + Holds::kLater, byte_of(Form::held));
  keep_held(held, question);
  question.patience = patience;
  add(call, Asks::reserve, 1);
  return Wrong::nothing;
}

// Its hold is settled; where there is none, what it cost is charged afterwards (ask_again).
Wrong Batch::ask_commit(grpc::GrpcCall& call, nanoseconds patience) {
  const CommitTerms terms = read_commit(call.message());
  HeldLimits met;
  const Wrong wrong = find_held(loop_, asking_, trees_.get(), 0, met);
  if (wrong != Wrong::nothing) return wrong;
  if (terms.id.empty()) {
    call.asked = true;
    again_.push_back(&call);
    return Wrong::nothing;
  }
  const service::Ask ask{
      .verb = store::Verb::settle, .id = terms.id, .actual = std::min(terms.actual, limits::kMostUnits)};
  service::Question* const question = asking_.add(ask, byte_of(Form::settled), false);
  if (question == nullptr) return Wrong::attribute;
  question->patience = patience;
  add(call, Asks::commit, 1);
  return Wrong::nothing;
}

// By the trees and the file that are in force now.
void Batch::ask_again() {
  for (grpc::GrpcCall* const call : std::exchange(again_, {})) {
    const std::uint64_t actual = read_commit(call->message()).actual;
    if (actual == 0) {
      reply_committed(*call, false);
      continue;
    }
    loop_.request.read(call->message());
    loop_.asks = Asks::commit;
    loop_.actual = actual;
    const std::size_t before = loop_.asker.size();
    const std::size_t limits_before = tree_limits_.size();
    const Wrong wrong = ask(nanoseconds{0});
    if (wrong == Wrong::nothing) {
      add(*call, Asks::commit, loop_.request.descriptors().size());
      continue;
    }
    take_back(*call, wrong, before, limits_before);
  }
}

// All descriptors, by the limits file where it has the domain, or by the trees.
Wrong Batch::ask(nanoseconds patience) {
  const std::string_view domain = loop_.request.domain();
  const limits::Set* const set = loop_.asker.limits();
  if (const auto* const by_file = set != nullptr ? set->rls(domain) : nullptr)
    return ask_file(*by_file, patience);
  if (const auto* const tree = trees_ ? trees_->find(domain) : nullptr)
    return ask_by_tree(loop_, asking_, *trees_, *tree, patience, tree_limits_);
  RlsCounts::count(loop_.counts.unknown_domain);
  for (std::size_t i = 0; i < loop_.request.descriptors().size(); ++i)
    asking_.add_answered(byte_of(Form::free) | kLast);
  return Wrong::nothing;
}

Wrong Batch::ask_file(const limits::RlsDomain& domain, nanoseconds patience) {
  for (const AskedDescriptor& each : loop_.request.descriptors()) {
    const Wrong wrong = ask_by_file(loop_, asking_, each, domain, patience);
    if (wrong != Wrong::nothing) return wrong;
    loop_.asker[loop_.asker.size() - 1].form |= kLast;
  }
  return Wrong::nothing;
}

// With an error.
void Batch::refuse(grpc::GrpcCall& call, grpc::Code code, std::string_view why) {
  if (loop_.asks == Asks::may_pass) RlsCounts::count(loop_.counts.not_asked);
  connection_.refuse(call, code, why);
}

// What Envoy's configuration alone can cause is an error; what anybody can, denies.
void Batch::refuse(grpc::GrpcCall& call, Wrong wrong) {
  const std::string_view why = sentence_of(wrong);
  if (wrong == Wrong::malformed) return refuse(call, grpc::Code::internal, why);
  if (wrong == Wrong::windows) return connection_.refuse(call, grpc::Code::unimplemented, why);
  // Envoy's service answers as envoyproxy/ratelimit does, Kuadrant's as theirs.
  if (!is_bad(wrong))
    return refuse(call, loop_.asks == Asks::may_pass ? grpc::Code::unknown : grpc::Code::invalid_argument,
                  why);
  service::Service& service = loop_.asker.service();
  loop_.counts.count(wrong);
  service.notices.tell(core::Notice::rls_refused, peer_, why);
  if (loop_.options.bad_is_error || denies_nobody(loop_.asks))
    return refuse(call, grpc::Code::invalid_argument, why);
  service.counters.count(&service::Counters::denied);
  if (loop_.asks == Asks::reserve) return reply_reserved(call, true, {});
  RateLimitAnswer answer(call.answer());
  for (std::size_t i = 0; i < loop_.request.descriptors().size(); ++i) answer.add({.over = true});
  answer.conclude(true);
  answer.raw_body(why);
  connection_.reply(call);
}

bool Batch::settle() {
  for (;;) {
    const bool done = asking_.settle([this](const service::Question& question) { tell(question); });
    if (told_ == messages_.size()) {
      messages_.size() <= kMostFree ? messages_.clear() : std::vector<Message>().swap(messages_);
      tree_limits_.clear();
      told_ = tree_told_ = 0;
    }
    if (!done || again_.empty()) return done;
    ask_again();
  }
}

void Batch::tell(const service::Question& question) {
  Message& message = messages_[told_];
  const Form form = form_of(question.form);
  if (form == Form::held) return tell_held(question);
  if (form == Form::settled) return tell_settled(question);
  if (form == Form::jointly) return tell_parts(question);
  const bool by_file = form == Form::by_file || form == Form::whether;
  const bool asked = by_file || form == Form::by_tree;
  telling_.by_fallback =
      telling_.by_fallback || (asked && !question.checks.empty() && question.source == Source::fallback);
  if (form == Form::refused) {
    if (!denies_nobody(message.asks)) telling_.deny();
  } else if (form == Form::unlimited) {
    telling_.status.remaining = std::numeric_limits<std::uint32_t>::max();
  } else if (form == Form::free) {
    // As there: where all are quotas, what has no limit is one that is not over.
    message.quota_left = message.quota_left || loop_.options.quota;
  } else if (asked && question.fault != Fault::none) {
    telling_.undecided = true;
    if (form == Form::by_tree) ++tree_told_;
  } else if (by_file) {
    tell_file(question, message);
  } else if (form == Form::by_tree) {
    tell_tree(question, message);
  }
  if ((question.form & kLast) != 0) tell_descriptor(message);
}

void Batch::tell_parts(const service::Question& question) {
  for (std::size_t i = 0; i < question.checks.size(); ++i) {
    service::Question& part = *question.more->whole_of().parts[i];
    part.source = question.source;
    part.fault = question.fault;
    part.checks[0].decision = question.checks[i].decision;
  }
}

void Batch::tell_held(const service::Question& question) {
  grpc::GrpcCall& call = *messages_[told_++].call;
  if (question.fault != Fault::none) {
    if (question.fault == Fault::unsuitable)
      return connection_.refuse(call, grpc::Code::unimplemented,
                                "the store cannot hold these limits together");
    return connection_.refuse(call, grpc::Code::unavailable, kUndecided);
  }
  const bool over = !question.allowed();
  if (over) loop_.asker.service().counters.count(&service::Counters::denied);
  if (question.by_file) loop_.asker.count_keys(question, asking_.set_of(question), !over);
  const store::ReservationTerms& terms = *question.reservation;
  const std::string_view id = over ? std::string_view() : terms.id;
  if (!id.empty()) loop_.holds.add(std::string(id), loop_.asker.service().now() + terms.hold - Holds::kLater);
  reply_reserved(call, over, id);
}

void Batch::tell_settled(const service::Question& question) {
  grpc::GrpcCall& call = *messages_[told_++].call;
  if (question.fault != Fault::none && question.fault != Fault::unsuitable)
    return connection_.refuse(call, grpc::Code::unavailable, kUndecided);
  if (question.fault == Fault::none && question.reservation->wait.count() >= 0)
    return reply_committed(call, true);
  again_.push_back(&call);
}

void Batch::reply_reserved(grpc::GrpcCall& call, bool over, std::string_view id) {
  write_reserved(call.answer(), over, id);
  connection_.reply(call);
}

void Batch::reply_committed(grpc::GrpcCall& call, bool released) {
  write_committed(call.answer(), released);
  connection_.reply(call);
}

void Batch::tell_file(const service::Question& question, Message& message) {
  const limits::Set& set = *asking_.set_of(question);
  const bool charges = question.verb == store::Verb::charge;
  if (charges) decide_charge(question);
  const bool looks =
      question.looks() || (charges && !question.checks.empty() && question.checks[0].cost.units == 0);
  if ((question.form & kShadow) != 0) question.checks[0].shadow = true;
  telling_.add(question, set);
  if (loop_.options.headers_of_answers)
    message.fields.add(set, question.more->matched, service::asked_of(question),
                       limits::Time(loop_.asker.service().wall_now()));
  if (denies_nobody(message.asks)) telling_.pass();
  if (!looks) loop_.asker.count(question, &set, !telling_.status.over);
}

void Batch::tell_tree(const service::Question& question, Message& message) {
  const TreeLimit& limit = tree_limits_[tree_told_++];
  auto [status, helps, would_deny] = tree_status_of(question, limit, when_.now);
  if (denies_nobody(message.asks)) status.over = helps = false;
  telling_.status = status;
  telling_.helps = helps;
  if (loop_.options.headers_of_answers && !limit.shadow)
    gather_tree(limit, status, question.checks[0], message);
  // What was told late may be of trees that are not in force any more.
  if (limit.hits > 0 && trees_ == loop_.trees.made()) {
    using Said = SeriesCounts::Said;
    const Said said = status.over ? Said::denied : would_deny ? Said::would_deny : Said::allowed;
    const std::uint64_t near = said == Said::allowed ? near_hits(limit, status, loop_.options.near) : 0;
    loop_.series.count(limit.series, said, {limit.hits, near, question.source == Source::remembered});
    if (status.over) loop_.asker.service().counters.count(&service::Counters::denied);
  }
  telling_.is_quota = limit.quota || loop_.options.quota;
  if (telling_.is_quota) {
    message.has_quota = true;
    message.quota_left = message.quota_left || !status.over;
  }
  if (limit.metadata != nullptr && !status.over && loop_.options.metadata)
    message.metadata.push_back(limit.metadata);
}

void Batch::gather_tree(const TreeLimit& limit, const Status& status, const store::Check& check,
                        Message& message) {
  service::ShownNumbers numbers = service::numbers_of(check, limits::Time(loop_.asker.service().wall_now()));
  // A limit of 0 counts as one of 1, and a window that nobody has used ends too.
  numbers.quota = limit.requests_per_unit;
  numbers.remaining = status.remaining;
  if (!core::has_burst(check.limit->rule.algorithm)) {
    numbers.reset = status.until_reset.value_or(std::chrono::seconds{0});
    numbers.time = static_cast<std::uint64_t>(status.until_reset.value_or(std::chrono::seconds{0}).count());
  }
  const std::string_view name = limit.name.empty() ? trees_->series()[limit.series] : limit.name;
  message.fields.add(name, numbers, status.over);
}

void Batch::tell_descriptor(Message& message) {
  const Status& status = telling_.status;
  if (!status.limit && !status.over) RlsCounts::count(loop_.counts.unlimited);
  message.answer.add(status, telling_.undecided && !status.over);
  const bool denies = status.over && !telling_.is_quota;
  message.tightest.take(status, denies);
  message.over = message.over || denies;
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
  // A message may pass by any of its quotas.
  message.over = message.over || (message.has_quota && !message.quota_left);
  if (message.undecided && !message.over) {
    if (message.asks == Asks::may_pass) RlsCounts::count(loop_.counts.undecided);
    return connection_.refuse(*message.call, grpc::Code::unavailable, kUndecided);
  }
  if (message.asks == Asks::commit) return reply_committed(*message.call, false);
  message.over = message.over && !loop_.options.shadow;
  message.answer.conclude(message.over);
  write_headers(message);
  if (loop_.options.metadata)
    message.answer.metadata(metadata_of(message.call->message(), message.metadata, message.by_fallback));
  connection_.reply(*message.call);
}

void Batch::write_headers(Message& message) {
  if (loop_.options.headers_of_answers) return write_answers_headers(message);
  const auto& names = loop_.options.headers;
  if (!names[0].empty() && message.tightest.any) {
    const Tightest& least = message.tightest;
    message.answer.header(names[0], std::to_string(least.limit));
    message.answer.header(names[1], std::to_string(least.remaining));
    message.answer.header(names[2], std::to_string(least.until_reset.count()));
  }
  if (message.over && message.retry_after.count() > 0)
    message.answer.header(kRetryAfter, std::to_string(message.retry_after.count()));
}

void Batch::write_answers_headers(Message& message) {
  const service::Forms& forms = loop_.asker.forms();
  std::string lines;
  message.fields.append_to(forms, limits::Time(loop_.asker.service().wall_now()), lines);
  service::for_each_field(lines, [&message](std::string_view name, std::string_view value) {
    message.answer.header(name, value);
  });
  if (forms.retry_after && message.over && message.retry_after.count() > 0)
    message.answer.header(kRetryAfter, std::to_string(message.retry_after.count()));
}

}  // namespace weir::rls
