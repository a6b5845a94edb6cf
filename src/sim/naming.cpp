#include "sim/naming.hpp"

#include "core/address.hpp"
#include "core/printable.hpp"
#include "logs/line_parser.hpp"

namespace weir::inline v0_1::sim {
namespace {

bool may_show(std::string_view name, Naming naming) {
  if (naming == Naming::as_is) return true;
  // The keys of a limit of a limits file say what they are made of.
  if (name.starts_with("ip=")) name.remove_prefix(3);
  return naming == Naming::addresses && core::read_network(name).fault != core::NetworkFault::not_a_network;
}

std::string pseudonym(std::uint64_t number, std::string_view kind) {
  return std::string(kind) + " " + std::to_string(number + 1);
}

}  // namespace

std::string without_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string called(std::string_view name, std::uint64_t number, Naming naming, std::string_view kind) {
  return may_show(name, naming) ? std::string(name) : pseudonym(number, kind);
}

std::string names_line(std::string_view name, std::uint64_t number, std::string_view kind) {
  return pseudonym(number, kind) + "\t" + core::printable(name) + "\n";
}

std::string names_of(const logs::ClientIndex& clients, std::size_t key_parts) {
  std::string lines;
  for (std::uint32_t i = 0; i < clients.count(); ++i)
    lines += names_line(logs::shown(clients.name(i), key_parts), i);
  return lines;
}

std::string kind_of_clients(const ReplayReport& report, std::size_t limit) {
  return report.file && limit > 0 ? report.limits[limit].limit + " key" : "client";
}

void leave_out_texts(LogReport& log) {
  for (std::string& file : log.files) file = without_folder(file);
  for (logs::Unreadable& each : log.stats.examples) {
    each.file = without_folder(each.file);
    each.text.clear();
  }
  for (std::string& each : log.stats.broken) each = without_folder(each);
  for (LogReport::FilterText& each : log.asked) each.value.clear();
}

void rename_clients(std::vector<AtOnce>& clients, Naming naming) {
  for (AtOnce& each : clients) each.client = called(each.client, each.number, naming);
}

ReplayReport with_names(ReplayReport report, Naming naming) {
  if (naming == Naming::as_is) return report;
  rename_clients(report.at_once, naming);
  for (std::size_t i = 0; i < report.limits.size(); ++i) {
    LimitReport& limit = report.limits[i];
    const std::string kind = kind_of_clients(report, i);
    for (WorstClient& each : limit.worst) each.client = called(each.client, each.number, naming, kind);
    limit.top.clear();  // what clients asked for, and with what
    if (auto& client = limit.longest_locked_out_client)
      *client = called(*client, limit.longest_locked_out_number, naming, kind);
  }
  if (auto& file = report.file) {
    file->name = without_folder(file->name);
    file->first_error.clear();
  }
  leave_out_texts(report.log);
  return report;
}

}  // namespace weir::sim
