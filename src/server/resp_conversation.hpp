// A RespFront as sessions see it.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "net/conversation.hpp"
#include "server/resp_front.hpp"

namespace weir::server {

class RespConversation final : public net::Conversation {
 public:
  RespConversation(Service& service, RespFront::Scratch& pending, std::uint64_t id, std::string address,
                   redis::SharedStore* store, std::function<void()> resume)
      : front_(service, pending, id, std::move(address), store, std::move(resume)) {}

  std::size_t feed(std::string_view input, std::string& out, net::Moment when) override {
    return front_.feed(input, out, when.arrived, when.now);
  }
  bool waiting() const override { return front_.waiting(); }
  bool busy() const override { return front_.busy(); }
  bool closing() const override { return front_.closing(); }
  bool trusted() const override { return front_.trusted(); }

 private:
  RespFront front_;
};

}  // namespace weir::server
