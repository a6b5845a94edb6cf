#include "redis/endpoint.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "core/number.hpp"

namespace weir::inline v0_1::redis {
namespace {

struct Scheme {
  std::string_view name;
  Endpoint::Kind kind;
  bool tls;
  bool unix_socket;
};
constexpr Scheme kSchemes[] = {{"redis", Endpoint::Kind::single, false, false},
                               {"rediss", Endpoint::Kind::single, true, false},
                               {"redis+unix", Endpoint::Kind::single, false, true},
                               {"redis+cluster", Endpoint::Kind::cluster, false, false},
                               {"rediss+cluster", Endpoint::Kind::cluster, true, false},
                               {"redis+sentinel", Endpoint::Kind::sentinel, false, false},
                               {"rediss+sentinel", Endpoint::Kind::sentinel, true, false}};

std::optional<std::string> decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned byte = 0;
    if (i + 2 >= text.size()) return std::nullopt;
    const char* const end = text.data() + i + 3;
    if (std::from_chars(text.data() + i + 1, end, byte, 16).ptr != end) return std::nullopt;
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

std::optional<int> number(std::string_view text, int most) {
  const auto value = core::number_in<int>(text);
  return value && *value >= 0 && *value <= most ? value : std::nullopt;
}

// One line, whatever is in it.
std::string shown(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte != 127) {
      out += c;
    } else {
      ((out += '%') += kHex[byte >> 4U]) += kHex[byte & 15U];
    }
  }
  return out;
}

// "host", "host:port", "[::1]:port"; otherwise what is wrong.
tl::expected<NodeAddress, std::string> address(std::string_view text, std::uint16_t port) {
  NodeAddress found{"", port};
  std::string_view rest = text;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return tl::unexpected<std::string>("a '[' has no ']'");
    found.host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    found.host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  if (found.host.empty()) return tl::unexpected<std::string>("a host is missing");
  if (!rest.empty()) {
    const auto given = rest[0] == ':' ? number(rest.substr(1), 65535) : std::nullopt;
    if (!given || *given == 0)
      return tl::unexpected("what follows the host '" + shown(found.host) +
                            "' is not : and a port from 1 to 65535");
    found.port = static_cast<std::uint16_t>(*given);
  }
  return found;
}

constexpr int kMostDatabase = 1'000'000;

// Null where the URL begins with none.
const Scheme* scheme_of(std::string_view url) {
  const std::size_t mark = url.find("://");
  if (mark == std::string_view::npos) return nullptr;
  std::string as_redis(url.substr(0, mark));
  if (as_redis.starts_with("valkey")) as_redis.replace(0, 6, "redis");
  const auto found = std::find_if(std::begin(kSchemes), std::end(kSchemes),
                                  [&as_redis](const Scheme& each) { return as_redis == each.name; });
  return found == std::end(kSchemes) ? nullptr : &*found;
}

// Shown only where it is what somebody takes for a scheme, for a password may stand at the wrong place.
std::string unknown_scheme(std::string_view url) {
  constexpr std::array<std::string_view, 7> kMistaken = {"http",        "https",        "Redis", "tcp",
                                                         "rediss+unix", "valkeys+unix", "unix"};
  const std::size_t mark = url.find("://");
  const bool shown = mark != std::string_view::npos &&
                     std::find(kMistaken.begin(), kMistaken.end(), url.substr(0, mark)) != kMistaken.end();
  return shown ? "unknown URL scheme '" + std::string(url.substr(0, mark)) + "'"
               : "the URL does not begin with a known scheme";
}

// The next ones take a part of the URL, and return what is wrong with it, or nothing.

std::string take_option(std::string_view option, Endpoint& into) {
  const std::size_t equals = std::min(option.find('='), option.size());
  const std::string_view name = option.substr(0, equals);
  const auto value = decode(option.substr(std::min(option.size(), equals + 1)));
  if (name == "prefix" && value) {
    into.prefix = *value;
    return {};
  }
  if (name == "sentinel_user" || name == "sentinel_password") {
    if (into.kind != Endpoint::Kind::sentinel)
      return "sentinel_user and sentinel_password are for redis+sentinel:// and rediss+sentinel://";
    if (!value) return "sentinel_user or sentinel_password has a % that two hexadecimal digits do not follow";
    (name == "sentinel_user" ? into.sentinel_user : into.sentinel_password) = *value;
    return {};
  }
  const auto database = name == "db" && value ? number(*value, kMostDatabase) : std::nullopt;
  if (!database)
    return "expected prefix=TEXT, db=NUMBER, sentinel_user=TEXT or sentinel_password=TEXT after the '?'";
  into.database = *database;
  return {};
}

std::string take_options(std::string_view query, Endpoint& into) {
  while (!query.empty()) {
    const std::string_view option = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), option.size() + 1));
    if (std::string wrong = take_option(option, into); !wrong.empty()) return wrong;
  }
  const bool lacks_password = !into.sentinel_user.empty() && into.sentinel_password.empty();
  return lacks_password ? "sentinel_user needs a sentinel_password" : "";
}

std::string take_user(std::string_view who, Endpoint& into) {
  const std::size_t colon = who.find(':');
  const auto user = decode(who.substr(0, colon));
  const auto password = decode(colon == std::string_view::npos ? "" : who.substr(colon + 1));
  if (!user || !password) return "user or password has a % that two hexadecimal digits do not follow";
  into.user = *user;
  into.password = *password;
  return into.password.empty() ? "missing password before the '@'" : "";
}

std::string take_hosts(std::string_view hosts, Endpoint& into) {
  const std::uint16_t port = into.kind == Endpoint::Kind::sentinel ? 26379 : 6379;
  for (std::size_t begin = 0; begin <= hosts.size();) {
    const std::size_t end = std::min(hosts.find(',', begin), hosts.size());
    const auto one = address(hosts.substr(begin, end - begin), port);
    if (!one) return one.error();
    into.addresses.push_back(*one);
    begin = end + 1;
  }
  if (into.kind == Endpoint::Kind::single && into.addresses.size() > 1)
    return "several hosts are only for redis+cluster:// and redis+sentinel://";
  return {};
}

std::string take_path(std::string_view path, Endpoint& into) {
  if (into.kind == Endpoint::Kind::sentinel) {
    const std::size_t end = std::min(path.find('/'), path.size());
    into.master = path.substr(0, end);
    path.remove_prefix(std::min(path.size(), end + 1));
    if (into.master.empty()) return "missing /NAME of the master after the sentinels";
  }
  if (!path.empty()) {
    const auto database = number(path, kMostDatabase);
    if (!database) return "what follows the last '/' is not the number of a database";
    into.database = *database;
  }
  const bool is_elsewhere = into.kind == Endpoint::Kind::cluster && into.database != 0;
  return is_elsewhere ? "a cluster has only database 0" : "";
}

std::string take(std::string_view url, Endpoint& into) {
  const Scheme* const scheme = scheme_of(url);
  if (scheme == nullptr) return unknown_scheme(url);
  into.kind = scheme->kind;
  into.tls = scheme->tls;
  std::string_view rest = url.substr(url.find("://") + 3);
  const std::size_t question = std::min(rest.find('?'), rest.size());
  if (std::string wrong = take_options(rest.substr(std::min(rest.size(), question + 1)), into);
      !wrong.empty())
    return wrong;
  rest = rest.substr(0, question);
  // The path of a socket may hold an '@', and so may a password.
  std::size_t at = rest.rfind('@');
  if (scheme->unix_socket) at = rest.starts_with('/') ? std::string_view::npos : rest.find("@/");
  if (at != std::string_view::npos) {
    if (std::string wrong = take_user(rest.substr(0, at), into); !wrong.empty()) return wrong;
    rest.remove_prefix(at + 1);
  }
  if (scheme->unix_socket) {
    if (!rest.starts_with('/')) return "the path of the Unix socket does not begin with /";
    into.addresses.push_back({std::string(rest), 0});
    return {};
  }
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  if (std::string wrong = take_hosts(rest.substr(0, slash), into); !wrong.empty()) return wrong;
  return take_path(rest.substr(std::min(rest.size(), slash + 1)), into);
}

}  // namespace

tl::expected<Endpoint, std::string> Endpoint::parse(std::string_view url) {
  Endpoint endpoint;
  const std::string wrong = take(url, endpoint);
  if (wrong.empty()) return endpoint;
  return tl::unexpected(
      "store: " + wrong +
      "; the forms are redis://[user:password@]host[:port][/db], rediss://, redis+unix:///path, "
      "redis+cluster://host,host and redis+sentinel://host,host/name[/db]");
}

std::string NodeAddress::text() const {
  if (port == 0) return shown(host);
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + shown(host) + "]" : shown(host)) + ":" + std::to_string(port);
}

std::string Endpoint::text() const {
  std::string text = tls ? "rediss" : "redis";
  if (kind == Kind::cluster) text += "+cluster";
  if (kind == Kind::sentinel) text += "+sentinel";
  if (addresses[0].port == 0) text += "+unix";
  text += "://";
  if (!password.empty()) text += shown(user) + ":***@";
  for (std::size_t i = 0; i < addresses.size(); ++i) text += (i > 0 ? "," : "") + addresses[i].text();
  if (!master.empty()) text += "/" + shown(master);
  if (database != 0)
    text += addresses[0].port == 0 ? "?db=" + std::to_string(database) : "/" + std::to_string(database);
  return text;
}

}  // namespace weir::redis
