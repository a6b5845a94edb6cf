#include "http/open_api.hpp"

namespace weir::http {

std::string_view open_api() { return "{}\n"; }

}  // namespace weir::http
