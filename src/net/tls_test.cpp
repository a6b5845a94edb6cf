#include "net/tls.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::inline v0_1::net {
namespace {

// Files that are right are in tests/end_to_end/test_tls.py and tests/faults/test_store.py.
TEST(Tls, files_that_are_refused) {
  struct Row {
    std::string ca, cert, key, error;
  };
  const std::string together = "my-tls-cert and my-tls-key must be given together";
  const std::vector<Row> rows = {
      {"", "", "", ""},
      {"", "c", "", together},
      {"", "", "k", together},
      {"/no/ca", "/no/cert", "/no/key", "my-tls-ca: '/no/ca': No such file or directory"},
      {"/dev/null", "", "", "my-tls-ca: '/dev/null': Not a regular file"},
      {"", "/no/cert", "/no/key", "my-tls-cert: '/no/cert': No such file or directory"},
      {"", "/dev/null", "/no/key", "my-tls-cert: '/dev/null': Not a regular file"},
  };
  for (const Row& row : rows) {
    std::string said;
    try {
      client_tls("my-tls", {row.ca, row.cert, row.key});
    } catch (const std::exception& error) {
      said = error.what();
    }
    EXPECT_EQ(said, row.error) << row.ca << " " << row.cert << " " << row.key;
  }
}

}  // namespace
}  // namespace weir::net
