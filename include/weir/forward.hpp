// Declarations of weir's classes, for headers that name them by reference or pointer and do not use them.
#pragma once

#include "weir/version.hpp"

namespace weir::inline v0_1 {

class Alarm;
class Clock;
class KeyedLimiter;
class Limiter;
class Limits;
class LocalStore;
class ManualClock;
class Quota;
class RedisStore;
class Reservation;
class SharedLimiter;
class StoreFault;
class Waiter;
class Waiters;
struct Cost;
struct Decision;
struct JointDecision;
struct LimitsDecision;
struct LimitsReservation;
struct ReserveOptions;

}  // namespace weir
