// What a client is called where others may read it: on a page, in decisions to pass on. A name may be an API
// key or an account; its pseudonym is "client 7", the seventh client to appear in the log, so two runs over
// one log agree. The names file, which stays at home, says which is which.
//
// Plain values, any thread. Not for: the table in the terminal and --json, which have the names as they are
// unless --anonymize asks otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "logs/client_index.hpp"
#include "sim/report.hpp"

namespace weir::inline v0_1::sim {

enum class Naming : std::uint8_t {
  as_is,      // every name as it is
  addresses,  // addresses as they are; all other names become pseudonyms
  none,       // only pseudonyms
};

// `number`: the client's, from 0, in order of first appearance. An address is told by its spelling, whatever
// the key: "192.0.2.1", "2001:db8::/64".
std::string called(std::string_view name, std::uint64_t number, Naming naming,
                   std::string_view kind = "client");

// Of the names file: "client 7<tab>name". What is not printable in the name is escaped.
std::string names_line(std::string_view name, std::uint64_t number, std::string_view kind = "client");
// All of it.
std::string names_of(const logs::ClientIndex& clients, std::size_t key_parts);

// What clients of a limit of a limits file are: "client" where all limits are taken together (0), or else
// "user key" for the limit `user`.
std::string kind_of_clients(const ReplayReport& report, std::size_t limit);

// The report with the names that `naming` allows. Unless they are left as they are, what else a stranger may
// have written goes too: the text of unreadable lines and of errors, and the folders of files.
ReplayReport with_names(ReplayReport report, Naming naming);
void leave_out_texts(LogReport& log);
void rename_clients(std::vector<AtOnce>& clients, Naming naming);

// "/etc/weir/limits.yaml" -> "limits.yaml".
std::string without_folder(const std::string& path);

}  // namespace weir::sim
