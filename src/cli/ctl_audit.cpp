// weir ctl audit: the last lines of the audits of servers.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/ctl.hpp"
#include "cli/ctl_answer.hpp"
#include "cli/print.hpp"
#include "core/json_writer.hpp"
#include "core/number.hpp"
#include "core/printable.hpp"

namespace weir::inline v0_1::cli {
namespace {

struct LastLinesFlags {
  ServerFlags server;
  std::string count = "10";
  bool json = false;
};

struct AuditLine {
  std::string text;
  std::string server;
  std::size_t place;  // among those that were told
};

// What stands before it is the program's own.
std::string_view time_of(std::string_view line) {
  constexpr std::string_view kTime = R"("time":")";
  constexpr std::size_t kTimeSize = std::string_view("2026-12-01T00:00:00.000Z").size();
  const std::size_t at = line.find(kTime);
  return at == std::string_view::npos ? "" : line.substr(at + kTime.size(), kTimeSize);
}

// Each server has an audit of its own, and its name is one more member of the line.
std::string with_server(const AuditLine& line) {
  std::string out;
  core::JsonWriter json(out);
  json.begin_object();
  json.member("server", line.server);
  return out + "," + line.text.substr(1);
}

int last_lines(const LastLinesFlags& flags) {
  std::vector<AuditLine> found;
  const int result = ask_each(flags.server, [&](const ServerFlags::Named& each) {
    const CtlAnswer answer = ask(*flags.server.connect(each), {"WEIR.AUDIT", "COUNT", flags.count});
    for (const CtlAnswer& line : answer.items) {
      if (!line.text.starts_with('{'))
        throw std::runtime_error("unexpected answer: this is not a weir server");
      found.push_back({line.text, each.name, found.size()});
    }
  });
  const bool several = flags.server.urls.size() > 1;
  if (several) {
    std::sort(found.begin(), found.end(), [](const AuditLine& a, const AuditLine& b) {
      const std::string_view left = time_of(a.text);
      const std::string_view right = time_of(b.text);
      return left != right ? left > right : a.place < b.place;
    });
    const auto most = static_cast<std::size_t>(core::parse_integer(flags.count).value_or(0));
    found.erase(found.begin() + static_cast<std::ptrdiff_t>(std::min(found.size(), most)), found.end());
  }
  std::string out;
  for (const AuditLine& each : found) out += core::printable(several ? with_server(each) : each.text) + "\n";
  print(out);
  return result;
}

}  // namespace

void add_ctl_audit(CLI::App& ctl, int& result) {
  const auto flags = std::make_shared<LastLinesFlags>();
  CLI::App* app =
      ctl.add_subcommand("audit", "Print the last changes, the newest first, a line of JSON each");
  app->add_option("--count", flags->count, "how many, at most 1024")->type_name("N")->capture_default_str();
  app->add_flag("--json", flags->json, "as without it");
  add_server_to(*app, flags->server, true);
  app->callback([flags, &result] { result = last_lines(*flags); });
}

}  // namespace weir::cli
