// Where a Redis or Valkey is, and how to get in: what a URL says.
//
//   redis://[user:password@]host[:6379][/db]          rediss:// with TLS
//   redis+unix:///run/redis.sock[?db=0]               also with user:password@ before the path
//   redis+cluster://host[:port],host[:port]...        rediss+cluster://
//   redis+sentinel://host[:26379],host.../name[/db]   rediss+sentinel://
//
// valkey says the same as redis in each: valkey://, valkeys://, valkeys+cluster:// and so on.
//
// Each may end in ?prefix=TEXT, which is put before every key instead of weir: and may be empty; for
// sentinels with a password of their own, in ?sentinel_password=TEXT, and for an ACL user
// &sentinel_user=TEXT. In users, passwords and prefix %41 is A; write everything but letters and digits so.
// '?' must be written so, and after it '&' too.
//
// Plain values. Nothing here prints a password; text() is for people and logs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace weir::inline v0_1::redis {

struct NodeAddress {
  std::string host;  // with port 0: the path of a Unix socket
  std::uint16_t port = 0;

  // "10.0.0.1:6379", "[::1]:6379", "/run/redis.sock"; one line, whatever the host.
  std::string text() const;
  friend bool operator==(const NodeAddress&, const NodeAddress&) = default;
  friend auto operator<=>(const NodeAddress&, const NodeAddress&) = default;
};

struct Endpoint {
  enum class Kind : std::uint8_t { single, sentinel, cluster } kind = Kind::single;
  std::vector<NodeAddress> addresses;
  bool tls = false;
  std::string user;
  std::string password;
  int database = 0;
  std::string master;  // of sentinel: the name that it watches the master under
  std::string sentinel_user;
  std::string sentinel_password;
  std::string prefix = "weir:";

  // An error names what is wrong. It shows no more than a host, because anything else may be a password that
  // a slip of the pen has put in the wrong place.
  static tl::expected<Endpoint, std::string> parse(std::string_view url);
  // "redis+cluster://user:***@10.0.0.1:6379".
  std::string text() const;
};

}  // namespace weir::redis
