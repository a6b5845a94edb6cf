// The description of the API for programs: /openapi.json, as OpenAPI 3.1.
//
// A constant, any thread. handlers_test.cpp holds it to the paths that there are and to their roles,
// tests/end_to_end/test_http.py to the members.
#pragma once

#include <string_view>

namespace weir::inline v0_1::http {

std::string_view open_api();

}  // namespace weir::http
