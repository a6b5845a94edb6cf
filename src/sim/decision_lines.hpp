// What was decided of each request, a line for each: CSV with a header, or JSON lines.
//
// One thread at a time. Not for: where the lines go.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "logs/log_reader.hpp"
#include "sim/file_replay.hpp"
#include "sim/replay.hpp"

namespace weir::sim {

class DecisionLines {
 public:
  enum class Form : std::uint8_t { csv, jsonl };

  // Of limits side by side, each with two columns; `limits` as reports name them.
  DecisionLines(Form form, const std::vector<std::string>& limits);
  // Of a limits file, with one verdict and the limit that decided.
  explicit DecisionLines(Form form);

  // The first line; empty for JSON.
  std::string header() const;
  void add(const logs::Event& event, std::string_view client, std::span<const Replay::Answer> answers,
           std::string& to);
  void add(const logs::Event& event, std::string_view client, const FileReplay::Taken& taken,
           std::string& to);

 private:
  void begin(const logs::Event& event, std::string_view client, std::string& to);
  void end(std::string& to) const { to += form_ == Form::csv ? "\n" : "}\n"; }
  void add_text(std::string_view text, std::string& to) const;
  void add_verdict(std::size_t column, Verdict verdict, std::string& to) const;
  void add_wait(std::size_t column, Verdict verdict, std::uint64_t ns, std::string& to) const;

  Form form_;
  std::vector<std::string> columns_;
  std::vector<std::string> leads_;  // what precedes the value in each column
  std::int64_t second_ = -1;
  std::string second_text_;  // without its Z
};

}  // namespace weir::sim
