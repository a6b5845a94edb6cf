#include "resp/commands.hpp"

#include <algorithm>
#include <array>

#include "core/short_text.hpp"
#include "service/verbs.hpp"

namespace weir::inline v0_1::resp {
namespace {

constexpr Command::Keys kNoKeys{};
constexpr Command::Keys kOneKey{.first = 1, .last = 1};
constexpr Command::Keys kAllKeys{.first = 1, .last = -1};
constexpr Command::Keys kKeysAndRules{.first = 1, .last = -1, .step = 2};
constexpr Flags kAlways = Flags::before_auth | Flags::in_multi;
using steering::Role;
constexpr Flags kRefused = Flags::unlisted | Flags::in_multi;

constexpr std::array kClient = {
    Subcommand{"LIST", Role::operate, run_client_list, true},
    Subcommand{"KILL", Role::operate, run_client_kill, true},
    Subcommand{"UNBLOCK", Role::operate, run_client_unblock, true},
    Subcommand{"INFO", Role::decide, run_client_info, true},
    Subcommand{"ID", Role::decide, run_client_id},
    Subcommand{"SETNAME", Role::decide, run_client_setname},
    Subcommand{"GETNAME", Role::decide, run_client_getname},
    Subcommand{"SETINFO", Role::decide, run_client_nothing},
    Subcommand{"NO-EVICT", Role::decide, run_client_nothing},
    Subcommand{"NO-TOUCH", Role::decide, run_client_nothing},
    Subcommand{"REPLY", Role::decide, run_client_reply},
};

constexpr Command verb_command(const service::VerbRow& verb, int arity, Command::Keys keys, Flags flags,
                               Command::Gather ask, void (*run)(RunningCommand&) = nullptr) {
  return {verb.command, arity,     keys,     verb.audited ? flags | Flags::audited : flags, verb.role, ask,
          run,          verb.form, verb.says};
}

// The unlisted ones last.
constexpr std::array kCommands = {
    Command{"CL.THROTTLE", -5, kOneKey, Flags::none, Role::decide, ask_cl_throttle, nullptr,
            "key max_burst count period [quantity]", "decides one request"},
    Command{"RL.THROTTLE", -5, kOneKey, Flags::none, Role::decide, ask_cl_throttle, nullptr, "",
            "CL.THROTTLE by its other name"},
    Command{"GCRA", -5, kOneKey, Flags::none, Role::decide, ask_gcra, nullptr,
            "key max_burst tokens_per_period period [TOKENS n]", "decides one request"},
    Command{"WEIR.THROTTLE", -3, kKeysAndRules, Flags::none, Role::decide, ask_throttle, nullptr,
            "[COST n [ATLEAST m]] [FIELDS] [KEYS] key rule [key rule ...]",
            "decides one request under several limits"},
    verb_command(service::verb("WEIR.RESERVE"), -3, kNoKeys, Flags::none, ask_reserve),
    verb_command(service::verb("WEIR.ACQUIRE"), -5, kNoKeys, Flags::waits, ask_acquire),
    Command{"WEIR.LEAVE", 2, kNoKeys, Flags::not_in_multi, Role::decide, nullptr, run_leave, "word",
            "takes a WEIR.ACQUIRE that waits by that TAG out of line; 0 if it is answered"},
    verb_command(service::verb("WEIR.MOMENT"), 2, kNoKeys, Flags::none, ask_moment),
    verb_command(service::verb("WEIR.CANCEL"), 2, kNoKeys, Flags::none, ask_cancel),
    verb_command(service::verb("WEIR.SETTLE"), -2, kNoKeys, Flags::none, ask_settle),
    verb_command(service::verb("WEIR.EXTEND"), 3, kNoKeys, Flags::none, ask_extend),
    verb_command(service::verb("WEIR.HOLDS"), -4, kNoKeys, Flags::none, ask_holds),
    verb_command(service::verb("WEIR.CHARGE"), -3, kNoKeys, Flags::none, ask_charge),
    verb_command(service::verb("WEIR.REFUND"), -3, kNoKeys, Flags::none, ask_refund),
    verb_command(service::verb("WEIR.CHECK"), -2, kNoKeys, Flags::none, ask_check),
    verb_command(service::verb("WEIR.LOOK"), -2, kNoKeys, Flags::none, ask_look),
    verb_command(service::verb("WEIR.EXPLAIN"), -2, kNoKeys, Flags::none, nullptr, run_explain),
    Command{"WEIR.CONFIG", -2, kNoKeys, Flags::audited, Role::operate, nullptr, run_limits_config,
            "GET|CHECK|RELOAD|SET text", "the limits file"},
    Command{"WEIR.TIME", -1, kNoKeys, Flags::none, Role::decide, nullptr, run_weir_time, "[ADVANCE ms|RESET]",
            "what time it is by this server's clocks"},
    verb_command(service::verb("WEIR.RESET"), -2, kOneKey, Flags::none, nullptr, run_reset),
    Command{"WEIR.TOP", -1, kNoKeys, Flags::none, Role::operate, nullptr, run_top,
            "[LIMIT name] [BY denied|cost] [COUNT n]",
            "which keys are denied most, or charged most, of late"},
    Command{"WEIR.USAGE", -5, kNoKeys, Flags::none, Role::operate, nullptr, run_usage,
            "LIMIT name AS attribute=value ...", "how much of a limit that is tracked a key has used"},
    Command{"WEIR.BAN", -2, kNoKeys, Flags::none, Role::operate, nullptr, run_ban,
            "LIMIT name FOR ms|UNTIL time REASON text AS attribute=value ...", "denies all that is so"},
    Command{"WEIR.RAISE", -2, kNoKeys, Flags::none, Role::operate, nullptr, run_raise,
            "LIMIT name RATE rate [RATE rate ...] FOR ms|UNTIL time REASON text AS attribute=value ...",
            "gives more"},
    Command{"WEIR.LOWER", -2, kNoKeys, Flags::none, Role::operate, nullptr, run_lower,
            "LIMIT name RATE rate [RATE rate ...] FOR ms|UNTIL time REASON text AS attribute=value ...",
            "gives less"},
    Command{"WEIR.SHADOW", -2, kNoKeys, Flags::none, Role::operate, nullptr, run_shadow,
            "LIMIT name ON|OFF FOR ms|UNTIL time REASON text", "counts and never denies, or enforces"},
    Command{"WEIR.UNBAN", -2, kNoKeys, Flags::none, Role::operate, nullptr, run_unban,
            "LIMIT name AS attribute=value ...", "ends the ban of exactly these words"},
    Command{"WEIR.LIFT", -2, kNoKeys, Flags::none, Role::operate, nullptr, run_lift, "number [REASON text]",
            "ends an override"},
    Command{"WEIR.OVERRIDES", -1, kNoKeys, Flags::none, Role::operate, nullptr, run_overrides,
            "[LIMIT name] [COUNT n] [AFTER number]", "what operators have set"},
    Command{"WEIR.AUDIT", -1, kNoKeys, Flags::none, Role::admin, nullptr, run_audit, "[COUNT n]",
            "the latest changes, as the audit has them"},
    Command{"DEL", -2, kAllKeys, Flags::audited, Role::operate, nullptr, run_del, "key...",
            "forgets what was charged to each"},
    Command{"PING", -1, kNoKeys, Flags::none, Role::decide, nullptr, run_ping, "[message]",
            "answers PONG or the message"},
    Command{"ECHO", 2, kNoKeys, Flags::none, Role::decide, nullptr, run_echo, "message",
            "answers the message"},
    Command{"QUIT", -1, kNoKeys, kAlways, Role::none, nullptr, run_quit, "", "closes the connection"},
    Command{"RESET", 1, kNoKeys, kAlways, Role::none, nullptr, run_reset_connection, "",
            "the connection as it was when new"},
    Command{"HELLO", -1, kNoKeys, kAlways, Role::none, nullptr, run_hello,
            "[2|3 [AUTH user password] [SETNAME name]]", "chooses the protocol"},
    Command{"AUTH", -2, kNoKeys, kAlways, Role::none, nullptr, run_auth, "[user] password",
            "authenticates the connection"},
    Command{"SELECT", 2, kNoKeys, Flags::none, Role::decide, nullptr, run_select, "0",
            "there is one database"},
    Command{"CLIENT", -2, kNoKeys, Flags::none, Role::decide, nullptr, run_client,
            "LIST|KILL|UNBLOCK|INFO|ID|SETNAME|GETNAME|SETINFO|NO-EVICT|NO-TOUCH|REPLY", "about connections",
            kClient},
    Command{"COMMAND", -1, kNoKeys, Flags::none, Role::decide, nullptr, run_command,
            "[COUNT|DOCS|INFO [name...]]", "this table"},
    Command{"INFO", -1, kNoKeys, Flags::none, Role::decide, nullptr, run_info, "[section...]",
            "about this server"},
    Command{"CONFIG", -2, kNoKeys, Flags::none, Role::decide, nullptr, run_config, "GET name...",
            "settings, read only"},
    Command{"TIME", 1, kNoKeys, Flags::none, Role::decide, nullptr, run_time, "",
            "seconds and microseconds of the wall clock"},
    Command{"DBSIZE", 1, kNoKeys, Flags::none, Role::operate, nullptr, run_dbsize, "", "live keys"},
    Command{"LASTSAVE", 1, kNoKeys, Flags::none, Role::operate, nullptr, run_lastsave, "",
            "when the last snapshot was written"},
    Command{"BGSAVE", -1, kNoKeys, Flags::none, Role::operate, nullptr, run_bgsave, "[SCHEDULE]",
            "writes a snapshot beside the work"},
    Command{"SLOWLOG", -2, kNoKeys, Flags::none, Role::operate, nullptr, run_slowlog, "GET [count]|LEN|RESET",
            "what took 10 ms or longer"},
    Command{"SHUTDOWN", -1, kNoKeys, Flags::not_in_multi | Flags::audited, Role::admin, nullptr, run_shutdown,
            "[SAVE|NOSAVE]", "stops the server"},
    Command{"MULTI", 1, kNoKeys, Flags::in_multi, Role::decide, nullptr, run_multi, "",
            "queues what follows until EXEC"},
    Command{"EXEC", 1, kNoKeys, Flags::in_multi, Role::decide, nullptr, run_exec, "",
            "runs what MULTI queued"},
    Command{"DISCARD", 1, kNoKeys, Flags::in_multi, Role::decide, nullptr, run_discard, "",
            "forgets what MULTI queued"},

    Command{"EVAL", -1, kNoKeys, kRefused, Role::decide, nullptr, refuse_script, "", ""},
    Command{"EVAL_RO", -1, kNoKeys, kRefused, Role::decide, nullptr, refuse_script, "", ""},
    Command{"EVALSHA", -1, kNoKeys, kRefused, Role::decide, nullptr, refuse_script, "", ""},
    Command{"EVALSHA_RO", -1, kNoKeys, kRefused, Role::decide, nullptr, refuse_script, "", ""},
    Command{"SCRIPT", -1, kNoKeys, kRefused, Role::decide, nullptr, refuse_script, "", ""},
};
static_assert(std::all_of(service::kVerbs.begin(), service::kVerbs.end(),
                          [](const service::VerbRow& verb) {
                            return std::any_of(kCommands.begin(), kCommands.end(), [&](const Command& each) {
                              return each.name == verb.command;
                            });
                          }),
              "a verb has no command");
constexpr std::size_t kListed = static_cast<std::size_t>(
    std::find_if(kCommands.begin(), kCommands.end(),
                 [](const Command& each) { return has(each.flags, Flags::unlisted); }) -
    kCommands.begin());

// A table without collisions: of a name only its length and three of its letters are read, and the factor is
// the first with which no two names meet.
constexpr unsigned kBits = 10;
using NameTable = std::array<std::uint8_t, std::size_t{1} << kBits>;
constexpr std::uint8_t kEmpty = 0xff;

constexpr std::uint32_t read_of(std::string_view name) {
  // 0x20 is what a letter in upper case differs by from one in lower case.
  const auto letter = [name](std::size_t i) { return static_cast<std::uint32_t>(name[i] | 0x20) & 0xffU; };
  return letter(0) | letter(name.size() / 2) << 8 | letter(name.size() - 1) << 16 |
         static_cast<std::uint32_t>(name.size()) << 24;
}
static_assert(
    [] {
      for (const Command& one : kCommands)
        for (const Command& other : kCommands)
          if (&one != &other && read_of(one.name) == read_of(other.name)) return false;
      return true;
    }(),
    "two commands agree in what is read of their names: read another letter");

constexpr std::size_t slot_of(std::string_view name, std::uint32_t factor) {
  return static_cast<std::uint32_t>(read_of(name) * factor) >> (32 - kBits);
}

constexpr bool fill(NameTable& slots, std::uint32_t factor) {
  slots.fill(kEmpty);
  for (std::size_t i = 0; i < kCommands.size(); ++i) {
    std::uint8_t& slot = slots[slot_of(kCommands[i].name, factor)];
    if (slot != kEmpty) return false;
    slot = static_cast<std::uint8_t>(i);
  }
  return true;
}

constexpr std::uint32_t kFactor = [] {
  NameTable slots{};
  // Multiples of the golden ratio's fraction: odd, and with their ones well spread.
  std::uint32_t factor = 0x9e3779b1;
  while (!fill(slots, factor)) factor += 2 * 0x9e3779b1;
  return factor;
}();
constexpr NameTable kSlots = [] {
  NameTable slots{};
  fill(slots, kFactor);
  return slots;
}();

// A command's name, and which bits of it count: the one in which a letter's two cases differ does not.
struct Spelling {
  core::TextEnds name;
  core::TextEnds mask;

  bool matches(std::string_view text) const {
    const core::TextEnds ends = core::ends_of(text);
    return (((ends.head & mask.head) ^ name.head) | ((ends.tail & mask.tail) ^ name.tail)) == 0;
  }
};
const std::array<Spelling, kCommands.size()> kSpellings = [] {
  std::array<Spelling, kCommands.size()> spellings;
  for (std::size_t i = 0; i < kCommands.size(); ++i) {
    const std::string_view name = kCommands[i].name;
    std::string mask(name);
    for (char& c : mask) c = c >= 'A' && c <= 'Z' ? '\xdf' : '\xff';
    spellings[i] = {core::ends_of(name), core::ends_of(mask)};
  }
  return spellings;
}();
static_assert(std::all_of(kCommands.begin(), kCommands.end(),
                          [](const Command& each) { return each.name.size() <= core::kLongestShortText; }));

}  // namespace

std::span<const Command> listed_commands() { return std::span(kCommands).first(kListed); }

const Command* find_command(std::string_view name) {
  if (name.empty()) return nullptr;
  const std::uint8_t at = kSlots[slot_of(name, kFactor)];
  if (at == kEmpty || name.size() != kCommands[at].name.size() || !kSpellings[at].matches(name))
    return nullptr;
  return &kCommands[at];
}

std::string command_form(std::string_view command) {
  return "the form is " + std::string(command) + " " + std::string(find_command(command)->form);
}

const Subcommand* Command::find_subcommand(std::string_view word) const {
  const std::string wanted = lower(word);
  const auto found = std::find_if(subcommands.begin(), subcommands.end(),
                                  [&wanted](const Subcommand& each) { return lower(each.name) == wanted; });
  return found == subcommands.end() ? nullptr : &*found;
}

Role Command::needs_of_subcommand(std::string_view word) const {
  const Subcommand* const found = find_subcommand(word);
  return found == nullptr ? role : found->role;
}

bool Command::allowed_in_multi(Arguments words) const {
  const bool chooses_replies = run == run_client && lower(words[1]) == "reply";
  return !chooses_replies && !has(flags, Flags::not_in_multi);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return result;
}

void RunningCommand::fail_arity(std::string_view name) const {
  fail("ERR wrong number of arguments for '" + std::string(name) + "' command");
}

void RunningCommand::fail_subcommand(std::string_view name) const {
  fail("ERR unknown subcommand '" + std::string(name.substr(0, 32)) + "'");
}

bool RunningCommand::take_options(OptionSet takes, OptionWords& into) const {
  Arguments rest = words.subspan(1);
  std::string error;
  if (read_options(rest, takes, into, error) && !rest.empty())
    error = "ERR unknown option " + shown_word(rest[0]) + "; " + command_form(find_command(words[0])->name);
  if (!error.empty()) fail(error);
  return error.empty();
}

}  // namespace weir::resp
