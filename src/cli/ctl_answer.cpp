#include "cli/ctl_answer.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "core/json_writer.hpp"
#include "core/printable.hpp"

namespace weir::inline v0_1::cli {
namespace {

CtlAnswer copied(const resp::Value& value) {
  CtlAnswer answer;
  answer.is_number = value.type == resp::Value::Type::integer;
  answer.number = value.integer;
  answer.text = value.text;
  for (const resp::Value& each : value.items) answer.items.push_back(copied(each));
  return answer;
}

CtlAnswer take(ServerConnection& server) {
  const auto reply = server.reply();
  if (!reply)
    throw std::runtime_error(
        "unexpected answer: this is not a weir server, or it says more than 1 MiB: ask for less");
  if (reply->value.type == resp::Value::Type::error) {
    const std::string text = server.without_password(std::string(reply->value.text));
    if (text.starts_with("ERR unknown command"))
      throw std::runtime_error("this server does not know what it was asked: " + text);
    throw RefusedByServer(text.starts_with("ERR ") ? text.substr(4) : text);
  }
  return copied(reply->value);
}

}  // namespace

const CtlAnswer* CtlAnswer::find(std::string_view name) const {
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].text == name) return &items[i + 1];
  }
  return nullptr;
}

std::string CtlAnswer::text_of(std::string_view name) const {
  const CtlAnswer* const found = find(name);
  if (found == nullptr) return "";
  return found->is_number ? std::to_string(found->number) : found->text;
}

std::int64_t CtlAnswer::number_of(std::string_view name) const {
  const CtlAnswer* const found = find(name);
  return found == nullptr ? 0 : found->number;
}

CtlAnswer ask(ServerConnection& server, const std::vector<std::string>& words) {
  std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& each : words) bytes += "$" + std::to_string(each.size()) + "\r\n" + each + "\r\n";
  server.send_bytes(bytes);
  return take(server);
}

CtlAnswer ask(const ServerFlags& flags, const std::vector<std::string>& words) {
  const auto server = flags.connect(flags.servers().front());
  return ask(*server, words);
}

int ask_each(const ServerFlags& flags, const std::function<void(const ServerFlags::Named&)>& ask) {
  const auto servers = flags.servers();
  int result = 0;
  for (const ServerFlags::Named& each : servers) {
    const std::string which = servers.size() == 1 ? "" : each.name + ": ";
    try {
      ask(each);
    } catch (const RefusedByServer& refused) {
      tell_refused(which + refused.what());
      result = std::max(result, 1);
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "weir: %s\n", core::printable(which + error.what()).c_str());
      result = 2;
    }
  }
  return result;
}

void append_json(const CtlAnswer& row, const std::vector<std::string>& servers, std::string& out) {
  core::JsonWriter json(out);
  json.begin_object();
  for (std::size_t i = 0; i + 1 < row.items.size(); i += 2) {
    const CtlAnswer& value = row.items[i + 1];
    json.unknown_name(row.items[i].text);
    if (value.is_number) {
      json.value(value.number);
    } else {
      json.value(value.text);
    }
  }
  if (!servers.empty()) {
    json.begin_array("servers");
    for (const std::string& each : servers) json.value(each);
    json.end_array();
  }
  json.end_object();
}

std::size_t columns_of(std::string_view printable) {
  return static_cast<std::size_t>(std::count_if(printable.begin(), printable.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string table(std::vector<std::vector<std::string>> lines) {
  std::vector<std::size_t> widths;
  for (auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t i = 0; i < line.size(); ++i) {
      line[i] = core::printable(line[i]);
      widths[i] = std::max(widths[i], columns_of(line[i]));
    }
  }
  std::string text;
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      text += line[i];
      if (i + 1 < line.size()) text += std::string(widths[i] + 2 - columns_of(line[i]), ' ');
    }
    text += '\n';
  }
  return text;
}

void add_server_to(CLI::App& app, ServerFlags& flags, bool several) {
  app.option_defaults()->group("The server");
  flags.add_to(app);
  flags.add_url_to(app, several);
}

void agree_on_many(const std::string& what) {
  if (isatty(STDIN_FILENO) != 1)
    throw std::runtime_error("this may concern more than one key, and nobody can be asked here: give --yes");
  std::fprintf(stderr, "%s\n", core::printable(what).c_str());
  std::fprintf(stderr, "This may concern more than one key. Go on? [y/N] ");
  std::string answer;
  std::getline(std::cin, answer);
  if (answer != "y" && answer != "yes") throw RefusedByServer("nothing has changed");
}

void tell_refused(const std::string& why) {
  std::fprintf(stderr, "weir: refused: %s\n", core::printable(why).c_str());
}

}  // namespace weir::cli
