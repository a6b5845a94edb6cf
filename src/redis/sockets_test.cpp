#include "redis/sockets.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weir/redis.hpp"

namespace weir::redis {
namespace {

// Files that are right, and files that are not PEM, are in tests/faults/test_store.py, with a real Redis.
TEST(StoreTls, files_that_are_refused) {
  struct Row {
    std::string url, ca, cert, key, error;
  };
  const std::string together = "store-tls-cert and store-tls-key must be given together";
  const std::string plain = "store-tls-cert needs a store with TLS: a URL that begins with rediss";
  const std::vector<Row> rows = {
      {"redis://h", "", "", "", ""},
      {"rediss://h", "", "", "", ""},
      {"rediss://h", "", "c", "", together},
      {"rediss://h", "", "", "k", together},
      {"redis://h", "", "", "k", together},
      {"redis://h", "", "c", "k", plain},
      {"redis+unix:///s", "", "c", "k", plain},
      {"redis+cluster://h", "", "c", "k", plain},
      {"redis+sentinel://h/m", "", "c", "k", plain},
      {"rediss://h", "/no/ca", "/no/cert", "/no/key", "store-tls-ca: '/no/ca': No such file or directory"},
      {"rediss://h", "/dev/null", "", "", "store-tls-ca: '/dev/null': contains no certificate in PEM"},
      {"rediss://h", "", "/no/cert", "/no/key", "store-tls-cert: '/no/cert': No such file or directory"},
      {"rediss://h", "", "/dev/null", "/no/key", "store-tls-cert: '/dev/null': is not a certificate in PEM"},
  };
  for (const Row& row : rows) {
    std::string said;
    try {
      const auto tls = tls_for(Endpoint::parse(row.url).value(), {row.ca, row.cert, row.key});
      EXPECT_EQ(tls.has_value(), row.url.starts_with("rediss")) << row.url;
    } catch (const std::exception& error) {
      said = error.what();
    }
    EXPECT_EQ(said, row.error) << row.url;
    said.clear();
    try {
      const RedisStore store(row.url, {.tls_ca = row.ca, .tls_cert = row.cert, .tls_key = row.key});
    } catch (const std::exception& error) {
      said = error.what();
    }
    EXPECT_EQ(said, row.error) << "RedisStore " << row.url;
  }
}

}  // namespace
}  // namespace weir::redis
