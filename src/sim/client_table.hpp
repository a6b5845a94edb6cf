// What limits did to each client of a log, however many: a line of CSV each.
//
// One thread. Memory grows with the clients, 24 bytes each and 16 for each limit. Not for: the worst of them,
// which every report has.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weir::inline v0_1::sim {

class ClientTable {
 public:
  // `limits`: their names, at most 32; empty for all limits of a file together.
  explicit ClientTable(std::vector<std::string> limits);

  // `denied`: one bit for each limit.
  void add(std::uint64_t client, std::int64_t ns, std::uint32_t denied);
  // `name`: that of a client, as the table is to have it.
  std::string csv(const std::function<std::string(std::uint64_t)>& name) const;

 private:
  struct Denials {
    std::uint64_t requests = 0;
    std::int64_t first_ns = 0;
  };
  struct Row {
    std::uint64_t requests = 0;
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
  };

  std::vector<std::string> limits_;
  std::vector<Row> rows_;
  std::vector<Denials> denials_;  // of each row as many as there are limits
};

}  // namespace weir::sim
