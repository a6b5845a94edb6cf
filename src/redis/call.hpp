// What is asked of Redis once, and what is done with the answer.
//
// The Client that asks it has it meanwhile (client.hpp). One thread.
#pragma once

#include <memory>
#include <string_view>

#include "redis/cause.hpp"
#include "resp/value.hpp"

namespace weir::inline v0_1::redis {

class Call {
 public:
  struct Result {
    Cause cause;
    std::string_view error;    // with a cause: what Redis said, or what happened; a view
    const resp::Value* value;  // without one; a view
  };

  Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  virtual ~Call() = default;

  // Called once, by the first tick() at or after its deadline. `self` is this call, which may be asked again;
  // of the client it may make calls and nothing else.
  virtual void answered(std::unique_ptr<Call> self, const Result& result) = 0;
  // Whether anybody still waits for the result: asked before a call leaves that had to wait. If not it fails,
  // as `overload`.
  virtual bool wanted() const { return true; }
};

}  // namespace weir::redis
