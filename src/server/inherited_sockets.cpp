#include "server/inherited_sockets.hpp"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "core/number.hpp"
#include "net/listener.hpp"
#include "server/listeners.hpp"

namespace weir::inline v0_1::server {
namespace {

constexpr int kFirst = 3;
constexpr std::int64_t kMost = 64;

std::string taken(const char* name) {
  const char* const value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  unsetenv(name);
  return text;
}

std::vector<std::string> split(std::string_view names) {
  std::vector<std::string> all;
  for (;;) {
    const std::size_t colon = names.find(':');
    all.emplace_back(names.substr(0, colon));
    if (colon == std::string_view::npos) return all;
    names.remove_prefix(colon + 1);
  }
}

// Where that socket listens, which must be one that does.
ListenAddress address_of(const std::string& what, int descriptor, std::string& text) {
  boost::asio::io_context context;
  const int copy = dup(descriptor);
  if (copy < 0) throw std::runtime_error(what + " is not open");
  std::unique_ptr<net::Listener> listener;
  try {
    listener = net::listen_on(context, what, copy);
  } catch (...) {
    close(copy);
    throw;
  }
  text = listener->address();
  if (text.empty() || text.front() == '\0')
    throw std::runtime_error(what + " has no path in the file system");
  return read_address(text);
}

void add(Settings& settings, const std::string& what, const std::string& name, int descriptor) {
  std::string text;
  const ListenAddress address = address_of(what, descriptor, text);
  const bool by_path = !address.unix_socket.empty();
  std::string flag = name;
  if (name == "resp" && by_path) {
    if (!settings.unix_socket.empty()) throw std::runtime_error(what + " is a second Unix socket for RESP");
    flag = "unix-socket";
    settings.unix_socket = address.unix_socket;
  } else {
    (name == "resp"   ? settings.resp
     : name == "http" ? settings.http
     : name == "rls"  ? settings.rls
                      : settings.admin)
        .push_back(address);
  }
  settings.given.push_back({flag, text, text, descriptor});
}

}  // namespace

Settings with_inherited_sockets(Settings settings,
                                const std::function<bool(const std::string& flag)>& is_given) {
  const std::string process = taken("LISTEN_PID");
  const std::string number = taken("LISTEN_FDS");
  const std::string listed = taken("LISTEN_FDNAMES");
  if (number.empty()) return settings;
  if (core::parse_integer(process) != getpid())
    throw std::runtime_error("LISTEN_PID: '" + process + "' is not this process, " +
                             std::to_string(getpid()) +
                             ": start weir without a shell between it and systemd, or by exec");
  const auto count = core::parse_integer(number);
  if (!count || *count < 0 || *count > kMost)
    throw std::runtime_error("LISTEN_FDS: '" + number + "' is not a number from 0 to " +
                             std::to_string(kMost));
  if (*count == 0) return settings;
  const std::vector<std::string> names = split(listed);
  if (names.size() != static_cast<std::size_t>(*count))
    throw std::runtime_error("LISTEN_FDNAMES: '" + listed + "' has not one name for each of " + number +
                             " sockets: FileDescriptorName= in the .socket unit says it");
  std::set<std::string> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    if (name != "resp" && name != "http" && name != "rls" && name != "admin")
      throw std::runtime_error("LISTEN_FDNAMES: unknown name '" + name +
                               "'; known: resp, http, rls, admin (FileDescriptorName= in the .socket unit)");
    if (is_given(name))
      throw std::runtime_error(name + ": a socket of that name was handed over (LISTEN_FDS), and --" + name +
                               " says it too: leave the flag out");
    if (seen.insert(name).second && name == "resp") settings.resp.clear();  // what it is unless it is given
    const int descriptor = kFirst + static_cast<int>(i);
    add(settings, "LISTEN_FDS: descriptor " + std::to_string(descriptor) + " ('" + name + "')", name,
        descriptor);
  }
  return settings;
}

}  // namespace weir::server
