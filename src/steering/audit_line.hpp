// The lines of an audit: each is one change, as JSON, and ends in the SHA-256 of the line before it, so that
// what is cut, reordered or edited is found. What is cut at the end is found only by a hash that was kept
// elsewhere.
//
// Pure, any thread. Not for: files (server/audit_log.hpp).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "steering/change.hpp"

namespace weir::inline v0_1::steering {

// In bytes, its end among them; a line is shorter.
constexpr std::size_t kLongestAuditLine = std::size_t{1} << 20;

// Without its end. `count`: that many changes of one user are told by this line; 1: it is one. `now` is of
// the wall clock. `previous`: hash_of() the line before.
std::string audit_line(const OperatorChange& change, std::uint64_t count, std::chrono::nanoseconds now,
                       std::string_view previous);
// The first of each file and each start. `torn`: half a line that the file ended in; it is not a part of the
// chain.
std::string begin_line(std::chrono::nanoseconds now, std::string_view previous, std::string_view torn);

bool is_audit_line(std::string_view line);
// Whether a file that holds this and no whole line may be one of ours: half a first line.
bool may_begin_audit(std::string_view text);
// In hex.
std::string hash_of(std::string_view line);

// The lines of files in their order, one after the other.
class AuditChain {
 public:
  // What is wrong with the next line, or nothing. `begins`: it is the first of its file.
  std::optional<std::string> add(std::string_view line, bool begins);

  std::uint64_t lines() const { return lines_; }
  const std::string& head() const { return head_; }  // the hash of the last line; empty: there is none

 private:
  std::uint64_t lines_ = 0;
  std::string head_;
};

}  // namespace weir::steering
