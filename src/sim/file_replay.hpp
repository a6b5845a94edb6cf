// A whole limits file decides the events of a log: each request by all limits that it meets, charged to all
// or to none, at the moment that the log says.
//
// Where the log says how long each took (Wanted::span), a request has slots from its begin until its end, or
// until the shortest `ttl` of its limits is over, as it would live.
//
// One thread. Events come in order of time. Memory grows with the keys of the limits, and with what is under
// way at once, not with the events.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "limits/set.hpp"
#include "logs/client_index.hpp"
#include "logs/log_reader.hpp"
#include "sim/first_fit.hpp"
#include "sim/key_tally.hpp"
#include "sim/report.hpp"
#include "sim/series.hpp"
#include "trial/trial.hpp"

namespace weir::inline v0_1::sim {

class FileReplay {
 public:
  // `attributes`: those of a request, as the log's reader was told to read them (limits::attributes_of()).
  // `worst`: how many of the worst keys of each limit the report lists. `costs_an_estimate`: the log says no
  // costs, so a limit with a hold charges its estimate. `spans`: in place of its cost an event says when it
  // ended.
  FileReplay(std::shared_ptr<const limits::Set> set, std::vector<std::string> attributes, std::size_t worst,
             bool costs_an_estimate = false, bool spans = false);

  // What came of a request; `by` is the set's text.
  struct Taken {
    bool error = false;  // nobody could decide it
    bool allowed = true;
    std::string_view by{};
    Verdict verdict = Verdict::allowed;
    std::optional<std::int64_t> retry_after_ns{};
    std::string client{};             // what the limits count by
    std::uint64_t client_number = 0;  // for a pseudonym
  };
  Taken take(const logs::Event& event, const logs::ClientIndex& clients);

  // What was found so far, without the `log` part.
  ReplayReport report() const;
  // Distinct values of what limits count by.
  std::uint64_t clients() const { return together_.keys(); }
  const std::string& name(std::uint64_t client) const { return together_.name(client); }
  // The names of some of them, and of all of them with their numbers (sim/naming.hpp), those of the limits
  // too.
  std::vector<std::string> some_names() const;
  std::string names() const;
  // The names of those attributes: "ip, user".
  std::string key() const;

 private:
  // The requests of each key of one limit that are under way, let in or not.
  struct UnderWay {
    std::unordered_map<std::string, std::uint32_t> index;
    std::vector<std::string> keys;
    logs::Pieces<FirstFit> spans;
  };

  std::optional<limits::Trial::Told> decide(const logs::Event& event);
  void take_limits(const logs::Event& event, bool charged);
  void watch(limits::Index limit, const std::string& key, const logs::Event& event);
  std::vector<AtOnce> most_at_once() const;

  std::shared_ptr<const limits::Set> set_;
  std::vector<std::string> attributes_;
  std::vector<std::size_t> counted_by_;  // those of attributes_ that some limit's `by` names
  std::size_t worst_;
  bool costs_an_estimate_;
  bool spans_;
  std::string over_;  // the hold of a request that took no time
  limits::Trial trial_;
  std::vector<limits::Attribute> values_;
  KeyTally together_;
  std::vector<KeyTally> limits_;
  std::vector<UnderWay> under_way_;  // by limit; empty where it has no slots
  Series over_time_;
  FileTotals totals_;
};

}  // namespace weir::sim
