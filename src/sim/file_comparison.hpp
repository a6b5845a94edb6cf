// Two limits files decide the same log: which requests would be decided otherwise, and whose.
//
// One thread. Events come in order of time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "limits/set.hpp"
#include "sim/file_replay.hpp"
#include "sim/naming.hpp"
#include "sim/series.hpp"
#include "trial/diff.hpp"

namespace weir::inline v0_1::sim {

struct ComparisonReport {
  LogReport log;  // its key is what makes a client: "ip, user"
  std::uint64_t requests = 0;
  std::uint64_t denied_before = 0;
  std::uint64_t denied_after = 0;
  std::uint64_t clients_denied_before = 0;
  std::uint64_t clients_denied_after = 0;
  std::uint64_t errors_before = 0;
  std::uint64_t errors_after = 0;
  // Of requests that are decided otherwise: which limits denied them ("" where they were allowed).
  struct Pair {
    std::string by_before;
    std::string by_after;
    std::uint64_t requests;
  };
  std::vector<Pair> otherwise;  // the most requests first
  struct Client {
    std::string client;
    std::uint64_t number;  // from 0, in order of first appearance
    std::uint64_t requests;
    std::uint64_t denied_before;
    std::uint64_t denied_after;
  };
  std::vector<Client> clients;  // that are denied more or less often, by how much; at most kMostClients
  std::uint64_t clients_changed = 0;
  Timeline before;
  Timeline after;

  static constexpr std::size_t kMostClients = 20;
};

class FileComparison {
 public:
  FileComparison(const std::shared_ptr<const limits::Set>& before,
                 const std::shared_ptr<const limits::Set>& after, const std::vector<std::string>& attributes,
                 bool costs_an_estimate = false);

  void take(const logs::Event& event, const logs::ClientIndex& clients);
  // `log`: what the reader of the log says; its key and its clients are those of the files.
  ComparisonReport report(LogReport log) const;
  // The names of some clients, enough to see of what kind they are.
  std::vector<std::string> some_names() const;
  // Every client with its number (sim/naming.hpp).
  std::string names() const;

 private:
  struct Counts {
    std::uint64_t number = 0;
    std::uint64_t requests = 0;
    std::uint64_t before = 0;
    std::uint64_t after = 0;
  };

  FileReplay before_;
  FileReplay after_;
  std::vector<std::string> attributes_;
  std::vector<std::size_t> who_;  // the attributes that make a client
  static constexpr std::size_t kMostBins = 512;
  Series over_time_{3, kMostBins};  // requests, and those denied before and after
  ComparisonReport totals_;
  std::string key_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> otherwise_;
  std::map<std::string, Counts> clients_;
};

// What differs between two files; with a report, what that does to a log.
struct FileDifference {
  std::string before;
  std::string after;
  std::vector<limits::Difference> said;
  std::unique_ptr<const ComparisonReport> log;
};

// The report with the names that `naming` allows.
ComparisonReport with_names(ComparisonReport report, Naming naming);

std::string text_of(const FileDifference& difference, bool colour);
std::string json_of(const FileDifference& difference);
// A page that needs nothing else, with the names that the report has: with_names() comes first.
std::string page_of(const FileDifference& difference);

}  // namespace weir::sim
