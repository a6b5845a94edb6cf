// The page of operators: one document with its style and its script (admin_page.css, .html, .js), which asks
// /v1 for what it shows. There is nothing in it that is not in the program.
//
// Pure, any thread.
#pragma once

#include <string>
#include <string_view>

#include "http/writer.hpp"

namespace weir::inline v0_1::http {

void write_admin_page(Reply& reply);

// "sha256-" and the digest in base64, by which a policy names a script or a style.
std::string policy_hash(std::string_view text);

}  // namespace weir::http
