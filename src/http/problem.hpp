// Answers that say what is wrong, as application/problem+json (RFC 9457).
//
// Pure, any thread. Not for: denials, which say more (denial.hpp).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json_writer.hpp"
#include "http/writer.hpp"

namespace weir::inline v0_1::http {

// What is wrong with a request's body, and where: a JSON pointer (RFC 6901), empty for all of it.
struct BodyFault {
  std::string pointer;
  std::string detail;
};
// The first that were found, and how many more there are: a body of 1 MiB has room for 170,000.
class Faults {
 public:
  static constexpr std::size_t kMost = 32;  // in an answer

  Faults() = default;
  explicit Faults(std::size_t most) : most_(most) {}  // to be told

  // Without one it is counted alone, where full() says that its text is of no use.
  bool full() const { return told_.size() >= most_; }
  void count() { ++all_; }
  void add(std::string pointer, std::string detail) {
    count();
    if (!full()) told_.push_back({std::move(pointer), std::move(detail)});
  }

  bool empty() const { return all_ == 0; }
  const std::vector<BodyFault>& told() const { return told_; }
  std::size_t more() const { return all_ - told_.size(); }

 private:
  std::size_t most_ = kMost;
  std::size_t all_ = 0;
  std::vector<BodyFault> told_;
};

// Takes the place of whatever the reply's status, type and body were.
void write_problem(Reply& reply, int status, std::string_view detail, const Faults& faults = {});
// 403, with the role that is needed.
void write_forbidden(Reply& reply, std::string_view detail, std::string_view role);

// "errors": [{"pointer": "/cost", "detail": "..."}]
void write_faults(core::JsonWriter& json, const Faults& faults);

// One more step of a JSON pointer.
std::string pointer_to(std::string_view parent, std::string_view member);

// What a connection is told that is closed without a request of it having been read: all of its bytes.
std::string last_words(int status, std::string_view detail);

}  // namespace weir::http
