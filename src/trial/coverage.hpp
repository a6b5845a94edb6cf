// Which parts of a limits file its tests have met: each limit and window, which has to have allowed and
// denied; each override and route; each entry of a list.
//
// One thread. It holds the file. A list in a file of its own is one entry: what is in it is data.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "limits/explain.hpp"
#include "limits/file.hpp"
#include "limits/trace.hpp"
#include "store/store.hpp"

namespace weir::inline v0_1::limits {

// One thing that tests can meet.
struct Covered {
  std::string path;  // "limits.user.rate[1]"
  std::string what;  // that it has to have done: "allowed", "denied", "met"
  Position place{};
  bool done = false;
};

class Coverage {
 public:
  explicit Coverage(std::shared_ptr<const File> file);

  // The route and the overrides that a request met; and what its limits came to, with a decision for each
  // counted step.
  void add_met(const Trace& trace);
  void add_decided(const Trace& trace, std::span<const store::Check> decided);
  // The lists that are asked for the values of a request.
  void add_values(std::span<const Attribute> attributes);

  const File& file() const { return *file_; }
  const std::vector<Covered>& all() const { return all_; }
  std::size_t done() const;

 private:
  using At = std::size_t;  // in all_
  struct Both {
    At allowed;
    At denied;
  };
  struct OfLimit {
    Both whole;
    std::vector<Both> windows;
    std::vector<At> overrides;
  };
  // An attribute whose values are compared with a list.
  struct Asks {
    std::string attribute;
    Index list;
  };

  At item(std::string path, std::string what, Position place);
  Both both(const std::string& path, Position place);
  void asks(const When& when);
  void saw(const Both& which, bool allowed);

  std::shared_ptr<const File> file_;
  std::vector<Covered> all_;
  std::vector<OfLimit> limits_;
  std::vector<At> routes_;
  std::vector<std::vector<At>> lists_;  // an item for each entry; of a list file one
  std::vector<Asks> asks_;
};

}  // namespace weir::limits
