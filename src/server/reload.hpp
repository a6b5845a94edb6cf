// What SIGHUP does: the files that may be replaced while the server runs are read again. It never ends the
// program, not even one that is starting or ending.
//
// The thread of the context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>

namespace weir::inline v0_1::server {

class Reload {
 public:
  // From now on the signal is kept until start().
  Reload(boost::asio::io_context& context, std::function<void()> reload);

  void start();
  void stop();  // from then on the signal does nothing

 private:
  boost::asio::signal_set signals_;
  std::function<void()> reload_;
};

}  // namespace weir::server
