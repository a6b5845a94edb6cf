// --decisions FILE: what was decided of each request, a line for each.
//
// One thread. Not for: what a line says (sim/decision_lines.hpp).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/growing_file.hpp"
#include "cli/log_flags.hpp"
#include "sim/decision_lines.hpp"

namespace weir::inline v0_1::cli {

class DecisionFile {
 public:
  // Of limits side by side, by their names. `path` that ends with .jsonl, .ndjson or .json has JSON lines,
  // any other CSV; "-" is standard output. Throws std::runtime_error.
  DecisionFile(const LogFlags& flags, const std::string& path, const std::vector<std::string>& limits);
  // Of a limits file.
  DecisionFile(const LogFlags& flags, const std::string& path);

  void add(const logs::Event& event, const logs::ClientIndex& clients, std::size_t key_parts,
           std::span<const sim::Replay::Answer> answers);
  void add(const logs::Event& event, const sim::FileReplay::Taken& taken);
  // Without it there is no file.
  void finish() { file_.finish(); }

 private:
  DecisionFile(const LogFlags& flags, const std::string& path, sim::DecisionLines lines);

  sim::Naming naming_;
  sim::DecisionLines lines_;
  GrowingFile file_;
};

}  // namespace weir::cli
