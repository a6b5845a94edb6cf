// What was decided of each request, a line for each: CSV with a header, or JSON lines.
//
// Immutable, any thread. Not for: where the lines go.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "logs/log_reader.hpp"
#include "sim/file_replay.hpp"
#include "sim/replay.hpp"
#include "weir/format.hpp"

namespace weir::inline v0_1::sim {

// A field of CSV, in quotes where it needs them.
void append_csv(std::string& out, std::string_view text);

class DecisionLines {
 public:
  enum class Form : std::uint8_t { csv, jsonl };

  // Of limits side by side, each with two columns; `limits` as reports name them.
  // `denied`: the word for a request that a limit denied.
  DecisionLines(Form form, const std::vector<std::string>& limits,
                std::string_view denied = to_text(Verdict::denied));
  // Of a limits file, with one verdict and the limit that decided.
  explicit DecisionLines(Form form);

  // The first line; empty for JSON.
  std::string header() const { return form_ == Form::csv ? header_ + "\n" : ""; }
  void add(const logs::Event& event, std::string_view client, std::span<const Replay::Answer> answers,
           std::string& to) const;
  void add(const logs::Event& event, std::string_view client, const FileReplay::Taken& taken,
           std::string& to) const;

 private:
  void add_limit(const std::string& verdict, const std::string& wait, std::string_view denied);
  void begin(const logs::Event& event, std::string_view client, std::string& to) const;
  void add_wait(std::optional<std::int64_t> ns, std::string& to) const;

  Form form_;
  std::string header_;
  // What a line has of each limit up to its wait, for each verdict and for an error.
  std::vector<std::array<std::string, 5>> texts_;
};

}  // namespace weir::sim
