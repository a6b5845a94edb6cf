#include "limits/lists.hpp"

#include <unordered_set>

#include "core/printable.hpp"
#include "limits/file_keys.hpp"
#include "limits/scalars.hpp"

namespace weir::inline v0_1::limits {
namespace {

constexpr std::size_t kMostListed = 1'000'000;
constexpr std::size_t kMostPatterns = 1000;
constexpr std::size_t kMostFileBytes = 64 << 20;
constexpr std::size_t kMostEntryBytes = 4096;

// Takes the entries of one list, and finds what is wrong with them together.
class Entries {
 public:
  explicit Entries(std::vector<ListEntry>& entries) : entries_(entries) {}

  // Empty, or what is wrong with the next one.
  ReadEntry add(std::string_view text, Position place) {
    ReadEntry read = read_entry(text, place);
    if (!read.wrong.empty()) return read;
    if (read.entry.kind == ListEntry::Kind::pattern) {
      if (!patterns_.insert(read.entry.text).second) {
        read.rule = FileRule::lists;
        read.wrong = "the pattern " + in_quotes(text) + " a second time";
        return read;
      }
      if (patterns_.size() > kMostPatterns) {
        read.rule = FileRule::bounds;
        read.wrong = "more than " + std::to_string(kMostPatterns) + " patterns in one list";
        return read;
      }
    }
    if (entries_.size() == kMostListed) {
      read.rule = FileRule::bounds;
      read.wrong = "more than " + std::to_string(kMostListed) + " entries in one list";
      return read;
    }
    entries_.push_back(std::move(read.entry));
    read.entry = {};
    return read;
  }

 private:
  std::vector<ListEntry>& entries_;
  std::unordered_set<std::string> patterns_;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// What stands before a comment: '#' at the beginning, or after a blank.
std::string_view without_comment(std::string_view line) {
  for (std::size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
    if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') return line.substr(0, at);
  }
  return line;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = core::shown_as_it_is(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

// False when the file has nothing that could be an entry.
bool read_list_text(Context& context, const std::string& path, const std::string& text, List& list) {
  bool any = false;
  Entries entries(list.entries);
  std::uint32_t number = 0;
  std::string_view rest = text;
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (const auto* given_up = context.options.given_up; given_up != nullptr && given_up->load()) break;
    const std::string_view entry = trimmed(without_comment(line));
    if (entry.empty()) continue;
    any = true;
    const Position place{number, static_cast<std::uint32_t>(entry.data() - line.data()) + 1};
    const auto refused = [&](FileRule rule, std::string what) {
      context.findings.add_of(list.file, {Severity::error, rule, "", place, path, std::move(what)});
    };
    if (!is_utf8(entry)) {
      refused(FileRule::lists, in_quotes(entry) + " is not text in UTF-8");
    } else if (entry.size() > kMostEntryBytes) {
      refused(FileRule::bounds, "an entry of " + std::to_string(entry.size()) + " bytes; at most " +
                                    std::to_string(kMostEntryBytes) + " are read");
    } else if (ReadEntry read = entries.add(entry, place); !read.wrong.empty()) {
      refused(read.rule, std::move(read.wrong));
      if (read.rule == FileRule::bounds) break;
    }
  }
  return any;
}

void read_list_file(Context& context, const FileField& field, List& list) {
  if (!is_text(context, field)) return;
  const std::string& folder = context.options.folder;
  const bool absolute = field.text().starts_with('/') || folder.empty();
  list.file = absolute ? field.text() : folder + (folder.ends_with('/') ? "" : "/") + field.text();
  const auto text = context.options.open(list.file, kMostFileBytes);
  if (!text) {
    context.error(FileRule::lists, field, "cannot read " + in_quotes(list.file) + ": " + text.error());
    return;
  }
  if (text->size() > kMostFileBytes) {
    context.error(FileRule::bounds, field, in_quotes(list.file) + " has more than 64 MiB");
    return;
  }
  const std::string path = field.path.substr(0, field.path.rfind('.'));
  if (!read_list_text(context, path, *text, list))
    // A list of bans is empty on most days: nothing for a pull request to fail by.
    context.findings.add(context.options.deployment != nullptr ? Severity::note : Severity::warning,
                         FileRule::lists, field.place(), field.path,
                         in_quotes(list.file) + " has no entries, so it matches nothing");
}

void read_inline_list(Context& context, const FileField& field, List& list) {
  const std::vector<FileField> items = texts_of(context, field);
  if (field.node->members.empty() && field.node->kind == YamlNode::Kind::list)
    context.error(FileRule::lists, field, "the list is empty; a list in a file may be");
  Entries entries(list.entries);
  for (const FileField& item : items) {
    if (item.text().starts_with('@')) {
      context.error(FileRule::lists, item,
                    in_quotes(item.text()) + ": a list holds no other lists; name both where they are used");
      continue;
    }
    ReadEntry read = entries.add(item.text(), item.place());
    if (!read.wrong.empty()) context.error(read.rule, item, std::move(read.wrong));
    if (read.rule == FileRule::bounds) return;
  }
}

}  // namespace

ReadEntry read_entry(std::string_view text, Position place) {
  ReadEntry read;
  read.entry.text = text;
  read.entry.place = place;
  if (text.find('*') != std::string_view::npos) {
    read.entry.kind = ListEntry::Kind::pattern;
    return read;
  }
  const core::ReadNetwork network = core::read_network(text);
  switch (network.fault) {
    case core::NetworkFault::not_a_network:
      return read;
    case core::NetworkFault::none:
      read.entry.kind = ListEntry::Kind::network;
      read.entry.network = network.network;
      return read;
    case core::NetworkFault::bits:
      read.wrong = in_quotes(text) + " has a prefix that is too long; at most /32 for IPv4, /128 for IPv6";
      break;
    case core::NetworkFault::host_bits:
      read.wrong = in_quotes(text) + " has bits set beyond its prefix; did you mean " +
                   core::to_text(network.network) + "?";
      break;
  }
  read.rule = FileRule::cidr;
  return read;
}

void read_lists(Context& context, const FileField& lists) {
  if (!is_map(context, lists)) return;
  for (const FileField& field : members_of(lists)) {
    const std::string& name = lists.node->members[context.file.lists.size()].key;
    List list{name, {}, "", field.key};
    if (std::string wrong = wrong_name(name); !wrong.empty())
      context.error_at_key(FileRule::names, field, std::move(wrong));
    context.lists.add(name);
    if (field.node->kind == YamlNode::Kind::map) {
      const Map map(context, field, keys::kList);
      if (const FileField file = map["file"]) {
        read_list_file(context, file, list);
      } else {
        context.error_at_key(FileRule::lists, field, "missing file; a list is [entries] or { file: NAME }");
      }
    } else {
      read_inline_list(context, field, list);
    }
    context.file.lists.push_back(std::move(list));
  }
}

When read_when(Context& context, const FileField& when) {
  When conditions;
  if (!is_map(context, when)) return conditions;
  if (when.node->members.empty())
    context.error(FileRule::form, when, "the map is empty; write attribute: value");
  for (const Member& member : when.node->members) {
    const FileField field{&member.value, when.path + "." + core::printable(member.key.substr(0, 64)),
                          member.place};
    Condition condition{member.key, {}, {}, field.key};
    judge_attribute(context, field, field.key, member.key);
    if (field.node->kind == YamlNode::Kind::nothing) {
      context.error_at_key(FileRule::form, field, "has no value; write \"\" for an empty text");
      continue;
    }
    if (field.node->kind == YamlNode::Kind::list && field.node->members.empty())
      context.error(FileRule::lists, field, "the list is empty, so nothing would match");
    Entries entries(condition.entries);
    for (const FileField& value : texts_of(context, field)) {
      if (value.text().starts_with('@')) {
        const Index list = context.lists.find(value.text().substr(1));
        if (list == kNone) {
          context.error(FileRule::lists, value,
                        "no list is called " + in_quotes(value.text().substr(1)) +
                            meant(value.text().substr(1), context.lists.all()));
        } else {
          condition.lists.push_back(list);
        }
        continue;
      }
      if (ReadEntry read = entries.add(value.text(), value.place()); !read.wrong.empty())
        context.error(read.rule, value, std::move(read.wrong));
    }
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

}  // namespace weir::limits
