// For tests: a call whose result a function is told.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "redis/call.hpp"

namespace weir::inline v0_1::redis {

class ToldCall final : public Call {
 public:
  explicit ToldCall(
      std::function<void(const Result&)> tell, std::function<bool()> wanted = [] { return true; })
      : tell_(std::move(tell)), wanted_(std::move(wanted)) {}
  void answered(std::unique_ptr<Call>, const Result& result) override { tell_(result); }
  bool wanted() const override { return wanted_(); }

 private:
  std::function<void(const Result&)> tell_;
  std::function<bool()> wanted_;
};

}  // namespace weir::redis
