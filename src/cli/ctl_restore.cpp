#include "cli/ctl_restore.hpp"

#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cli/ctl_overrides.hpp"
#include "cli/print.hpp"
#include "core/json_writer.hpp"
#include "core/regular_file.hpp"
#include "limits/scalars.hpp"
#include "steering/override.hpp"

namespace weir::inline v0_1::cli {
namespace {

struct RestoredLine {
  std::string place;  // "FILE:7"
  limits::Steer kind{};
  std::string limit;
  steering::Selector when;
  std::string rates;  // joined by ", "
  limits::Time ends{};
  std::string until;
  std::string reason;

  std::string words() const { return steering::words_of(kind, limit, when); }
};

// Of one line; throws std::runtime_error with what is wrong.
RestoredLine read_line(simdjson::dom::parser& parser, std::string_view json) {
  simdjson::dom::object object;
  if (parser.parse(simdjson::padded_string(json)).get(object) != simdjson::SUCCESS)
    throw std::runtime_error("is not an object of JSON");
  const auto text = [&object](const char* name) {
    std::string_view found;
    if (object[name].get(found) != simdjson::SUCCESS)
      throw std::runtime_error(std::string("has no text '") + name + "'");
    // What could not be written as JSON is not what it was.
    if (found.find("\xEF\xBF\xBD") != std::string_view::npos)
      throw std::runtime_error(std::string("'") + name + "' was not UTF-8: set this one by hand");
    return std::string(found);
  };
  RestoredLine line;
  const std::string kind = text("kind");
  const auto known = steering::read_steer(kind);
  if (!known)
    throw std::runtime_error("kind: '" + kind + "' is none of: ban, raise, lower, shadow_on, shadow_off");
  line.kind = *known;
  line.limit = text("limit");
  line.when = steering::read_selector(text("when"));
  line.rates = text("rate");
  line.until = text("until");
  line.reason = text("reason");
  const auto ends = limits::read_time(line.until);
  if (!ends) throw std::runtime_error("until: " + ends.error());
  line.ends = *ends;
  return line;
}

// The object of a line, with or without '#' before it; nothing: there is none.
std::optional<std::string_view> object_in(std::string_view line) {
  for (const char each : {' ', '#', ' '}) {
    while (line.starts_with(each) || line.starts_with('\t')) line.remove_prefix(1);
  }
  if (!line.starts_with('{')) return std::nullopt;
  return line;
}

std::vector<RestoredLine> read_lines(const std::string& path) {
  const auto text = core::read_regular_file(path);
  if (!text) throw std::runtime_error(path + ": " + text.error());
  std::vector<RestoredLine> lines;
  std::string wrong;
  simdjson::dom::parser parser;
  std::size_t number = 0;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const auto object = object_in(rest.substr(0, end));
    const std::string place = path + ":" + std::to_string(++number);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!object) continue;
    try {
      lines.push_back(read_line(parser, *object));
      lines.back().place = place;
    } catch (const std::runtime_error& why) {
      wrong += (wrong.empty() ? "" : "\n") + place + ": " + why.what();
    }
  }
  if (!wrong.empty()) throw std::runtime_error(wrong + "\nnothing has changed");
  if (lines.empty())
    throw std::runtime_error(
        path + ": has no override: write it by `weir ctl export` or `weir ctl overrides --json`");
  return lines;
}

std::vector<std::string> command_of(const RestoredLine& line) {
  using limits::Steer;
  std::vector<std::string> words;
  switch (line.kind) {
    case Steer::ban:
      words = {"WEIR.BAN", "LIMIT", line.limit};
      break;
    case Steer::raise:
      words = {"WEIR.RAISE", "LIMIT", line.limit};
      break;
    case Steer::lower:
      words = {"WEIR.LOWER", "LIMIT", line.limit};
      break;
    case Steer::shadow_on:
      words = {"WEIR.SHADOW", "LIMIT", line.limit, "ON"};
      break;
    case Steer::shadow_off:
      words = {"WEIR.SHADOW", "LIMIT", line.limit, "OFF"};
      break;
  }
  for (std::size_t from = 0; from < line.rates.size();) {
    const std::size_t end = std::min(line.rates.find(", ", from), line.rates.size());
    words.insert(words.end(), {"RATE", line.rates.substr(from, end - from)});
    from = end + 2;
  }
  words.insert(words.end(), {"UNTIL", line.until, "REASON", line.reason});
  if (line.kind == Steer::shadow_on || line.kind == Steer::shadow_off) return words;
  words.emplace_back(line.when.empty() ? "ALL" : "AS");
  for (const auto& [name, value] : line.when) words.push_back(name + "=" + value);
  return words;
}

// What refuses one refuses the next as well.
bool refuses_all(std::string_view why) {
  return why.starts_with("not stored") || why.starts_with("not written") || why.starts_with("NO");
}

struct Restoring {
  std::size_t restored = 0;
  std::size_t in_force = 0;
  std::size_t ended = 0;
  std::size_t refused = 0;
  std::size_t not_tried = 0;
};

// Those that are neither in force nor over, in the order of the file.
std::vector<const RestoredLine*> missing(const std::vector<RestoredLine>& lines,
                                         const std::vector<CtlAnswer>& there, Restoring& counts) {
  std::unordered_set<std::string> words;
  for (const CtlAnswer& each : there) {
    const auto kind = steering::read_steer(each.text_of("kind"));
    if (kind)
      words.insert(
          steering::words_of(*kind, each.text_of("limit"), steering::read_selector(each.text_of("when"))));
  }
  const limits::Time now(std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::system_clock::now().time_since_epoch()));
  std::vector<const RestoredLine*> found;
  for (const RestoredLine& each : lines) {
    if (words.contains(each.words())) {
      ++counts.in_force;
    } else if (each.ends <= now) {
      ++counts.ended;
    } else {
      found.push_back(&each);
    }
  }
  return found;
}

void set_again(ServerConnection& server, const std::vector<const RestoredLine*>& lines, Restoring& counts) {
  constexpr std::size_t kTellEach = 100;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    server.renew_patience();
    try {
      ask(server, command_of(*lines[i]));
      ++counts.restored;
    } catch (const RefusedByServer& why) {
      ++counts.refused;
      tell_refused(lines[i]->place + ": " + why.what());
      counts.not_tried = refuses_all(why.what()) ? lines.size() - i - 1 : 0;
      if (counts.not_tried > 0) return;
    }
    if ((i + 1) % kTellEach == 0 && i + 1 < lines.size())
      std::fprintf(stderr, "%zu of %zu\n", i + 1, lines.size());
  }
}

void tell(const Restoring& counts, bool json) {
  const std::pair<const char*, std::size_t> rows[] = {{"restored", counts.restored},
                                                      {"in force already", counts.in_force},
                                                      {"ended since", counts.ended},
                                                      {"refused", counts.refused},
                                                      {"not tried", counts.not_tried}};
  std::string out;
  if (!json) {
    for (const auto& [name, count] : rows) {
      if (count > 0 || name == rows[0].first)
        out += (out.empty() ? "" : ", ") + std::to_string(count) + " " + name;
    }
    return print(out + "\n");
  }
  core::JsonWriter to(out);
  to.begin_object();
  to.member("restored", counts.restored);
  to.member("in_force", counts.in_force);
  to.member("ended", counts.ended);
  to.member("refused", counts.refused);
  to.member("not_tried", counts.not_tried);
  to.end_object();
  print(out + "\n");
}

}  // namespace

void restore_overrides(const ServerFlags& flags, const std::string& path, bool yes, bool json) {
  const std::vector<RestoredLine> lines = read_lines(path);
  Restoring counts;
  const ServerFlags::Named at = flags.servers().front();
  const auto to_set = missing(lines, all_overrides(flags, at, ""), counts);
  if (!to_set.empty() && !yes)
    agree_on_many(std::to_string(to_set.size()) + (to_set.size() == 1 ? " override of " : " overrides of ") +
                  path + " will be in force at " + at.name);
  const auto server = flags.connect(at);
  set_again(*server, to_set, counts);
  tell(counts, json);
  if (counts.refused > 0)
    throw RefusedByServer("some were not restored; what was is in force, and this can be run again");
}

}  // namespace weir::cli
