// What `weir serve` runs: loops, listeners, signals, snapshots. Wiring only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/settings.hpp"

namespace weir::inline v0_1::server {

// It was told to end before it listened.
struct EndedAtStart {};

class Server {
 public:
  // Opens everything that can fail: listeners, certificates, the snapshot. Throws std::runtime_error with one
  // line that says what and where; or EndedAtStart.
  explicit Server(const Settings& settings);
  ~Server();

  // Where it listens: "127.0.0.1:6390" or a path, "http://127.0.0.1:6391", "admin http://127.0.0.1:6392";
  // ports that were 0 are the real ones.
  std::vector<std::string> addresses() const;

  // Serves until SIGTERM, SIGINT or SHUTDOWN; then stops accepting, answers what has arrived, saves,
  // and returns. False when the last snapshot could not be written.
  bool run();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::server
