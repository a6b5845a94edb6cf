// weir::expected: a value, or why there is none. It is std::expected where a program's compiler has that
// (C++23), and tl::expected, which has the same interface, where it does not.
//
//   const weir::expected<weir::Quota, std::string> quota = weir::Quota::parse("100/min");
//   if (!quota) std::cerr << quota.error();
//
// One build of weir serves programs of either standard: no function that the library exports takes or returns
// an expected. Those of the headers that do are templates with the expected among their arguments, so that
// the two never go by one name. A program of which some files are C++20 and some C++23 must not hand one from
// the ones to the others.
#pragma once

#include <version>

#if defined(__cpp_lib_expected)
#include <expected>
#else
#include <tl/expected.hpp>
#endif

#include "weir/version.hpp"

namespace weir::inline v0_1 {

#if defined(__cpp_lib_expected)
using std::expected;
using std::unexpect;
using std::unexpected;
#else
using tl::expected;
using tl::unexpect;
using tl::unexpected;
#endif

}  // namespace weir
