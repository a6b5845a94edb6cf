// The addresses of a host name, looked up in a thread that nobody waits for.
//
// getaddrinfo() cannot be ended, and takes seconds when DNS does not answer. The resolver of Boost.Asio joins
// its thread, so that the end of a loop, of the program or of a RedisStore would wait as long. Here the
// thread is left alone, and touches nothing but what it shares with those that ask. One at a time looks up a
// name; all that ask for it meanwhile, on any loop, get its answer.
//
// Any thread. The context must live until the answer has come or cancel() has returned. Not for: addresses in
// numbers, which need no thread, and keeping answers.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/lock.hpp"

namespace weir::inline v0_1::redis {

class Lookup {
 public:
  using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;
  using Done = std::function<void(const boost::system::error_code&, const Endpoints&)>;

  // `done` is called on the context, once; not when the Lookup has been let go before.
  static std::shared_ptr<Lookup> start(boost::asio::io_context& context, const std::string& host,
                                       std::uint16_t port, Done done);

  Lookup(boost::asio::io_context& context, Done done) : context_(&context), done_(std::move(done)) {}
  // `done` is not called, unless that is on its way already.
  void cancel();

 private:
  void answer(const boost::system::error_code& error, const Endpoints& found);
  static void run(const std::string& host, std::uint16_t port);

  detail::Mutex mutex_;
  boost::asio::io_context* context_ WEIR_GUARDED_BY(mutex_);  // null: answered or cancelled
  Done done_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::redis
