// One message that is being answered, and what the connections of an event loop share for it.
//
// A handler (handlers.hpp) reads the message and asks, or replies at once. The conversation has the store
// answer, and hands each answer to the handler's second half, which writes the reply. An embedded store
// answers at once, and then one Exchange serves all connections of the loop in turn; one that waits belongs
// to its connection.
//
// The thread of its loop. Not for: bytes (parser.hpp, writer.hpp) and sockets.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/deferred_answer.hpp"
#include "http/message.hpp"
#include "http/parser.hpp"
#include "http/problem.hpp"
#include "http/writer.hpp"
#include "limits/set.hpp"
#include "net/clients.hpp"
#include "service/asker.hpp"
#include "service/asking.hpp"
#include "service/service.hpp"
#include "service/verbs.hpp"
#include "steering/actor.hpp"

namespace weir::inline v0_1::http {

struct Exchange;
struct GateRequest;

// Shared by the connections of a loop. A connection uses it within one call of feed().
class HttpLoop {
 public:
  // Without `acquiring` nobody waits for a moment.
  // `post` calls what it is given in a later turn of the loop, whichever thread calls it; empty: nothing can
  // be answered later but by the store.
  HttpLoop(service::Service& service, store::Store& store, waiting::AcquiringStore* acquiring = nullptr,
           Post post = {});
  ~HttpLoop();
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  // Another exchange, as new; and one that is done with.
  std::unique_ptr<Exchange> take();
  void put_back(std::unique_ptr<Exchange> exchange);

  // Now, as the field Date says it.
  std::string_view date();

  const Post post;
  service::Asker asker;
  FieldRoom fields{};
  struct Json;  // json.hpp
  std::unique_ptr<Json> json;
  std::unique_ptr<GateRequest> gate_request;

 private:
  // As many as wait for a store at a time; beyond that they are made and freed each time.
  static constexpr std::size_t kMostFree = 64;

  service::Service& service_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
  std::chrono::seconds dated_{-1};
  std::string date_;
};

struct Exchange {
  Exchange(service::Service& for_service, HttpLoop& in) : service(for_service), loop(in) {}
  ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  std::size_t kept() const { return sizeof(Exchange) + reply.body.capacity(); }

  service::Service& service;
  HttpLoop& loop;
  const net::Peer* peer = nullptr;
  service::Asking* asking = nullptr;
  DeferredAnswer* deferred = nullptr;
  const steering::Actor* actor = nullptr;  // who asks

  Reply reply;
  // Called for each question, in order, once it is answered; the last one has written the reply. Null: it is
  // written already.
  void (*tell)(Exchange&, const service::Question&) = nullptr;
  const limits::Gateway* gateway = nullptr;  // of the set, when one asks

  const service::VerbRow* verb = service::kVerbs.data();  // by which it asks
  std::optional<std::chrono::seconds> prefers;            // to wait at most that long for the answer
  bool trusted = false;  // to be set: its sender may ask, though it showed no credentials

  // Of a batch, which is answered as a list, one for each question.
  bool batch = false;
  std::size_t told = 0;
  std::vector<Faults> faults;  // what is wrong with each: then it is not asked
};

}  // namespace weir::http
