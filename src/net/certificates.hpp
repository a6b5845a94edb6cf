// What a file of certificates in PEM says: whose they are, and when they hold. Any thread; the file is read
// once.
//
// Not for: using them (tls.hpp).
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace weir::inline v0_1::net {

struct Certificate {
  std::string subject;  // "/CN=localhost"
  std::chrono::system_clock::time_point from;
  std::chrono::system_clock::time_point until;
};

// Those in the file, in its order; none when it cannot be read.
std::vector<Certificate> certificates(const std::string& file);

}  // namespace weir::net
