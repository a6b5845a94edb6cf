// weir ctl export: the overrides that are in force, as the limits file says them. What a file cannot say is a
// comment that tells what to write. At its end, each as a comment that can be restored (ctl_restore.hpp).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/ctl.hpp"
#include "cli/ctl_answer.hpp"
#include "cli/ctl_overrides.hpp"
#include "cli/print.hpp"
#include "core/printable.hpp"
#include "core/utc_text.hpp"
#include "steering/override.hpp"

namespace weir::inline v0_1::cli {
namespace {

using steering::read_selector;
using steering::Selector;

struct ExportFlags {
  ServerFlags server;
  std::string limit;
};

// As a text of YAML in double quotes, and printable.
std::string yaml_text(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t shown = core::shown_as_it_is(text);
    const core::Character next = core::character_at(text);
    if (text.front() == '"' || text.front() == '\\') out += '\\';
    if (shown > 0) {
      out += text.substr(0, shown);
    } else {
      out += "\\U";
      for (int bits = 28; bits >= 0; bits -= 4)
        out += kDigits[(next.point >> static_cast<unsigned>(bits)) & 15U];
    }
    text.remove_prefix(std::max<std::size_t>(1, std::max(shown, next.size)));
  }
  return out + '"';
}

// An operator's '@' is a letter, and the file's names a list.
bool can_be_written(const Selector& selector) {
  return std::none_of(selector.begin(), selector.end(), [](const auto& each) {
    return each.second.starts_with('@') || !core::is_utf8(each.second);
  });
}

std::string conditions(const Selector& selector) {
  std::string text;
  for (const auto& [name, value] : selector)
    text += (text.empty() ? "" : ", ") + yaml_text(name) + ": " + yaml_text(value);
  return "{ " + text + " }";
}

struct Ban {
  const CtlAnswer* row;
  Selector when;
};

struct OfLimit {
  std::vector<const CtlAnswer*> changes;
  std::vector<Ban> bans;
  const CtlAnswer* shadow = nullptr;  // the latest
};

std::string comment(const CtlAnswer& row, const std::string& what) {
  return "    # " + row.text_of("number") + ", set " + row.text_of("set_at") + " by " +
         core::printable(row.text_of("user")) + ", until " + row.text_of("until") + ": " +
         core::printable(what) + "\n";
}

void append_changes(std::string& out, const OfLimit& of) {
  bool begun = false;
  for (const CtlAnswer* const row : of.changes) {
    const Selector selector = read_selector(row->text_of("when"));
    const std::string what = row->text_of("kind") + " " + row->text_of("when");
    if (!can_be_written(selector)) {
      out += comment(*row, what + ": no limits file can say whom this concerns");
      continue;
    }
    if (!std::exchange(begun, true)) out += "    # After those that the limit has.\n    overrides:\n";
    out += "  " + comment(*row, what);
    out += "      - until: " + yaml_text(row->text_of("until")) + "\n";
    if (!selector.empty()) out += "        when: " + conditions(selector) + "\n";
    out += "        reason: " + yaml_text(row->text_of("reason")) + "\n";
    std::string rates;
    const std::string text = row->text_of("rate");
    for (std::size_t from = 0; from <= text.size();) {
      const std::size_t end = std::min(text.find(", ", from), text.size());
      rates += (rates.empty() ? "" : ", ") + yaml_text(text.substr(from, end - from));
      from = end + 2;
    }
    out += "        rate: [" + rates + "]\n";
  }
}

// The attribute that most bans name alone: the file's `deny` takes those. Empty: there is none.
std::string most_banned(const OfLimit& of) {
  std::map<std::string, std::size_t> counts;
  for (const Ban& ban : of.bans) {
    if (ban.when.size() == 1 && can_be_written(ban.when)) ++counts[ban.when.front().first];
  }
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? "" : most->first;
}

void append_other_ban(std::string& out, const std::string& limit, const Ban& ban) {
  const std::string what = "ban " + ban.row->text_of("when") + ": " + ban.row->text_of("reason");
  out += comment(*ban.row, what);
  if (!can_be_written(ban.when)) {
    out += "    #   No limits file can say whom this concerns.\n";
  } else if (ban.when.empty()) {
    out += "    #   Write deny: { ATTRIBUTE: \"*\" } with one that all these requests have.\n";
  } else {
    out += "    #   Write a limit of its own, beside this one in the routes:\n    #   " +
           core::printable(limit) + "_ban_" + ban.row->text_of("number") +
           ": { deny: " + conditions(ban.when) + " }\n";
  }
}

void append_bans(std::string& out, const std::string& limit, const OfLimit& of) {
  const bool shadowed = of.shadow != nullptr && of.shadow->text_of("kind") == "shadow_on";
  // In shadow `deny` denies nobody either, which a ban does.
  const std::string attribute = shadowed ? "" : most_banned(of);
  std::string values;
  for (const Ban& ban : of.bans) {
    if (attribute.empty() || ban.when.size() != 1 || ban.when.front().first != attribute ||
        !can_be_written(ban.when)) {
      append_other_ban(out, limit, ban);
      continue;
    }
    out += comment(*ban.row, "ban " + ban.row->text_of("when") + ": " + ban.row->text_of("reason"));
    values += (values.empty() ? "" : ", ") + yaml_text(ban.when.front().second);
  }
  if (values.empty()) return;
  out +=
      "    # A ban ends, and deny does not: take each value out at its time. Values that the limit denies\n"
      "    # already belong into the same list.\n";
  out += "    deny: { " + yaml_text(attribute) + ": [" + values + "] }\n";
}

void append_shadow(std::string& out, const CtlAnswer& row) {
  if (row.text_of("kind") == "shadow_on") {
    out += comment(row, row.text_of("reason"));
    out += "    shadow: " + yaml_text("until " + row.text_of("until")) + "\n";
    return;
  }
  out += comment(row, row.text_of("reason"));
  out += "    #   The limit is enforced until then: take its `shadow` out, and put it back at that time.\n";
}

std::string exported(const ExportFlags& flags) {
  const std::vector<CtlAnswer> rows =
      all_overrides(flags.server, flags.server.servers().front(), flags.limit);
  std::map<std::string, OfLimit> limits;
  for (const CtlAnswer& row : rows) {
    OfLimit& of = limits[row.text_of("limit")];
    const std::string kind = row.text_of("kind");
    if (kind == "ban") {
      of.bans.push_back({&row, read_selector(row.text_of("when"))});
    } else if (kind == "raise" || kind == "lower") {
      of.changes.push_back(&row);
    } else {
      of.shadow = &row;
    }
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::string out = "# The overrides of " + core::printable(flags.server.servers().front().name) +
                    " that were in force at " +
                    core::utc_text(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()) +
                    ".\n# Put what stands under a limit into that limit of the file.\n";
  out += limits.empty() ? "limits: {}\n" : "limits:\n";
  for (const auto& [name, of] : limits) {
    out += "  " + yaml_text(name) + ":\n";
    if (of.shadow != nullptr) append_shadow(out, *of.shadow);
    append_bans(out, name, of);
    append_changes(out, of);
  }
  if (!rows.empty()) out += "# Each as it is, for weir ctl overrides --restore:\n";
  for (const CtlAnswer& row : rows) {
    std::string line;
    append_json(row, {}, line);
    out += "# " + line + '\n';
  }
  return out;
}

}  // namespace

void add_ctl_export(CLI::App& ctl, int& result) {
  const auto flags = std::make_shared<ExportFlags>();
  CLI::App* app =
      ctl.add_subcommand("export", "Print what operators have changed as the limits file says it");
  app->add_option("--limit", flags->limit, "only of this limit")->type_name("NAME");
  add_server_to(*app, flags->server, false);
  app->callback([flags, &result] { result = run_for_operator([&] { print(exported(*flags)); }); });
}

}  // namespace weir::cli
