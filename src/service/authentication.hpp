// Which clients may ask: the credentials, and how many wrong guesses each address has left.
//
// Any thread. The clock is handed in. Not for: what a connection remembers of its log-in.
#pragma once

#include <chrono>
#include <string_view>

#include "service/credentials.hpp"
#include "weir/limiter.hpp"

namespace weir::service {

class Authentication {
 public:
  enum class Answer {
    accepted,
    wrong,
    too_many,  // wrong guesses from this address: even the right password is refused
  };

  Authentication(std::string_view user, std::string_view password) : credentials_(user, password) {}

  bool required() const { return credentials_.required(); }
  // Only a wrong guess is charged to the address.
  Answer log_in(std::string_view address, std::string_view user, std::string_view password,
                std::chrono::nanoseconds now);

 private:
  Credentials credentials_;
  KeyedLimiter guesses_{Quota::per_second(1).with_burst(10), {.memory = 1_MiB}};
};

}  // namespace weir::service
