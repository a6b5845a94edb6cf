// Metrics as Prometheus reads them: its text format 0.0.4, or OpenMetrics 1.0 (openmetrics.io).
//
//   to.family(Kind::counter, "weir_decisions_total", "Decisions");
//   to.sample({{"limit", "user"}, {"verdict", "denied"}}, 7);
//
// One thread, that of the caller. Names and labels' names are the caller's, valid ones; help and labels'
// values may be any bytes. Not for: what there is to report (metrics.hpp).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "core/histogram.hpp"

namespace weir::inline v0_1::service {

class Exposition {
 public:
  enum class Format : std::uint8_t { prometheus, openmetrics };
  enum class Kind : std::uint8_t {
    counter,  // its name ends in _total
    gauge,
    histogram,
    info,             // its name ends in _info; each sample is 1
    foreign_counter,  // by the name that another program gives it, without _total
  };
  using Label = std::pair<std::string_view, std::string_view>;
  using Labels = std::initializer_list<Label>;

  explicit Exposition(Format format) : format_(format) {}

  // The samples that follow are its. `help`: a sentence without its full stop.
  void family(Kind kind, std::string_view name, std::string_view help);
  void sample(Labels labels, std::uint64_t value) { write("", labels, std::to_string(value)); }
  void sample(Labels labels, double value);
  void sample(Labels labels, const core::Histogram::Total& took);

  // All of it; nothing may be added afterwards.
  std::string finish();
  static std::string_view content_type(Format format);

 private:
  void write(std::string_view suffix, Labels labels, std::string_view value, Label last = {});

  Format format_;
  std::string name_;
  std::string text_;
};

}  // namespace weir::service
