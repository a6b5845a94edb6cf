// The description of the API for programs: /openapi.json, as OpenAPI 3.1.
//
// A constant, any thread. tests/end_to_end/test_http.py holds it to the paths and the members that there are.
#pragma once

#include <string_view>

namespace weir::inline v0_1::http {

std::string_view open_api();

}  // namespace weir::http
