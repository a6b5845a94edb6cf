// weir ctl ban, unban, raise, lower, shadow, lift: what changes what a server decides.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/ctl.hpp"
#include "cli/ctl_answer.hpp"
#include "cli/option_table.hpp"
#include "cli/print.hpp"
#include "cli/server_flags.hpp"
#include "cli/values.hpp"
#include "core/json_writer.hpp"
#include "core/printable.hpp"
#include "steering/override.hpp"

namespace weir::inline v0_1::cli {
namespace {

struct SteerFlags {
  ServerFlags server;
  std::string limit;
  std::vector<std::string> when;  // attribute=value; ALL
  std::vector<std::string> rates;
  std::string span;
  std::string until;
  std::string reason;
  std::string number;
  std::string on;
  bool yes = false;
  bool json = false;
};

bool is_everybody(const SteerFlags& flags) { return flags.when.size() == 1 && flags.when.front() == "ALL"; }

// It may concern more than one key: a pattern, a CIDR, or everybody.
bool is_wide(const SteerFlags& flags) {
  steering::Selector selector;
  for (const std::string& each : flags.when) {
    const std::size_t equals = std::min(each.find('='), each.size());
    selector.emplace_back(each.substr(0, equals), each.substr(std::min(equals + 1, each.size())));
  }
  return is_everybody(flags) || steering::is_sought(selector);
}

std::string whom(const SteerFlags& flags) {
  if (is_everybody(flags)) return "everybody";
  std::string text;
  for (const std::string& each : flags.when) text += (text.empty() ? "" : " ") + each;
  return text;
}

std::string how_long(const SteerFlags& flags) {
  return flags.span.empty() ? "until " + flags.until : "for " + flags.span;
}

void add_whom(const SteerFlags& flags, std::vector<std::string>& words) {
  if (is_everybody(flags)) return words.push_back("ALL");
  words.push_back("AS");
  words.insert(words.end(), flags.when.begin(), flags.when.end());
}

void add_terms(const SteerFlags& flags, std::vector<std::string>& words) {
  if (flags.span.empty() == flags.until.empty())
    throw std::runtime_error("give --for or --until, one of them");
  if (flags.span.empty()) {
    words.insert(words.end(), {"UNTIL", flags.until});
  } else {
    const auto span = parse_time("for", flags.span, std::chrono::seconds{1});
    words.insert(words.end(),
                 {"FOR", std::to_string(std::chrono::ceil<std::chrono::milliseconds>(span).count())});
  }
  words.insert(words.end(), {"REASON", flags.reason});
}

// Whether it was shown, as it may concern many.
bool agree(const SteerFlags& flags, const std::string& what) {
  if (!is_wide(flags) || flags.yes) return false;
  agree_on_many(what);
  return true;
}

void tell(const SteerFlags& flags, const char* name, std::int64_t number, const std::string& text) {
  if (!flags.json) return print(text + "\n");
  std::string out;
  core::JsonWriter json(out);
  json.begin_object();
  json.unknown_name(name);
  json.value(number);
  json.end_object();
  print(out + "\n");
}

// What is in force is said once the server has taken it.
void steer(const SteerFlags& flags, const std::vector<std::string>& words, const std::string& what) {
  const bool shown = agree(flags, what);
  const std::int64_t number = ask(flags.server, words).number;
  if (!flags.json && !shown) std::fprintf(stderr, "%s\n", core::printable(what).c_str());
  tell(flags, "number", number, "override " + std::to_string(number) + " is in force");
}

void set(const SteerFlags& flags, const std::string& verb, std::vector<std::string> words,
         const std::string& what) {
  words.insert(words.begin(), "WEIR." + verb);
  add_terms(flags, words);
  add_whom(flags, words);
  steer(flags, words, what + " " + how_long(flags));
}

void ban(const SteerFlags& flags) {
  set(flags, "BAN", {"LIMIT", flags.limit},
      flags.limit + ": no request " + (is_everybody(flags) ? "" : "of " + whom(flags) + " ") + "passes");
}

void change(const SteerFlags& flags, const std::string& verb) {
  std::vector<std::string> words = {"LIMIT", flags.limit};
  std::string rates;
  for (const std::string& each : flags.rates) {
    words.insert(words.end(), {"RATE", each});
    rates += (rates.empty() ? "" : ", ") + each;
  }
  set(flags, verb, words, flags.limit + ": " + whom(flags) + " has " + rates);
}

void shadow(const SteerFlags& flags) {
  std::vector<std::string> words = {"WEIR.SHADOW", "LIMIT", flags.limit, flags.on == "on" ? "ON" : "OFF"};
  add_terms(flags, words);
  steer(
      flags, words,
      flags.limit + (flags.on == "on" ? ": counts, and denies nobody " : ": is enforced ") + how_long(flags));
}

void unban(const SteerFlags& flags) {
  std::vector<std::string> words = {"WEIR.UNBAN", "LIMIT", flags.limit};
  add_whom(flags, words);
  const std::int64_t ended = ask(flags.server, words).number;
  tell(flags, "ended", ended,
       ended == 0 ? "no ban of exactly these words was in force" : std::to_string(ended) + " ended");
}

void lift(const SteerFlags& flags) {
  std::vector<std::string> words = {"WEIR.LIFT", flags.number};
  if (!flags.reason.empty()) words.insert(words.end(), {"REASON", flags.reason});
  const std::int64_t ended = ask(flags.server, words).number;
  tell(flags, "ended", ended,
       ended == 0 ? "there is no override " + flags.number : "override " + flags.number + " has ended");
}

template <class Work>
CLI::App& add(CLI::App& ctl, int& result, const char* name, const char* what,
              const std::shared_ptr<SteerFlags>& flags, Work work) {
  CLI::App* app = ctl.add_subcommand(name, what);
  app->callback([flags, work, &result] { result = run_for_operator([&] { work(*flags); }); });
  return *app;
}

void add_limit(CLI::App& app, SteerFlags& flags) {
  app.add_option("LIMIT", flags.limit, "the limit of the file")->required();
}

void add_when(CLI::App& app, SteerFlags& flags) {
  app.add_option("WHEN", flags.when, "attribute=value, all of which hold; or ALL")->required();
}

void add_ends(CLI::App& app, SteerFlags& flags) {
  app.add_option("--for", flags.span, "how long, from 1s to 366 days")->type_name("TIME");
  app.add_option("--until", flags.until, "or when it ends: a date, or RFC 3339")->type_name("DATE");
  app.add_option("--reason", flags.reason, "why, as the audit will say it")->type_name("TEXT")->required();
}

void add_yes(CLI::App& app, SteerFlags& flags) {
  app.add_flag("--yes", flags.yes, "do not ask about more keys than one; needed off a terminal");
}

void add_server(CLI::App& app, SteerFlags& flags) {
  app.add_flag("--json", flags.json, "print the answer as JSON");
  add_server_to(app, flags.server, false);
}

void add_change(CLI::App& ctl, int& result, const char* name, const std::string& verb, const char* what) {
  const auto flags = std::make_shared<SteerFlags>();
  CLI::App& app = add(ctl, result, name, what, flags, [verb](const SteerFlags& its) { change(its, verb); });
  add_limit(app, *flags);
  add_when(app, *flags);
  app.add_option("--rate", flags->rates, "as in the file: '200/s burst 400'; one for each window")
      ->type_name("RATE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->required();
  add_ends(app, *flags);
  add_yes(app, *flags);
  add_server(app, *flags);
}

}  // namespace

void add_ctl_ban(CLI::App& ctl, int& result) {
  const auto flags = std::make_shared<SteerFlags>();
  CLI::App& app = add(ctl, result, "ban", "Deny all requests of some until a time", flags, ban);
  add_limit(app, *flags);
  add_when(app, *flags);
  add_ends(app, *flags);
  add_yes(app, *flags);
  add_server(app, *flags);
}

void add_ctl_unban(CLI::App& ctl, int& result) {
  const auto flags = std::make_shared<SteerFlags>();
  CLI::App& app = add(ctl, result, "unban", "End a ban, by exactly its words", flags, unban);
  add_limit(app, *flags);
  add_when(app, *flags);
  add_server(app, *flags);
}

void add_ctl_raise(CLI::App& ctl, int& result) {
  add_change(ctl, result, "raise", "RAISE", "Give some more until a time");
}

void add_ctl_lower(CLI::App& ctl, int& result) {
  add_change(ctl, result, "lower", "LOWER", "Give some less until a time");
}

void add_ctl_shadow(CLI::App& ctl, int& result) {
  const auto flags = std::make_shared<SteerFlags>();
  CLI::App& app = add(ctl, result, "shadow", "Let a limit count and deny nobody, or enforce one that does",
                      flags, shadow);
  add_limit(app, *flags);
  take_only(*app.add_option("ON", flags->on, "on: it denies nobody; off: it is enforced")->required(),
            {"on", "off"});
  add_ends(app, *flags);
  add_server(app, *flags);
}

void add_ctl_lift(CLI::App& ctl, int& result) {
  const auto flags = std::make_shared<SteerFlags>();
  CLI::App& app = add(ctl, result, "lift", "End an override, by its number", flags, lift);
  app.add_option("NUMBER", flags->number, "as weir ctl overrides has it")->required();
  app.add_option("--reason", flags->reason, "why")->type_name("TEXT");
  add_server(app, *flags);
}

}  // namespace weir::cli
