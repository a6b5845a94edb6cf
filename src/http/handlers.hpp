// The paths of weir's HTTP, and what answers them: one row each.
//
// Any thread; the rows are constants. What a row runs belongs to the thread of its loop. Not for: the order
// of what is judged before it runs (conversation.cpp).
#pragma once

#include <span>
#include <string_view>

#include "http/exchange.hpp"
#include "http/message.hpp"
#include "steering/actor.hpp"

namespace weir::inline v0_1::http {

struct Handler {
  std::string_view path;
  bool prefix = false;  // it answers all paths that begin with `path`
  // For Allow; empty: it takes every method, a request with Origin too, and asks for no credentials, because
  // what calls it passes on what its own clients have sent. It judges by itself who may ask.
  std::string_view methods;
  steering::Role role;      // who may, at least
  bool takes_json = false;  // what is posted, and nothing else
  // Adds questions and sets `answer`, or writes the reply. The message is whole, and gone after the call.
  void (*run)(const Message& message, Exchange& exchange);

  bool open() const { return methods.empty(); }
  bool takes(std::string_view method) const;
};

std::span<const Handler> routes();
// Null: nothing answers there.
const Handler* find_route(std::string_view path);

}  // namespace weir::http
