// The path of a request, in one spelling: escapes decoded once, dot segments removed, runs of `/` made one.
// So that one resource is one key however it is spelled: /v1//chat, /v1/./chat and /%761/chat are /v1/chat.
//
// Pure functions, any thread. Not for: weir's own paths, which are compared as they came.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::inline v0_1::core {

// What gateways and servers disagree on, so that one of them may serve something else than was counted: an
// escape that stands for `/`, `\`, `;` or NUL, a raw `\`, a path parameter (servlet containers take /a/..;/b
// for /b), a broken escape, `..` after an empty segment, a path that does not begin with `/`.
enum class OddPath : std::uint8_t {
  refuse,
  keep,  // such escapes and parameters stay as they are written
};

// The path of a request's target, without query, fragment, and scheme and host of an absolute one; a view of
// it. "*" is a path too.
std::string_view path_of(std::string_view target);

// Appends the path of `target`. False for an odd one that is refused; then what is appended means nothing.
bool append_path(std::string_view target, OddPath odd, std::string& out);

}  // namespace weir::core
