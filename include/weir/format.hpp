// Text of decisions and quotas, for logs: to_text(), std::ostream, and where they exist fmt and std::format.
//
//   std::cout << limiter.check() << '\n';   // denied: 0 of 20 left, retry in 1 s, full again in 12 s
//   fmt::print("{}\n", quota);              // 100/min burst 20
//
// A decision reads as `weir check` prints it, in whole seconds, rounded up. Quota::parse() reads a quota's
// text. fmt's formatters are there when <fmt/format.h> (or core.h) is included before this header. Pure
// functions, any thread; they throw what allocating memory and writing to a stream throw.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <version>

#include "weir/decision.hpp"
#include "weir/quota.hpp"
#include "weir/source.hpp"
#include "weir/version.hpp"

#if defined(__cpp_lib_format)
#include <format>
#endif

namespace weir::inline v0_1 {

WEIR_API [[nodiscard]] std::string to_text(const Decision& decision);
WEIR_API [[nodiscard]] std::string to_text(const Quota& quota);
// The names of the enumerators.
WEIR_API [[nodiscard]] std::string_view to_text(Verdict verdict) noexcept;
WEIR_API [[nodiscard]] std::string_view to_text(Source source) noexcept;
WEIR_API [[nodiscard]] std::string_view to_text(Fault fault) noexcept;

WEIR_API std::ostream& operator<<(std::ostream& out, const Decision& decision);
WEIR_API std::ostream& operator<<(std::ostream& out, const Quota& quota);

}  // namespace weir

#if defined(FMT_VERSION)
template <>
struct fmt::formatter<weir::Decision> : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(const weir::Decision& decision, Context& context) const {
    return fmt::formatter<fmt::string_view>::format(weir::to_text(decision), context);
  }
};
template <>
struct fmt::formatter<weir::Quota> : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(const weir::Quota& quota, Context& context) const {
    return fmt::formatter<fmt::string_view>::format(weir::to_text(quota), context);
  }
};
#endif

#if defined(__cpp_lib_format)
template <>
struct std::formatter<weir::Decision> : std::formatter<std::string_view> {
  template <class Context>
  auto format(const weir::Decision& decision, Context& context) const {
    return std::formatter<std::string_view>::format(weir::to_text(decision), context);
  }
};
template <>
struct std::formatter<weir::Quota> : std::formatter<std::string_view> {
  template <class Context>
  auto format(const weir::Quota& quota, Context& context) const {
    return std::formatter<std::string_view>::format(weir::to_text(quota), context);
  }
};
#endif
