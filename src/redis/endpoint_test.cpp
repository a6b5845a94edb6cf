#include "redis/endpoint.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::inline v0_1::redis {
namespace {

// What a URL says, for a table.
std::string told(const Endpoint& endpoint) {
  std::string text = endpoint.kind == Endpoint::Kind::single    ? "single"
                     : endpoint.kind == Endpoint::Kind::cluster ? "cluster"
                                                                : "sentinel";
  for (const NodeAddress& address : endpoint.addresses)
    text += " " + address.host + "|" + std::to_string(address.port);
  if (endpoint.tls) text += " tls";
  if (!endpoint.user.empty()) text += " user=" + endpoint.user;
  if (!endpoint.password.empty()) text += " password=" + endpoint.password;
  if (endpoint.database != 0) text += " db=" + std::to_string(endpoint.database);
  if (!endpoint.master.empty()) text += " master=" + endpoint.master;
  if (!endpoint.sentinel_user.empty()) text += " sentinel_user=" + endpoint.sentinel_user;
  if (!endpoint.sentinel_password.empty()) text += " sentinel_password=" + endpoint.sentinel_password;
  if (endpoint.prefix != "weir:") text += " prefix=" + endpoint.prefix;
  return text;
}

TEST(Endpoint, urls) {
  struct Row {
    std::string url, means, shown;
  };
  const std::vector<Row> rows = {
      {"redis://10.0.0.1", "single 10.0.0.1|6379", "redis://10.0.0.1:6379"},
      {"redis://h/", "single h|6379", "redis://h:6379"},
      {"redis://h:7000/3", "single h|7000 db=3", "redis://h:7000/3"},
      {"redis://h?db=3", "single h|6379 db=3", "redis://h:6379/3"},
      {"redis://h/0", "single h|6379", "redis://h:6379"},
      {"rediss://h", "single h|6379 tls", "rediss://h:6379"},
      {"redis://[::1]", "single ::1|6379", "redis://[::1]:6379"},
      {"redis://[::1]:7000/1", "single ::1|7000 db=1", "redis://[::1]:7000/1"},
      {"redis://:hush@h", "single h|6379 password=hush", "redis://:***@h:6379"},
      {"redis://bob:hush@h/2", "single h|6379 user=bob password=hush db=2", "redis://bob:***@h:6379/2"},
      {"redis://bob:h%3Ash%40%2f%3F@h", "single h|6379 user=bob password=h:sh@/?", "redis://bob:***@h:6379"},
      {"redis://bob:a/b:c@d@h", "single h|6379 user=bob password=a/b:c@d", "redis://bob:***@h:6379"},
      {"redis://b%0Ab:hush@h", "single h|6379 user=b\nb password=hush", "redis://b%0Ab:***@h:6379"},
      {"redis://h\x1b[31m", "single h\x1b[31m|6379", "redis://h%1B[31m:6379"},
      {"redis://h?prefix=weir%3A&db=1", "single h|6379 db=1", "redis://h:6379/1"},
      {"redis://h?prefix=a@b", "single h|6379 prefix=a@b", "redis://h:6379"},
      {"redis://h?prefix=a=b", "single h|6379 prefix=a=b", "redis://h:6379"},
      {"redis://h?prefix=", "single h|6379 prefix=", "redis://h:6379"},
      {"redis://h?", "single h|6379", "redis://h:6379"},
      {"valkey://h:7000/3", "single h|7000 db=3", "redis://h:7000/3"},
      {"valkeys://:hush@h", "single h|6379 tls password=hush", "rediss://:***@h:6379"},
      {"valkey+unix:///run/v.sock", "single /run/v.sock|0", "redis+unix:///run/v.sock"},
      {"valkeys+cluster://a,b", "cluster a|6379 b|6379 tls", "rediss+cluster://a:6379,b:6379"},
      {"valkey+sentinel://h/m", "sentinel h|26379 master=m", "redis+sentinel://h:26379/m"},
      {"redis+unix:///run/redis.sock", "single /run/redis.sock|0", "redis+unix:///run/redis.sock"},
      {"redis+unix:///run/r.sock?db=4", "single /run/r.sock|0 db=4", "redis+unix:///run/r.sock?db=4"},
      {"redis+unix:///run/a@b.sock", "single /run/a@b.sock|0", "redis+unix:///run/a@b.sock"},
      {"redis+unix://bob:hu@sh@/run/a@/b", "single /run/a@/b|0 user=bob password=hu@sh",
       "redis+unix://bob:***@/run/a@/b"},
      {"redis+cluster://a,b:7001,[::2]:7002", "cluster a|6379 b|7001 ::2|7002",
       "redis+cluster://a:6379,b:7001,[::2]:7002"},
      {"redis+cluster://a/0", "cluster a|6379", "redis+cluster://a:6379"},
      {"rediss+cluster://:hush@a", "cluster a|6379 tls password=hush", "rediss+cluster://:***@a:6379"},
      {"redis+sentinel://a,b:5/mymaster", "sentinel a|26379 b|5 master=mymaster",
       "redis+sentinel://a:26379,b:5/mymaster"},
      {"rediss+sentinel://bob:hush@a/m/7?prefix=p",
       "sentinel a|26379 tls user=bob password=hush db=7 master=m prefix=p",
       "rediss+sentinel://bob:***@a:26379/m/7"},
      {"redis+sentinel://a/m?sentinel_password=hush", "sentinel a|26379 master=m sentinel_password=hush",
       "redis+sentinel://a:26379/m"},
      {"redis+sentinel://:s3cret@a/m?sentinel_user=e%76e&prefix=p&sentinel_password=h%26%20@=s/h",
       "sentinel a|26379 password=s3cret master=m sentinel_user=eve sentinel_password=h& @=s/h prefix=p",
       "redis+sentinel://:***@a:26379/m"},
      {"redis+sentinel://a/m?sentinel_user=&sentinel_password=", "sentinel a|26379 master=m",
       "redis+sentinel://a:26379/m"},
  };
  for (const Row& row : rows) {
    const auto endpoint = Endpoint::parse(row.url);
    ASSERT_TRUE(endpoint.has_value()) << row.url << "\n" << endpoint.error();
    EXPECT_EQ(told(*endpoint), row.means) << row.url;
    EXPECT_EQ(endpoint->text(), row.shown) << row.url;
  }
}

TEST(Endpoint, errors) {
  const std::string forms =
      "; the forms are redis://[user:password@]host[:port][/db], rediss://, redis+unix:///path, "
      "redis+cluster://host,host and redis+sentinel://host,host/name[/db]";
  const std::string scheme = "the URL does not begin with a known scheme";
  const auto unknown = [](const std::string& name) { return "unknown URL scheme '" + name + "'"; };
  const std::string query =
      "expected prefix=TEXT, db=NUMBER, sentinel_user=TEXT or sentinel_password=TEXT after the '?'";
  const std::string not_sentinel =
      "sentinel_user and sentinel_password are for redis+sentinel:// and rediss+sentinel://";
  const std::string sentinel_percent =
      "sentinel_user or sentinel_password has a % that two hexadecimal digits do not follow";
  const std::string sentinel_alone = "sentinel_user needs a sentinel_password";
  const std::string percent = "user or password has a % that two hexadecimal digits do not follow";
  const std::string no_password = "missing password before the '@'";
  const std::string no_host = "a host is missing";
  const std::string database = "what follows the last '/' is not the number of a database";
  const auto port_of = [](const std::string& host) {
    return "what follows the host '" + host + "' is not : and a port from 1 to 65535";
  };
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", scheme},
      {"localhost:6379", scheme},
      {"redis:/h", scheme},
      {"Redis://h", unknown("Redis")},
      {"://h", scheme},
      {"rediss+unix:///run/redis.sock", unknown("rediss+unix")},
      {"http://bob:hush@h", unknown("http")},
      {"bob:hush@redis://h", scheme},
      {"redis://h?db", query},
      {"redis://h?db=", query},
      {"redis://h?db=-1", query},
      {"redis://h?db=1000001", query},
      {"redis://h?timeout=1s", query},
      {"redis://h?prefix=%4", query},
      {"redis://h?prefix=%zz", query},
      {"redis://h?&", query},
      {"redis://h?format", query},
      {"redis://h?format=", query},
      {"redis://h?format=throttled", query},
      {"redis://h?format=redis-cell", query},
      {"redis://:hu?sh@h", query},
      {"redis+sentinel://a/m?password=hush", query},
      {"redis+sentinel://a/m?sentinel_pass=hush", query},
      {"redis://h?sentinel_password=hush", not_sentinel},
      {"redis+unix:///run/redis.sock?sentinel_user=", not_sentinel},
      {"rediss+cluster://h?sentinel_user=eve&sentinel_password=hush", not_sentinel},
      {"redis+sentinel://a/m?sentinel_user=eve%4", sentinel_percent},
      {"rediss+sentinel://a/m?sentinel_password=hush%", sentinel_percent},
      {"redis+sentinel://a/m?sentinel_user=eve", sentinel_alone},
      {"redis+sentinel://a/m?sentinel_user=eve&sentinel_password=", sentinel_alone},
      {"redis://%4:hush@h", percent},
      {"redis://bob:hush%@h", percent},
      {"redis://bob:%+1hush@h", percent},
      {"redis://hush@h", no_password},
      {"redis://hush:@h", no_password},
      {"redis://@h", no_password},
      {"redis://", no_host},
      {"redis:///1", no_host},
      {"redis://::1", no_host},
      {"redis://[]", no_host},
      {"redis://[::1", "a '[' has no ']'"},
      {"redis://[::1]7", port_of("::1")},
      {"redis://h:", port_of("h")},
      {"redis://h:0", port_of("h")},
      {"redis://h:65536", port_of("h")},
      {"redis://h:+1", port_of("h")},
      {"redis://h:99999999999999999999", port_of("h")},
      {"redis://h\n:x", port_of("h%0A")},
      {"redis://a,b", "several hosts are only for redis+cluster:// and redis+sentinel://"},
      {"redis://h/x", database},
      {"redis://h/-1", database},
      {"redis://h/1/", database},
      {"redis://h/1000001", database},
      {"redis+unix://run/redis.sock", "the path of the Unix socket does not begin with /"},
      {"redis+unix://bob:hush@run/redis.sock", "the path of the Unix socket does not begin with /"},
      {"redis+unix://", "the path of the Unix socket does not begin with /"},
      {"redis+unix://:@/run/redis.sock", no_password},
      {"redis+cluster://a,", no_host},
      {"redis+cluster://a,,b", no_host},
      {"redis+cluster://a/1", "a cluster has only database 0"},
      {"redis+cluster://a?db=1", "a cluster has only database 0"},
      {"redis+sentinel://a", "missing /NAME of the master after the sentinels"},
      {"redis+sentinel://a/", "missing /NAME of the master after the sentinels"},
      {"redis+sentinel://a/m/x", database},
  };
  for (const auto& [url, error] : rows) {
    const auto endpoint = Endpoint::parse(url);
    ASSERT_FALSE(endpoint.has_value()) << url << "\n" << endpoint->text();
    EXPECT_EQ(endpoint.error(), "store: " + error + forms) << url;
  }
}

// "redis://:hush" was an error that said what ":hush" is not.
TEST(Endpoint, a_password_in_the_wrong_place_is_not_shown) {
  for (const char* const url :
       {"redis://:hush", "redis://bob:hush", "redis://bob:hush/0", "redis://bob:hu?sh@h",
        "redis://bob:1/hush", "redis://h:hush@", "redis+cluster://a,:hush", "redis+sentinel://bob:hush/m",
        "redis://[bob:hush", "redis://h/0/hush", "redis+unix://bob:hush/run/redis.sock", "hush://h",
        "redis:://bob:hush@h", "redis://h?sentinel_password=hush", "redis+sentinel://h/m?sentinel_pass=hush",
        "redis+sentinel://h/m?sentinel_password=hush%", "redis+sentinel://h?sentinel_password=hush"}) {
    const auto endpoint = Endpoint::parse(url);
    ASSERT_FALSE(endpoint.has_value()) << url;
    EXPECT_EQ(endpoint.error().find("hu"), std::string::npos) << endpoint.error();
  }
}

TEST(Endpoint, any_prefix_of_a_url_is_answered) {
  const std::string url =
      "rediss+sentinel://bo%41b:hu%40sh@[::1]:26379,b:5/mymaster/7?prefix=w%3A&db=3"
      "&sentinel_user=e%76e&sentinel_password=hu%40sh";
  for (std::size_t size = 0; size <= url.size(); ++size) {
    const auto endpoint = Endpoint::parse(url.substr(0, size));
    const std::string text = endpoint ? endpoint->text() : endpoint.error();
    EXPECT_EQ(text.find("hu"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace weir::redis
