#include "limits/read.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "core/duration.hpp"
#include "core/printable.hpp"
#include "core/regular_file.hpp"
#include "core/rule.hpp"
#include "limits/attribute.hpp"
#include "limits/document.hpp"
#include "limits/file_field.hpp"
#include "limits/file_keys.hpp"
#include "limits/gateways.hpp"
#include "limits/guarantees.hpp"
#include "limits/judge.hpp"
#include "limits/limit_keys.hpp"
#include "limits/lists.hpp"
#include "limits/rls_domains.hpp"
#include "limits/scalars.hpp"

namespace weir::inline v0_1::limits {
namespace {

constexpr std::size_t kMostLimits = 1024;
constexpr std::string_view kDefaultClass = "default";

void read_version(Context& context, const Map& top) {
  const FileField version = top["version"];
  if (!version) {
    context.findings.error(FileRule::version, {1, 1}, "version", "missing; write version: 1");
  } else if (version.node->kind != YamlNode::Kind::text || version.text() != "1") {
    const bool text = version.node->kind == YamlNode::Kind::text;
    context.error_at_key(
        FileRule::version, version,
        (text ? in_quotes(version.text()) : std::string("this")) + " is not a version; write version: 1");
  }
}

// What requests may have: those that are listed, and what gateways and descriptors give.
void read_attributes(Context& context, const FileField& attributes, const FileField& gateways,
                     const FileField& rls) {
  KnownNames known;
  for (const FileField& name : texts_of(context, attributes)) {
    if (std::string wrong = wrong_attribute(name.text()); !wrong.empty()) {
      context.error(FileRule::names, name, std::move(wrong));
    } else if (known.find(name.text()) != kNone) {
      context.error(FileRule::names, name, in_quotes(name.text()) + " a second time");
    } else {
      known.add(name.text());
    }
  }
  const auto add = [&known](const std::string& name) {
    if (known.find(name) == kNone) known.add(name);
  };
  for (const std::string& each : kOfGateway) add(each);
  for (const std::string& each : mapped_attributes(gateways)) add(each);
  for (const std::string& each : rls_attributes(rls)) add(each);
  context.attributes = known;
  context.file.attributes = known.all();
}

void read_classes(Context& context, const FileField& classes) {
  File& file = context.file;
  const std::vector<FileField> names = texts_of(context, classes);
  for (const FileField& name : names) {
    if (std::string wrong = wrong_name(name.text()); !wrong.empty()) {
      context.error(FileRule::names, name, std::move(wrong));
    } else if (context.classes.find(name.text()) != kNone) {
      context.error(FileRule::classes, name, in_quotes(name.text()) + " a second time");
    } else {
      context.classes.add(name.text());
    }
  }
  file.classes = context.classes.all();
  file.default_class = context.classes.find(std::string(kDefaultClass));
  file.ceiling = file.classes.empty() ? kNone : 0;
  const std::size_t written = classes.node->kind == YamlNode::Kind::text ? 1 : classes.node->members.size();
  context.classes_wrong = names.empty() || file.classes.size() != written;
  if (file.classes.size() > kMostClasses)
    context.error_at_key(
        FileRule::classes, classes,
        std::to_string(file.classes.size()) + " classes; at most " + std::to_string(kMostClasses));
  if (file.default_class == kNone)
    context.error_at_key(FileRule::classes, classes,
                         "'default' is not among them; it is the class of requests that name none");
}

Index find_class(Context& context, const FileField& field) {
  if (context.classes_wrong || !is_text(context, field)) return kNone;
  if (!context.classes.all().empty()) return find_name(context, field, context.classes, "class");
  context.error(FileRule::classes, field, "the file has no classes");
  return kNone;
}

// False when there are more than are read: what comes after them is not looked at.
bool read_limits(Context& context, const FileField& limits) {
  if (!is_map(context, limits)) return true;
  const std::vector<FileField> fields = members_of(limits);
  if (fields.size() > kMostLimits) {
    context.error_at_key(FileRule::bounds, limits,
                         std::to_string(fields.size()) + " limits; at most " + std::to_string(kMostLimits));
    return false;
  }
  // Limits name each other, also those that come later.
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string& name = limits.node->members[i].key;
    if (std::string wrong = wrong_name(name); !wrong.empty())
      context.error_at_key(FileRule::names, fields[i], std::move(wrong));
    context.limits.add(name);
  }
  for (std::size_t i = 0; i < fields.size(); ++i)
    context.file.limits.push_back(read_limit(context, limits.node->members[i].key, fields[i]));
  std::unordered_map<std::string, const NamedLimit*> by_id;
  for (const NamedLimit& limit : context.file.limits) {
    const auto [other, fresh] = by_id.emplace(limit.id, &limit);
    if (fresh || other->second->name == limit.name) continue;  // a name twice is told as a key twice
    // It is the one that says so whose `id` is wrong.
    const bool first_says = limit.id == limit.name;
    const NamedLimit& told = first_says ? *other->second : limit;
    const NamedLimit& has = first_says ? limit : *other->second;
    context.findings.error(FileRule::once, told.place, "limits." + told.name + ".id",
                           in_quotes(limit.id) + " is the id of " + in_quotes(has.name) + " on line " +
                               std::to_string(has.place.line) + " too; two limits would have one state");
  }
  return true;
}

Route read_route(Context& context, const FileField& field) {
  Route route;
  route.place = field.place();
  if (!is_map(context, field)) return route;
  const Map map(context, field, keys::kRoute);
  if (const FileField when = map["when"]) route.when = read_when(context, when);
  if (const FileField of_class = map["class"]) route.least_class = find_class(context, of_class);
  const FileField limits = map["limits"];
  if (!limits) {
    context.error(FileRule::form, field, "missing limits; write limits: [] for none");
    return route;
  }
  for (const FileField& name : texts_of(context, limits)) {
    const Index index = find_name(context, name, context.limits, "limit");
    if (index == kNone) continue;
    if (std::find(route.limits.begin(), route.limits.end(), index) != route.limits.end()) {
      context.error(FileRule::route_limits, name, in_quotes(name.text()) + " a second time");
    } else {
      route.limits.push_back(index);
    }
  }
  return route;
}

void read_routes(Context& context, const FileField& routes) {
  File& file = context.file;
  if (!routes) {
    Route& every = file.routes.emplace_back();
    for (Index i = 0; i < file.limits.size(); ++i) every.limits.push_back(i);
    return;
  }
  if (!is_list(context, routes)) return;
  if (routes.node->members.empty())
    context.error(FileRule::form, routes,
                  "the list is empty; without routes every request meets all limits, with limits: [] none");
  for (const FileField& item : items_of(routes)) file.routes.push_back(read_route(context, item));
}

// Which headers a form of them writes: two forms that write the same ones cannot both be sent. 0: of no form.
int headers_of(std::string_view form) {
  constexpr int kRateLimit = 1;   // RateLimit-Policy
  constexpr int kXRateLimit = 2;  // X-RateLimit-Limit, -Remaining and -Reset
  if (form == "ratelimit-11" || form == "draft-06") return kRateLimit;
  if (form == "x-ratelimit" || form == "x-ratelimit-epoch") return kXRateLimit;
  return form == "off" ? kRateLimit | kXRateLimit : 0;
}

void read_answers(Context& context, const FileField& field) {
  if (!is_map(context, field)) return;
  const Map map(context, field, keys::kAnswers);
  Answers& answers = context.file.answers;
  std::uint64_t status = 0;
  if (const FileField code = map["status"];
      code &&
      read_text(context, code, status, [](std::string_view text) { return read_integer(text, 400, 599); }))
    answers.status = static_cast<int>(status);
  const FileField headers = map["headers"];
  if (!headers) return;
  for (const FileField& header : texts_of(context, headers)) {
    const std::vector<std::string>& known = keys::kHeaders;
    const auto other = std::find_if(
        answers.headers.begin(), answers.headers.end(),
        [&header](const std::string& each) { return (headers_of(each) & headers_of(header.text())) != 0; });
    if (std::find(known.begin(), known.end(), header.text()) == known.end()) {
      // All of them: two forms that differ by a letter may have nothing else in common.
      context.error(FileRule::form, header, in_quotes(header.text()) + " is unknown" + meant({}, known));
    } else if (std::find(answers.headers.begin(), answers.headers.end(), header.text()) !=
               answers.headers.end()) {
      context.error(FileRule::form, header, in_quotes(header.text()) + " a second time");
    } else if (other != answers.headers.end()) {
      context.error(
          FileRule::form, header,
          in_quotes(header.text()) + " and " + in_quotes(*other) + " exclude each other; write one of them");
    } else {
      answers.headers.push_back(header.text());
    }
  }
}

// 11. It may be what is left of a limit that has gone.
void judge_hash_tag(Context& context, const FileField& tag) {
  const std::string& name = context.file.hash_tag;
  const auto counts_by_it = [&name](const NamedLimit& limit) {
    return std::any_of(limit.by.begin(), limit.by.end(),
                       [&name](const By& each) { return each.attribute == name; });
  };
  const auto& limits = context.file.limits;
  if (std::none_of(limits.begin(), limits.end(), counts_by_it))
    context.findings.warn(FileRule::names, tag.place(), tag.path,
                          "no limit has " + in_quotes(name) + " in its by");
}

// 31
void suggest_attributes(Context& context) {
  std::vector<std::string> used = attributes_of(context.file);
  std::erase_if(used, [](const std::string& each) {
    return std::find(kOfGateway.begin(), kOfGateway.end(), each) != kOfGateway.end();
  });
  if (used.empty()) return;
  context.findings.add(Severity::note, FileRule::attributes, {1, 1}, "attributes",
                       "missing; with attributes: [" + joined(used) +
                           "] a request that misspells one is an error, and does not pass unlimited");
}

// What depends on how the file is served; told by lint.
void judge_deployment(Context& context) {
  const Deployment* const served = context.options.deployment;
  if (served == nullptr) return;
  if (context.file.attributes.empty() && !context.findings.has_errors()) suggest_attributes(context);
  for (const NamedLimit& limit : context.file.limits) {
    const std::string path = "limits." + limit.name;
    for (const Window& window : limit.windows) {
      if (served->has_store || window.is_slots() || core::kept_in_two_words(window.rule.algorithm)) continue;
      context.findings.error(FileRule::counted_here, window.place, path + ".rate",
                             in_quotes(core::to_text(window.rule)) +
                                 " is counted by a shared store alone; write sliding_window_counter, or if "
                                 "there is a store, give --store");
    }
    if (limit.max_wait > served->max_wait)
      context.findings.warn(FileRule::server_wait, limit.max_wait_place, path + ".max_wait",
                            above_max_wait(limit.max_wait, served->max_wait));
  }
}

// A file that is something else, by a key that no limits file has: one sentence helps more than its many
// errors.
bool is_of_another_kind(Context& context, const YamlNode& root) {
  constexpr std::array kOthers = {
      std::pair{"tests", "this is a file of tests, which weir test runs"},
      std::pair{"apiVersion", "this is a manifest of Kubernetes; a limits file is what its data holds"}};
  for (const Member& member : root.members) {
    for (const auto& [key, what] : kOthers) {
      if (member.key != key) continue;
      context.findings.error(FileRule::form, member.place, key, what);
      return true;
    }
  }
  return false;
}

void read_top(Context& context, const YamlNode& root) {
  const FileField field{&root, "", {1, 1}};
  if (root.kind == YamlNode::Kind::refused) return;
  if (root.kind == YamlNode::Kind::nothing) {
    context.findings.error(FileRule::version, {1, 1}, "version", "missing; write version: 1");
    return;
  }
  if (root.kind != YamlNode::Kind::map) {
    context.findings.error(FileRule::form, root.place, "",
                           "a limits file is a map that begins with version: 1");
    return;
  }
  if (is_of_another_kind(context, root)) return;
  const Map top(context, field, keys::kTop);
  File& file = context.file;
  read_version(context, top);
  if (const FileField attributes = top["attributes"])
    read_attributes(context, attributes, top["gateways"], top["rls"]);
  if (const FileField classes = top["classes"]) read_classes(context, classes);
  if (const FileField ceiling = top["ceiling"]) file.ceiling = find_class(context, ceiling);
  if (const FileField tag = top["hash_tag"]; tag && is_text(context, tag)) {
    judge_attribute(context, tag, tag.place(), tag.text());
    file.hash_tag = tag.text();
  }
  if (const FileField lists = top["lists"]) read_lists(context, lists);
  if (const FileField limits = top["limits"]; limits && !read_limits(context, limits)) return;
  if (const FileField tag = top["hash_tag"]; tag && wrong_attribute(file.hash_tag).empty())
    judge_hash_tag(context, tag);
  read_routes(context, top["routes"]);
  if (const FileField gateways = top["gateways"]) read_gateways(context, gateways);
  if (const FileField rls = top["rls"]) read_rls(context, rls);
  if (const FileField answers = top["answers"]) read_answers(context, answers);
  judge_hierarchy(file, context.findings);
  judge_limits(file, context.findings);
  judge_guarantees(file, context.findings);
  judge_routes(file, context.findings);
  judge_gateways(file, context.findings);
  judge_store(file, context.findings);
  judge_rls(file, context.findings);
  judge_deployment(context);
}

}  // namespace

std::string above_max_wait(std::chrono::nanoseconds wait, std::chrono::nanoseconds most) {
  return "'" + core::to_text(wait) + "' is above --max-wait " + core::to_text(most) +
         ", the longest that the server lets anybody wait; it does not start with such a file";
}

ReadResult read(std::string_view text, const ReadOptions& options) {
  const std::string name = options.name.empty() ? "limits.yaml" : options.name;
  Findings findings(name);
  auto file = std::make_shared<File>();
  file->name = name;
  file->text = text;
  Context context{options, *file, findings};
  read_top(context, read_document(text, findings));
  ReadResult reading{nullptr, findings.take()};
  if (!has_errors(reading.findings)) reading.file = std::move(file);
  return reading;
}

tl::expected<std::string, std::string> read_from_disk(const std::string& path, std::size_t most) {
  return core::read_regular_file(path, most);
}

tl::expected<std::string, std::string> read_named(const std::string& path, std::size_t most,
                                                  const OpenFile& open) {
  return path == "-" ? core::read_to_end(STDIN_FILENO, most) : open(path, most);
}

ReadResult read_file(const std::string& path, ReadOptions options) {
  if (options.name.empty()) options.name = path == "-" ? "<stdin>" : path;
  const std::size_t slash = path.rfind('/');
  if (options.folder.empty() && slash != std::string::npos)
    options.folder = path.substr(0, slash == 0 ? 1 : slash);
  const auto text = read_named(path, Bounds{}.bytes, options.open);
  if (!text) {
    ReadResult unread;
    unread.findings.push_back(
        {Severity::error, FileRule::none, options.name, {}, "", "cannot read it: " + text.error()});
    return unread;
  }
  return read(*text, options);
}

}  // namespace weir::limits
