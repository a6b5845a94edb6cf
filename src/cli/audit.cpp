// weir audit verify: whether the lines of an audit are those that were written.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/commands.hpp"
#include "cli/option_table.hpp"
#include "cli/print.hpp"
#include "core/json_writer.hpp"
#include "steering/audit_line.hpp"

namespace weir::inline v0_1::cli {
namespace {

struct AuditFlags {
  std::string action;
  std::vector<std::string> files;
  std::string head;
  bool json = false;
};

// "FILE:LINE: what is wrong", or nothing.
std::string first_fault(const std::vector<std::string>& files, steering::AuditChain& chain) {
  std::vector<char> line(steering::kLongestAuditLine);
  for (const std::string& path : files) {
    std::ifstream file(path, std::ios::binary);
    std::size_t number = 0;
    while (file.getline(line.data(), static_cast<std::streamsize>(line.size()))) {
      const std::string where = path + ":" + std::to_string(++number) + ": ";
      if (file.eof()) return where + "half a line: it was being written when its server ended";
      const std::string_view whole(line.data(), static_cast<std::size_t>(file.gcount()) - 1);
      if (const auto wrong = chain.add(whole, number == 1)) return where + *wrong;
    }
    if (!file.eof() && static_cast<std::size_t>(file.gcount()) == line.size() - 1)
      return path + ":" + std::to_string(number + 1) + ": this is not a line of an audit";
    // A folder opens and cannot be read.
    if (!file.eof()) {
      const int error = errno;
      throw std::runtime_error(path + ": " + std::generic_category().message(error == 0 ? EIO : error));
    }
    if (number == 0) return path + ":1: the file has lost its first line";
  }
  return "";
}

int verify(const AuditFlags& flags) {
  steering::AuditChain chain;
  std::string fault = first_fault(flags.files, chain);
  if (fault.empty() && !flags.head.empty() && chain.head() != flags.head)
    fault = flags.files.back() + ": the last line is not the one whose hash is " + flags.head +
            ": it has been changed, or lines are missing";
  if (flags.json) {
    std::string out;
    core::JsonWriter json(out);
    json.begin_object();
    json.member("whole", fault.empty());
    json.member("lines", chain.lines());
    json.member("head", core::or_null(chain.head()));
    json.member("error", core::or_null(fault));
    json.end_object();
    print(out + "\n");
  } else if (fault.empty()) {
    print(std::to_string(chain.lines()) + " lines, none changed; the last one's hash is " + chain.head() +
          "\n");
  } else {
    print(fault + "\n");
  }
  return fault.empty() ? 0 : 1;
}

}  // namespace

void add_audit(CLI::App& app, int& result) {
  auto flags = std::make_shared<AuditFlags>();
  CLI::App* audit =
      app.add_subcommand("audit", "Verify the file of serve --audit; exit code 0 whole, 1 changed or cut");
  CLI::Option* action = audit->add_option("ACTION", flags->action, "what to do")->required();
  take_only(*action, {"verify"});
  audit->add_option("FILE", flags->files, "files of one audit, the oldest first")
      ->type_name("FILE")
      ->required();
  audit->add_option("--head", flags->head, "hash of the last line, as INFO and metrics have it")
      ->type_name("HASH");
  audit->add_flag("--json", flags->json, "print the result as JSON");
  audit->callback([flags, &result] { result = verify(*flags); });
}

}  // namespace weir::cli
