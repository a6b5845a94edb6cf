// Which weir a program is compiled with:
//
//   #if WEIR_VERSION_NUMBER >= 200  // 0.2.0
//
// All of weir lies in an inline namespace that is named after the first two numbers, so that a program is not
// linked with the library of another version, and two versions of it in one process do not meet. Source code
// names weir::Limiter and need not know; a declaration of its own, `namespace weir { class Limiter; }`, would
// be another class: weir/forward.hpp has the declarations.
#pragma once

#define WEIR_VERSION_MAJOR 0
#define WEIR_VERSION_MINOR 1
#define WEIR_VERSION_PATCH 0
#define WEIR_VERSION "0.1.0"
#define WEIR_VERSION_NUMBER (WEIR_VERSION_MAJOR * 10000 + WEIR_VERSION_MINOR * 100 + WEIR_VERSION_PATCH)

// What a shared library shows to programs. Set while one is built, and by nobody else.
#if defined(WEIR_BUILDS_SHARED)
#define WEIR_API [[gnu::visibility("default")]]
#else
#define WEIR_API
#endif
