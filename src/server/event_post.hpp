// Posts lines to a server of HTTP: one request at a time, each at most five seconds.
//
// One thread, which waits; give_up() is any's.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

namespace weir::inline v0_1::server {

class EventPost {
 public:
  static constexpr std::chrono::seconds kLongest{5};

  // Throws std::runtime_error when the URL cannot be posted to.
  explicit EventPost(const std::string& url);

  // Empty: it was answered with a status of 200 to 299; else why not.
  std::string send(const std::string& lines);
  // What is sent from now on, and what is under way, has a second.
  void give_up() { given_up_ = true; }
  // Scheme, host and port; what follows may be a secret.
  std::string name() const { return (tls_ ? "https://" : "http://") + authority_; }

 private:
  bool tls_ = false;
  std::string authority_;
  std::string host_;
  std::string port_;
  std::string target_;
  std::atomic<bool> given_up_{false};
};

}  // namespace weir::server
