// How a call that does not wait tells what it came to. Its last argument is one of
//
// - a callback, void(weir::StoreResult<Value>): a value, or the StoreFault that the call which waits throws
// - with <weir/asio.hpp>, a completion token of Boost.Asio, of the signature
//   void(std::exception_ptr, Value); the call returns what the token says
//
// It is called once. Each call says on which thread.
#pragma once

#include <concepts>
#include <string>
#include <type_traits>
#include <utility>

#include "weir/callback.hpp"
#include "weir/expected.hpp"
#include "weir/quota.hpp"
#include "weir/source.hpp"
#include "weir/store_fault.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1 {

template <class Value>
using StoreResult = expected<Value, StoreFault>;

namespace detail {

// What crosses from the library to the program, whatever its expected is (expected.hpp).
template <class Value>
struct RawResult {
  Value value{};
  Fault fault = Fault::none;
  std::string why{};  // with a fault
};

// A call that is ready to begin, handed what it is to answer.
template <class Value>
using Ready = Callback<Callback<RawResult<Value>>>;

// What is passed last, apart from what is passed before it.
template <class Type>
concept Completion = !std::convertible_to<Type, Cost> && !std::convertible_to<Type, Quota>;
// A token may be callable too, as use_future is, which then returns something.
template <class Type, class Result>
concept CallbackFor = std::is_void_v<std::invoke_result_t<std::decay_t<Type>&, Result>>;

// Finds complete_by_token() of <weir/asio.hpp>, if that is included.
struct ByToken {};

// `begin` is called with what to answer: now for a callback, and for a token when it says so.
template <class Value, class Result = StoreResult<Value>, class Begin, class Done>
auto complete(Begin begin, Done&& done) {
  if constexpr (CallbackFor<Done, Result>) {
    begin(Callback<RawResult<Value>>(
        [done = std::decay_t<Done>(std::forward<Done>(done))](RawResult<Value> answer) mutable {
          if (answer.fault != Fault::none)
            return done(Result(unexpect, StoreFault(answer.fault, answer.why)));
          done(Result(std::move(answer.value)));
        }));
  } else {
    return complete_by_token(ByToken{}, std::type_identity<Value>{}, std::move(begin),
                             std::forward<Done>(done));
  }
}

}  // namespace detail
}  // namespace weir
