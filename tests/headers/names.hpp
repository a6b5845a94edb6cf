// The names that the examples of the public headers take for granted.
#pragma once

#include <cassert>
#include <chrono>
#include <initializer_list>
#include <iostream>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "weir/acquire.hpp"
#include "weir/expected.hpp"
#include "weir/limiter.hpp"
#include "weir/limits.hpp"
#include "weir/redis.hpp"
#include "weir/waiters.hpp"

using namespace std::chrono_literals;

template <class... Words>
void refuse(const Words&...) {}
template <class... Words>
void later(const Words&...) {}
inline void act() {}
inline void send() {}

inline const std::string user_id = "ada", tenant_id = "acme";
inline const std::string user = "ada", tenant = "acme", path = "/";

inline weir::Limiter limiter{weir::Quota::per_second(1)};
inline constexpr weir::Quota quota = weir::Quota::per_second(1);
inline weir::RedisStore a_store{"memory:"};
inline weir::SharedLimiter per_user{weir::Quota::per_second(50), a_store};
struct Timer {
  void expires_at(std::chrono::nanoseconds) {}
};
