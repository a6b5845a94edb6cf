#include "engine/bench.hpp"

#include <algorithm>

#include "core/number.hpp"
#include "redis/redirect.hpp"
#include "redis/slot.hpp"
#include "resp/writer.hpp"

namespace weir::inline v0_1::engine {
namespace {

using redis::Endpoint;
using redis::NodeAddress;
using resp::Value;
using Type = resp::Value::Type;

void append(std::string& out, const CommandWords& words) {
  resp::Writer to(out);
  to.array(words.size());
  for (const std::string& each : words) to.bulk(each);
}

std::string name_of(const CommandWords& words) {
  const bool has_two = words.size() > 1 && (words[0] == "SCRIPT" || words[0] == "CONFIG" ||
                                            words[0] == "CLUSTER" || words[0] == "SENTINEL");
  return has_two ? words[0] + " " + words[1] : words[0];
}

}  // namespace

Bench::Bench(Endpoint endpoint, Open open, std::string random)
    : endpoint_(std::move(endpoint)),
      greeting_{endpoint_, {}},
      open_(std::move(open)),
      prefix_(endpoint_.prefix + "{check:" + std::move(random) + "}:"),
      node_(endpoint_.addresses.front()) {}

// Empty, or what AUTH was answered.
std::string Bench::greet(Wire& wire, const std::string& user, const std::string& password) const {
  if (password.empty()) return {};
  const Value said =
      ask(wire, user.empty() ? CommandWords{"AUTH", password} : CommandWords{"AUTH", user, password});
  return said.type == Type::error ? "AUTH was answered " + shown(said.text) : "";
}

Outcome Bench::find_master() {
  if (endpoint_.kind != Endpoint::Kind::sentinel) return skipped("the URL names no sentinels");
  std::string refused;
  std::string last;
  std::size_t answered = 0;
  std::optional<NodeAddress> master;
  for (const NodeAddress& each : endpoint_.addresses) {
    try {
      const auto wire = open_(each.host, each.port, endpoint_.tls);
      if (const std::string why = greet(*wire, endpoint_.sentinel_user, endpoint_.sentinel_password);
          !why.empty())
        return fails(each.text() + ": " + why);
      const Value said = ask(*wire, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", endpoint_.master});
      const auto port = said.items.size() == 2 ? redis::port_of(said.items[1].text) : std::nullopt;
      if (!port) {
        refused = each.text() + " answered " + shown(said);
        continue;
      }
      const NodeAddress named{redis::host_of(said.items[0].text, each.host), *port};
      if (master && *master != named)
        return fails("sentinels disagree: " + master->text() + " and " + named.text());
      master = named;
      ++answered;
    } catch (const NoAnswer& why) {
      last = why.what();
    }
  }
  if (!master && !refused.empty()) return fails(refused);
  if (!master) throw NoAnswer(last);
  node_ = *master;
  const std::string seen = std::to_string(answered) + " of " + std::to_string(endpoint_.addresses.size()) +
                           " sentinels name " + node_.text();
  return answered == endpoint_.addresses.size() ? holds(seen)
                                                : note(seen + (last.empty() ? "" : "; " + last));
}

Outcome Bench::find_owner() {
  if (!is_cluster()) return skipped("the URL names no cluster");
  std::string last = "no node of the URL answered";
  for (const NodeAddress& each : endpoint_.addresses) {
    try {
      const auto wire = open_(each.host, each.port, endpoint_.tls);
      if (const std::string why = greet(*wire, endpoint_.user, endpoint_.password); !why.empty())
        return fails(each.text() + ": " + why);
      const Value said = ask(*wire, {"CLUSTER", "SLOTS"});
      if (said.type != Type::array) return fails("CLUSTER SLOTS was answered " + shown(said));
      const std::uint16_t ours = redis::slot_of(prefix_);
      std::int64_t served = 0;
      std::optional<NodeAddress> owner;
      std::vector<NodeAddress> masters;
      for (const Value& range : said.items) {
        if (range.items.size() < 3 || range.items[2].items.size() < 2)
          return fails("CLUSTER SLOTS was answered " + shown(said));
        const Value& master = range.items[2];
        masters.push_back({redis::host_of(master.items[0].text, each.host),
                           static_cast<std::uint16_t>(master.items[1].integer)});
        served += range.items[1].integer - range.items[0].integer + 1;
        if (ours >= range.items[0].integer && ours <= range.items[1].integer) owner = masters.back();
      }
      if (!owner) return fails("no node serves slot " + std::to_string(ours));
      node_ = *owner;
      const auto other = std::find_if(masters.begin(), masters.end(),
                                      [this](const NodeAddress& master) { return master != node_; });
      if (other != masters.end()) other_master_ = *other;
      const std::string seen = std::to_string(served) + " of " + std::to_string(redis::kSlots) +
                               " slots are served; slot " + std::to_string(ours) + " by " + node_.text();
      return served == redis::kSlots ? holds(seen) : fails(seen);
    } catch (const NoAnswer& why) {
      last = why.what();
    }
  }
  throw NoAnswer(last);
}

Outcome Bench::connect() {
  main_ = open_(node_.host, node_.port, endpoint_.tls);
  if (!endpoint_.password.empty())
    return holds(node_.text() + (endpoint_.tls ? " took the connection, over TLS" : " took the connection"));
  const Value said = ask({"PING"});
  if (said.type == Type::error) return fails("PING was answered " + shown(said.text));
  if (said.text != "PONG") return fails("PING was answered " + shown(said));
  return holds("PING was answered PONG" + std::string(endpoint_.tls ? ", over TLS" : ""));
}

Outcome Bench::authenticate() {
  if (endpoint_.password.empty()) return skipped("the URL has no password");
  if (const std::string why = greet(*main_, endpoint_.user, endpoint_.password); !why.empty())
    return fails(why);
  const Value said = expect({"PING"});
  return said.text == "PONG" ? holds("AUTH was accepted") : fails("PING was answered " + shown(said));
}

Outcome Bench::select() {
  if (endpoint_.database == 0) return skipped("the URL names database 0");
  const Value said = ask({"SELECT", std::to_string(endpoint_.database)});
  if (said.text != "OK") return fails("SELECT was answered " + shown(said));
  return holds("SELECT " + std::to_string(endpoint_.database) + " was accepted");
}

void Bench::connect_again() { main_ = another(node_); }

std::unique_ptr<Wire> Bench::another(const NodeAddress& node) {
  auto wire = open_(node.host, node.port, endpoint_.tls);
  if (const std::string why = greet(*wire, endpoint_.user, endpoint_.password); !why.empty()) throw Seen(why);
  if (endpoint_.database != 0) ask(*wire, {"SELECT", std::to_string(endpoint_.database)});
  return wire;
}

Value Bench::ask(Wire& wire, const CommandWords& words) {
  std::string out;
  append(out, words);
  wire.send(out);
  return wire.receive().value;
}

Value Bench::ask(const CommandWords& words) { return ask(*main_, words); }

void Bench::send(std::span<const CommandWords> commands) {
  std::string out;
  for (const CommandWords& each : commands) append(out, each);
  main_->send(out);
}

Value Bench::expect(const CommandWords& words) {
  const Value said = ask(words);
  if (said.type == Type::error) throw Seen(name_of(words) + " was answered " + shown(said.text));
  return said;
}

CommandWords Bench::call_of(const std::string& script, const CommandWords& keys,
                            const CommandWords& arguments) {
  std::string& name = loaded_[script];
  if (name.empty()) name = std::string(expect({"SCRIPT", "LOAD", script}).text);
  CommandWords words{"EVALSHA", name, std::to_string(keys.size())};
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

Value Bench::run(const std::string& script, const CommandWords& keys, const CommandWords& arguments) {
  const Value said = ask(call_of(script, keys, arguments));
  if (said.type == Type::error) throw Seen("a script was answered " + shown(said.text));
  return said;
}

std::string Bench::key(std::string_view name) {
  std::string whole = prefix_ + std::string(name);
  keys_.insert(whole);
  return whole;
}

bool Bench::delete_keys() {
  constexpr std::size_t kAtOnce = 100;
  const auto delete_all = [this] {
    CommandWords words{"DEL"};
    for (const std::string& each : keys_) {
      words.push_back(each);
      if (words.size() <= kAtOnce) continue;
      if (ask(words).type != Type::integer) return false;
      words.resize(1);
    }
    return words.size() == 1 || ask(words).type == Type::integer;
  };
  if (keys_.empty()) return true;
  try {
    // What the old connection still owes would be taken for the answer.
    connect_again();
    return delete_all();
  } catch (const std::exception&) {
    return false;
  }
}

std::chrono::microseconds Bench::time() {
  const Value said = expect({"TIME"});
  const auto seconds = said.items.size() == 2 ? core::parse_integer(said.items[0].text) : std::nullopt;
  const auto us = said.items.size() == 2 ? core::parse_integer(said.items[1].text) : std::nullopt;
  if (!seconds || !us || *us < 0 || *us > 999'999 || *seconds < 0 || *seconds > 9'000'000'000)
    throw Seen("TIME was answered " + shown(said));
  return std::chrono::seconds{*seconds} + std::chrono::microseconds{*us};
}

std::optional<std::string> Bench::info(const std::string& section, const std::string& field) {
  const Value said = ask({"INFO", section});
  if (said.type != Type::string) return std::nullopt;
  const std::string text = "\n" + std::string(said.text);
  const std::size_t at = text.find("\n" + field + ":");
  if (at == std::string::npos) return std::nullopt;
  const std::size_t begin = at + field.size() + 2;
  return text.substr(begin, text.find_first_of("\r\n", begin) - begin);
}

std::string Bench::shown(const Value& value) const {
  switch (value.type) {
    case Type::error:
      return shown(value.text);
    case Type::string:
      return "'" + shown(value.text) + "'";
    case Type::integer:
      return std::to_string(value.integer);
    case Type::null:
      return "null";
    case Type::array:
    case Type::push:
      break;
  }
  std::string text = "[";
  for (const Value& each : value.items.first(std::min<std::size_t>(value.items.size(), 12)))
    text += (text.size() > 1 ? ", " : "") + shown(each);
  return text + (value.items.size() > 12 ? ", ...]" : "]");
}

}  // namespace weir::engine
