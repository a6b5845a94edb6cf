// Limits by plan: --limit-by FIELD or --plans FILE, and then --limit free=60/min,pro=600/min.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "logs/client_index.hpp"
#include "sim/replay.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): another library's
class App;
}

namespace weir::inline v0_1::cli {

struct PlanFlags {
  std::string field;  // the last part of the key
  std::string file;   // in place of it

  void add_to(CLI::App& app);
  bool any() const { return !field.empty() || !file.empty(); }
};

// Which plan each client has. One thread; it views the clients of a log that is being read.
class Plans {
 public:
  // `limits`: the texts of --limit. `key_parts`: how many make a client. Throws std::runtime_error.
  Plans(const PlanFlags& flags, const std::vector<std::string>& limits, const logs::ClientIndex& clients,
        std::size_t key_parts);

  std::string name() const;  // of all of them together
  const std::vector<sim::Replay::Plan>& all() const { return plans_; }
  std::size_t of(std::uint32_t client);
  // What is to be said of the clients that have none of these plans; empty when every client has one.
  std::string about_others() const;

 private:
  std::string plan_name(std::uint32_t client) const;

  const PlanFlags& flags_;
  const logs::ClientIndex& clients_;
  std::size_t key_parts_;
  std::vector<sim::Replay::Plan> plans_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::map<std::string, std::string, std::less<>> of_client_;  // what --plans says
  std::vector<std::size_t> found_;                             // of each client
  std::map<std::string, std::uint64_t> others_;                // plans that have no limit, and their clients
};

}  // namespace weir::cli
