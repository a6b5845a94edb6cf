#include "trial/diff.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "core/duration.hpp"
#include "core/printable.hpp"
#include "core/rule.hpp"
#include "limits/file_text.hpp"
#include "limits/findings.hpp"
#include "limits/limit_keys.hpp"
#include "limits/scalars.hpp"

namespace weir::inline v0_1::limits {
namespace {

// One thing that a file says. `key` tells which thing it is in both files, whatever a limit is called.
struct Said {
  std::string key;
  std::string path;
  std::string text;
  std::uint32_t line = 0;
  std::string same = text;  // what is compared: limits by their ids
};

std::vector<std::string> sorted(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  return words;
}

class Flat {
 public:
  explicit Flat(const File& file) : file_(file) {
    if (!file.attributes.empty()) add("attributes", joined(sorted(file.attributes)), 0);
    add("classes", joined(file.classes), 0);
    if (file.ceiling != kNone && file.ceiling != 0) add("ceiling", file.classes[file.ceiling], 0);
    if (!file.hash_tag.empty()) add("hash_tag", file.hash_tag, 0);
    for (const List& each : file.lists) add_list(each);
    for (const NamedLimit& each : file.limits) add_limit(each);
    add_routes();
    for (const Gateway& each : file.gateways) add_gateway(each);
    add("answers", std::to_string(file.answers.status) + " " + joined(file.answers.headers), 0);
  }
  const std::vector<Said>& all() const { return all_; }

 private:
  void add(const std::string& path, std::string text, std::uint32_t line) {
    add(path, path, std::move(text), line);
  }
  void add(std::string key, std::string path, std::string text, std::uint32_t line) {
    if (!text.empty()) all_.push_back({std::move(key), std::move(path), std::move(text), line});
  }

  void add_list(const List& list) {
    std::vector<std::string> entries;
    for (const ListEntry& each : list.entries) entries.push_back(each.text);
    std::sort(entries.begin(), entries.end());
    constexpr std::size_t kMostShown = 20;
    const std::size_t rest = entries.size() - std::min(entries.size(), kMostShown);
    // Entries that are not shown make a difference too.
    const std::size_t told = std::hash<std::string>{}(joined(entries, "\n"));
    std::string text = "[" + joined({entries.begin(), entries.end() - static_cast<std::ptrdiff_t>(rest)});
    if (rest > 0)
      text += ", and " + std::to_string(rest) + " more, together " + std::to_string(told % 100'000);
    add("lists." + list.name, text + "]", list.place.line);
  }

  void add_limit(const NamedLimit& limit) {
    const std::string key = "limits." + limit.id;
    const std::string path = "limits." + limit.name;
    const auto say = [&](const std::string& what, std::string text, std::uint32_t line) {
      add(key + "." + what, path + "." + what, std::move(text), line == 0 ? limit.place.line : line);
    };
    std::vector<std::string> by;
    for (const By& each : limit.by) by.push_back(each.attribute);
    // Of a limit without `by` too, so that a limit that is new is one difference at least.
    add(key, path, by.empty() ? "by nothing" : "by " + joined(by), limit.place.line);
    for (const By& each : limit.by) {
      if (each.group.v4 != 32 || each.group.v6 != 128)
        say("group of " + each.attribute,
            std::to_string(each.group.v4) + ", " + std::to_string(each.group.v6), 0);
    }
    for (const Window& each : limit.windows) {
      const std::string algorithm = core::name_of(each.rule.algorithm);
      if (each.is_slots()) {
        add(key + "." + algorithm, path + "." + algorithm, std::to_string(each.rule.quota.burst()),
            each.place.line);
        continue;
      }
      const std::string state = core::period_name(each.rule) + " " + algorithm;
      add(key + ".rate " + state, path + ".rate", core::to_text(each.rule), each.place.line);
    }
    if (limit.within != kNone) {
      const NamedLimit& parent = file_.limits[limit.within];
      all_.push_back({key + ".within", path + ".within", parent.name, limit.place.line, parent.id});
    }
    for (const LimitKey& each : limit_keys()) {
      if (each.said != nullptr)
        say(std::string(each.key.name), each.said(file_, limit),
            each.place == nullptr ? 0 : each.place(limit).line);
    }
    std::vector<std::string> order;
    for (const Override& each : limit.overrides) {
      const std::string name = "overrides[" + text_of(file_, each.when) + "]";
      say(numbered(order, name), text_of(file_, each, limit), each.place.line);
    }
    add_order(key + ".overrides", path + ".overrides", order, limit.place.line);
  }

  void add_gateway(const Gateway& gateway) {
    const auto say = [&](const std::string& what, std::string text) {
      add("gateways." + gateway.name + "." + what, std::move(text), gateway.place.line);
    };
    constexpr std::array kFroms = {"x-forwarded", "x-original", "path"};
    say("from", kFroms[static_cast<std::size_t>(gateway.from)]);
    std::vector<std::string> trusted;
    for (const core::Network& each : gateway.trusted) trusted.push_back(core::to_text(each));
    say("trusted", joined(trusted));
    for (const Gateway::Mapped& each : gateway.attributes)
      say("attributes." + each.attribute, "header." + each.header);
    say("address", "header." + gateway.address);
    if (!gateway.token_header.empty()) say("token", gateway.token_header + ", " + gateway.token_env);
    if (gateway.deny_status != 0) say("deny_status", std::to_string(gateway.deny_status));
    if (gateway.deny_missing) say("on_missing", "deny");
    if (gateway.keep_odd_paths) say("odd_paths", "keep");
    if (gateway.holds) say("hold", "true");
  }

  void add_routes() {
    std::vector<std::string> order;
    for (const Route& each : file_.routes) {
      if (each.place.line == 0) continue;
      const std::string name =
          each.when.empty() ? "routes[the rest]" : "routes[" + text_of(file_, each.when) + "]";
      std::vector<std::string> limits;
      std::vector<std::string> ids;
      for (const Index limit : each.limits) {
        limits.push_back(file_.limits[limit].name);
        ids.push_back(file_.limits[limit].id);
      }
      std::string text = limits.empty() ? "no limits" : joined(limits);
      const std::string class_of =
          each.least_class == kNone ? "" : ", class " + file_.classes[each.least_class];
      text += class_of;
      const std::string path = numbered(order, name);
      all_.push_back({path, path, std::move(text), each.place.line, joined(ids) + class_of});
    }
    add_order("routes", "routes", order, file_.routes.front().place.line);
  }

  // The name, with a number when it is there already. Appended.
  static std::string numbered(std::vector<std::string>& names, const std::string& name) {
    std::string own = name;
    for (int i = 2; std::find(names.begin(), names.end(), own) != names.end(); ++i)
      own = name + " " + std::to_string(i);
    names.push_back(own);
    return own;
  }

  // Which comes first makes a difference, between those that both files have.
  void add_order(std::string key, std::string path, const std::vector<std::string>& order,
                 std::uint32_t line) {
    if (order.size() > 1) orders_.push_back({std::move(key), std::move(path), joined(order, "\n"), line});
  }

 public:
  const std::vector<Said>& orders() const { return orders_; }

 private:
  const File& file_;
  std::vector<Said> all_;
  std::vector<Said> orders_;
};

using Known = std::unordered_map<std::string, const Said*>;

Known known_of(const std::vector<Said>& all) {
  Known known;
  for (const Said& each : all) known.emplace(each.key, &each);
  return known;
}

// The names of `order`, one a line, that `other` has too.
std::string common(const std::string& order, const std::string& other) {
  std::string text;
  for (std::size_t from = 0; from <= order.size();) {
    const std::size_t end = std::min(order.find('\n', from), order.size());
    const std::string name = order.substr(from, end - from);
    if (("\n" + other + "\n").find("\n" + name + "\n") != std::string::npos)
      text += (text.empty() ? "" : ", then ") + name;
    from = end + 1;
  }
  return text;
}

const NamedLimit* with_id(const File& file, const std::string& id) {
  const auto found = std::find_if(file.limits.begin(), file.limits.end(),
                                  [&id](const NamedLimit& each) { return each.id == id; });
  return found == file.limits.end() ? nullptr : &*found;
}

std::string names_of(const std::vector<By>& all) {
  std::string text;
  for (const By& each : all) text += each.attribute + "\n";
  return text;
}

// What a limit counts is known by its id, the window and the names in `by`.
std::string note_of(const Difference& difference, const Said& said, const File& before, const File& after) {
  constexpr std::string_view kLimits = "limits.";
  if (!said.key.starts_with(kLimits)) return "";
  const std::size_t end = said.key.find('.', kLimits.size());
  const std::string id =
      said.key.substr(kLimits.size(), end == std::string::npos ? end : end - kLimits.size());
  const NamedLimit* const old = with_id(before, id);
  const NamedLimit* const now = with_id(after, id);
  if (old == nullptr || now == nullptr) return "";
  if (end == std::string::npos && names_of(old->by) != names_of(now->by)) return "begins without debts";
  const bool window = said.key.substr(std::min(end, said.key.size())).starts_with(".rate ");
  return window && difference.kind == Difference::Kind::added ? "begins without debts" : "";
}

void add_renamed(const File& before, const File& after, std::vector<Difference>& all) {
  for (const NamedLimit& now : after.limits) {
    const NamedLimit* const old = with_id(before, now.id);
    if (old != nullptr && old->name != now.name)
      all.push_back({Difference::Kind::changed, "limits." + now.name, "limits." + old->name,
                     "limits." + now.name, old->place.line, now.place.line, "renamed: keeps its debts"});
  }
}

}  // namespace

std::vector<Difference> differences(const File& before, const File& after) {
  using Kind = Difference::Kind;
  const Flat old(before);
  const Flat now(after);
  const Known old_known = known_of(old.all());
  const Known now_known = known_of(now.all());
  std::vector<Difference> all;
  add_renamed(before, after, all);
  const auto add = [&](Difference difference, const Said& said) {
    difference.note = note_of(difference, said, before, after);
    all.push_back(std::move(difference));
  };
  for (const Said& each : now.all()) {
    const auto found = old_known.find(each.key);
    if (found == old_known.end()) {
      add({Kind::added, each.path, "", each.text, 0, each.line, ""}, each);
    } else if (found->second->same != each.same) {
      add({Kind::changed, each.path, found->second->text, each.text, found->second->line, each.line, ""},
          each);
    }
  }
  for (const Said& each : old.all()) {
    if (!now_known.contains(each.key)) add({Kind::removed, each.path, each.text, "", each.line, 0, ""}, each);
  }
  const Known old_orders = known_of(old.orders());
  for (const Said& each : now.orders()) {
    const auto found = old_orders.find(each.key);
    if (found == old_orders.end()) continue;
    std::string first = common(found->second->text, each.text);
    std::string then = common(each.text, found->second->text);
    if (first != then)
      all.push_back({Kind::changed, each.path + ", their order", std::move(first), std::move(then),
                     found->second->line, each.line, ""});
  }
  return all;
}

std::string to_text(const std::vector<Difference>& differences, const std::string& before,
                    const std::string& after) {
  std::string text;
  const auto at = [](const std::string& file, std::uint32_t line) {
    return line == 0 ? "" : "  " + file + ":" + std::to_string(line);
  };
  for (const Difference& each : differences) {
    std::string line;
    if (each.kind == Difference::Kind::added) {
      line = "+ " + each.path + ": " + each.after;
    } else if (each.kind == Difference::Kind::removed) {
      line = "- " + each.path + ": " + each.before;
    } else {
      line = "~ " + each.path + ": " + each.before + " -> " + each.after;
    }
    if (!each.note.empty()) line += " (" + each.note + ")";
    text += core::printable(line + at(before, each.line_before) + at(after, each.line_after)) + "\n";
  }
  return text;
}

}  // namespace weir::limits
