// The table of what this program reports about itself: one row for each number or text, with its name, its
// meaning and its reader. INFO is made from it, and so is what Prometheus reads, with what has labels beside.
//
// Rows are added before the first thread reads; then any thread may read. The thread that asks calls the
// reader, so what it reads must be safe to read from any thread. Not for: counting (counters.hpp).
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "service/exposition.hpp"

namespace weir::inline v0_1::service {

// In the order in which INFO shows them.
enum class Section : std::uint8_t {
  server,
  clients,
  memory,
  persistence,
  stats,
  limits,
  rls,
  store,
  replication,
  keyspace,
};

struct Metric {
  enum class Type : std::uint8_t {
    counter,  // only grows
    gauge,    // goes up and down
    text,
  };
  // Nothing: there is nothing to report now, and the row is left out.
  using Value = std::optional<std::variant<std::uint64_t, std::string>>;

  Section section;
  Type type;
  std::string name;
  std::string help;  // a sentence without its full stop
  std::function<Value()> read;
  bool slow = false;       // reading it takes milliseconds
  std::string exported{};  // what Prometheus calls it; empty: only INFO has it
};

// What reads a row's value: an atomic number, which must outlive the row, or a function that returns a
// number, a text, or either of them as an optional.
struct MetricReader {
  template <std::integral Number>
  MetricReader(const std::atomic<Number>& number)
      : MetricReader([&number] { return number.load(std::memory_order_relaxed); }) {}
  template <std::invocable Read>
  MetricReader(Read read) : function([read = std::move(read)] { return value_of(read()); }) {}

  static Metric::Value value_of(std::integral auto number) { return static_cast<std::uint64_t>(number); }
  static Metric::Value value_of(Metric::Value value) { return value; }

  std::function<Metric::Value()> function;
};

class Metrics {
 public:
  // Writes whole families, whose samples have labels.
  using Families = std::function<void(Exposition&)>;

  // Each adds a row, and returns it for as long as no other is added.
  Metric& counter(Section section, std::string name, std::string exported, std::string help,
                  MetricReader read);
  Metric& gauge(Section section, std::string name, std::string exported, std::string help, MetricReader read);
  Metric& text(Section section, std::string name, std::string help, MetricReader read);
  void add(Families families) { families_.push_back(std::move(families)); }
  std::span<const Metric> rows() const { return rows_; }

  // All that Prometheus is told.
  std::string expose(Exposition::Format format) const;

 private:
  std::vector<Metric> rows_;
  std::vector<Families> families_;
};

}  // namespace weir::service
