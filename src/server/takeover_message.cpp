#include "server/takeover_message.hpp"

#include <algorithm>
#include <utility>

#include "core/packed.hpp"

namespace weir::inline v0_1::server {
namespace {

using std::chrono::nanoseconds;

constexpr std::string_view kMagic = "weir takeover";
constexpr std::string_view kRefusal = "refusal";
constexpr std::string_view kOffer = "offer";

std::uint64_t bits(nanoseconds time) { return static_cast<std::uint64_t>(time.count()); }
nanoseconds time_of(std::uint64_t bits) { return nanoseconds{static_cast<std::int64_t>(bits)}; }

void pack(core::Packing& out, const std::vector<TakeoverListener>& listeners) {
  out.number(listeners.size());
  for (const TakeoverListener& each : listeners) {
    out.text(each.flag);
    out.text(each.wanted);
    out.text(each.address);
    out.number(each.tls ? 1 : 0);
    out.number(each.owns_file ? 1 : 0);
  }
}

void read(core::Unpacking& in, std::vector<TakeoverListener>& listeners) {
  for (std::uint64_t left = in.count(); left > 0 && in.good(); --left) {
    TakeoverListener& one = listeners.emplace_back();
    one.flag = in.text();
    one.wanted = in.text();
    one.address = in.text();
    one.tls = in.number() != 0;
    one.owns_file = in.number() != 0;
  }
}

std::string text_of(const std::vector<TakeoverListener>& listeners, bool as_wanted) {
  std::string text;
  for (const TakeoverListener& each : listeners) {
    text += (text.empty() ? "--" : ", --") + each.flag + ' ' + (as_wanted ? each.wanted : each.address);
    if (each.tls) text += " with TLS";
  }
  return text;
}

bool is_same(const TakeoverListener& open, const TakeoverListener& wanted) {
  return open.flag == wanted.flag && open.tls == wanted.tls &&
         (wanted.wanted == open.address || wanted.wanted == open.wanted);
}

}  // namespace

std::string why_not(const TakeoverFacts& in_charge, const TakeoverFacts& next) {
  if (next.snapshot_format != in_charge.snapshot_format)
    return "weir " + in_charge.version + ", which is in charge, hands over snapshots of version " +
           std::to_string(in_charge.snapshot_format) + "; this one reads " +
           std::to_string(next.snapshot_format);
  for (const std::string& part : in_charge.parts)
    if (std::find(next.parts.begin(), next.parts.end(), part) == next.parts.end())
      return "weir " + in_charge.version + ", which is in charge, hands over '" + part +
             "', which this one cannot read";
  const bool same = std::equal(in_charge.listeners.begin(), in_charge.listeners.end(), next.listeners.begin(),
                               next.listeners.end(), is_same);
  if (!same)
    return "the process in charge has other listeners: " + text_of(in_charge.listeners, false) +
           "; this one is to have " + text_of(next.listeners, true);
  if (next.memory < in_charge.memory)
    return "the process in charge has --memory " + std::to_string(in_charge.memory) +
           " bytes; this one has " + std::to_string(next.memory) + ", which is less";
  const auto shown = [](const std::string& store) { return store.empty() ? "none" : store; };
  if (next.store != in_charge.store)
    return "the process in charge has another --store: " + shown(in_charge.store) + "; this one has " +
           shown(next.store);
  return "";
}

std::string pack_hello(const TakeoverFacts& next) {
  core::Packing out;
  out.text(kMagic);
  out.number(kTakeoverVersion);
  out.text(next.version);
  out.number(next.snapshot_format);
  out.number(next.memory);
  out.text(next.store);
  pack(out, next.listeners);
  out.number(next.parts.size());
  for (const std::string& part : next.parts) out.text(part);
  return out.take();
}

tl::expected<TakeoverFacts, std::string> read_hello(std::string_view bytes) {
  core::Unpacking in(bytes);
  if (in.text() != kMagic)
    return tl::unexpected(std::string("what came is not a hello of weir serve --takeover"));
  const std::uint64_t version = in.number();
  if (version != kTakeoverVersion)
    return tl::unexpected("the process in charge takes part in takeovers of version " +
                          std::to_string(kTakeoverVersion) + "; this one in " + std::to_string(version));
  TakeoverFacts next;
  next.version = in.text();
  next.snapshot_format = in.number();
  next.memory = in.number();
  next.store = in.text();
  read(in, next.listeners);
  for (std::uint64_t left = in.count(); left > 0 && in.good(); --left) next.parts.emplace_back(in.text());
  if (!in.is_whole()) return tl::unexpected(std::string("the hello has lost or gained bytes"));
  return next;
}

std::string pack_refusal(std::string_view why) {
  core::Packing out;
  out.text(kRefusal);
  out.text(why.substr(0, 4096));
  return out.take();
}

std::string pack_offer(const TakeoverOffer& offer) {
  core::Packing out;
  out.text(kOffer);
  out.number(offer.seed.k0);
  out.number(offer.seed.k1);
  out.number(bits(offer.wall_ahead));
  out.number(bits(offer.longest));
  out.number(offer.has_lock ? 1 : 0);
  pack(out, offer.listeners);
  return out.take();
}

tl::expected<TakeoverOffer, std::string> read_offer(std::string_view bytes) {
  core::Unpacking in(bytes);
  const std::string_view kind = in.text();
  if (kind == kRefusal) return tl::unexpected(std::string(in.text()));
  TakeoverOffer offer;
  offer.seed.k0 = in.number();
  offer.seed.k1 = in.number();
  offer.wall_ahead = time_of(in.number());
  offer.longest = time_of(in.number());
  offer.has_lock = in.number() != 0;
  read(in, offer.listeners);
  if (kind != kOffer || !in.is_whole())
    return tl::unexpected(std::string("the process in charge answers what is not understood"));
  return offer;
}

std::string pack_part(std::string_view name) {
  core::Packing out;
  out.text(kPart);
  out.text(name);
  return out.take();
}

std::string pack_done(const TakeoverDone& done) {
  core::Packing out;
  out.text(kDone);
  out.number(bits(done.stopped));
  out.number(done.connections);
  return out.take();
}

TakeoverStep read_step(std::string_view bytes) {
  core::Unpacking in(bytes);
  TakeoverStep step{.kind = in.text()};
  if (step.kind == kPart) step.name = in.text();
  if (step.kind == kDone) {
    step.done.stopped = time_of(in.number());
    step.done.connections = in.number();
  }
  if (!in.is_whole()) step.kind = {};
  return step;
}

std::string pack_connections(const std::vector<TakeoverConnection>& connections) {
  core::Packing out;
  out.number(connections.size());
  for (const TakeoverConnection& each : connections) {
    out.text(each.protocol);
    out.number(each.id);
    out.text(each.address);
    out.number(each.port);
    out.number(each.local ? 1 : 0);
    out.text(each.state);
    out.text(each.rest);
  }
  return out.take();
}

bool read_connections(std::string_view bytes, std::vector<TakeoverConnection>& to) {
  core::Unpacking in(bytes);
  for (std::uint64_t left = in.count(); left > 0 && in.good(); --left) {
    TakeoverConnection& one = to.emplace_back();
    one.protocol = in.text();
    one.id = in.number();
    one.address = in.text();
    one.port = in.number();
    one.local = in.number() != 0;
    one.state = in.text();
    one.rest = in.text();
  }
  return in.is_whole();
}

std::string pack_word(std::string_view kind) {
  core::Packing out;
  out.text(kind);
  return out.take();
}

bool is_word(std::string_view bytes, std::string_view kind) {
  core::Unpacking in(bytes);
  return in.text() == kind && in.is_whole();
}

}  // namespace weir::server
