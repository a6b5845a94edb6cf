// A function that is called with one argument: as std::function, but what it holds need not be copyable (a
// lambda that owns a std::unique_ptr, a handler of Asio). std::move_only_function is C++23's.
//
// One thread at a time; it owns what it holds. An empty one must not be called.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace weir::inline v0_1 {

template <class Argument>
class Callback {
 public:
  Callback() noexcept = default;
  template <class Function>
    requires(!std::same_as<std::remove_cvref_t<Function>, Callback> &&
             std::invocable<std::decay_t<Function>&, Argument>)
  Callback(Function&& function)  // not explicit: a lambda is passed where a Callback is wanted
      : held_(std::make_unique<Holding<std::decay_t<Function>>>(std::forward<Function>(function))) {}

  void operator()(Argument argument) { held_->call(std::forward<Argument>(argument)); }
  explicit operator bool() const noexcept { return held_ != nullptr; }

 private:
  struct Held {
    virtual ~Held() = default;
    virtual void call(Argument&& argument) = 0;
  };
  template <class Function>
  struct Holding final : Held {
    template <class From>
    explicit Holding(From&& from) : function(std::forward<From>(from)) {}
    void call(Argument&& argument) override { static_cast<void>(function(std::forward<Argument>(argument))); }
    Function function;
  };
  std::unique_ptr<Held> held_;
};

}  // namespace weir
