// What two processes say to each other when one takes over from the other.
//
//   the next        hello           who it is, and what it reads and wants
//   in charge       refusal: why    nothing has changed
//              or   offer           with its descriptors: the word, the lock of the snapshot, the listeners
//   the next        begin           it is ready: limits read, memory there
//   in charge       connections     their descriptors, as many messages as it takes
//                   part            a name, and a descriptor of what is to be read
//                   done            that was all
//   the next        (says the word) from then on it is in charge
//                   ready
//
// Each is bytes of this machine (core/packed.hpp), at most TakeoverChannel::kMostBytes of them. Whatever else
// changes, a hello begins with kMagic and the version, and a refusal is what it is: so two programs that know
// other versions understand that much. Plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "core/siphash.hpp"

namespace weir::inline v0_1::server {

constexpr std::uint64_t kTakeoverVersion = 1;

// A listener, by the flag that asks for it.
struct TakeoverListener {
  std::string flag;     // resp, unix-socket, http, rls, admin
  std::string wanted;   // an address, whose port may be 0, or a path
  std::string address;  // where it listens
  bool tls = false;
  bool owns_file = false;
};

// What the process in charge has, and what the next one must have too.
struct TakeoverFacts {
  std::string version;  // of weir
  std::uint64_t snapshot_format = 0;
  std::uint64_t memory = 0;
  std::string store;  // as it is shown; empty: none
  std::vector<TakeoverListener> listeners;
  std::vector<std::string> parts;  // that it hands over, or can read
};

// Why the one in charge hands nothing over to that one; empty: it does.
std::string why_not(const TakeoverFacts& in_charge, const TakeoverFacts& next);

struct TakeoverOffer {
  core::HashKey seed;                       // of the table
  std::chrono::nanoseconds wall_ahead{0};   // by which windows lie
  std::chrono::nanoseconds longest{0};      // how long it waits for the next one, once it has stopped reading
  bool has_lock = false;                    // of the snapshot
  std::vector<TakeoverListener> listeners;  // in the order of their descriptors
};

struct TakeoverDone {
  std::chrono::nanoseconds stopped{0};  // reading, on the clock of the machine
  std::uint64_t connections = 0;
};

// Of one connection; the descriptors come in the same order.
struct TakeoverConnection {
  std::string protocol;
  std::uint64_t id = 0;
  std::string address;
  std::uint64_t port = 0;
  bool local = false;
  std::string state;
  std::string rest;  // what it has read of a message that is not yet whole
};

std::string pack_hello(const TakeoverFacts& next);
// The error is for the other process to show.
tl::expected<TakeoverFacts, std::string> read_hello(std::string_view bytes);
std::string pack_refusal(std::string_view why);
std::string pack_offer(const TakeoverOffer& offer);
// The error: a refusal's why.
tl::expected<TakeoverOffer, std::string> read_offer(std::string_view bytes);

std::string pack_part(std::string_view name);
std::string pack_done(const TakeoverDone& done);
// Of what follows a begin; `kind` is kConnections, kPart or kDone, else it is not understood.
struct TakeoverStep {
  std::string_view kind;
  std::string name{};  // of a part
  TakeoverDone done{};
};
TakeoverStep read_step(std::string_view bytes);

std::string pack_connections(const std::vector<TakeoverConnection>& connections);
// False: that is not what the other wrote.
bool read_connections(std::string_view bytes, std::vector<TakeoverConnection>& to);

// A message that is a word alone.
std::string pack_word(std::string_view kind);
bool is_word(std::string_view bytes, std::string_view kind);

constexpr std::string_view kBegin = "begin";
constexpr std::string_view kReady = "ready";
constexpr std::string_view kConnections = "connections";
constexpr std::string_view kPart = "part";
constexpr std::string_view kDone = "done";

}  // namespace weir::server
