// A file of envoyproxy/ratelimit: the YAML of it to the domain that it says, or to everything that is wrong
// with it at once, in that program's words.
//
// Pure, any thread. Not for: weir's own limits file (read.hpp), a folder of them (envoy_folder.hpp),
// compiling (descriptors.hpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "limits/domain.hpp"
#include "limits/finding.hpp"

namespace weir::inline v0_1::limits {

// With errors in `findings` the domain is of no use. `name` is how messages call the file.
Domain read_envoy_file(std::string_view text, const std::string& name, std::vector<Finding>& findings);

// "basic.yaml: duplicate domain 'x' in config file (line 1, column 9)": one line, safe to show; a warning
// begins "warning: " after the file's name.
std::string envoy_text(const Finding& finding);

}  // namespace weir::limits
