// How gateways ask: the part `gateways:` of the file.
//
// One thread. Not for: answering them (src/http).
#pragma once

#include <string>
#include <vector>

#include "limits/file_field.hpp"

namespace weir::inline v0_1::limits {

// What every request of a gateway has from the gateway itself; and what these map beside it.
inline const std::vector<std::string> kOfGateway = {"ip", "method", "host", "path", "raw_path"};
std::vector<std::string> mapped_attributes(const FileField& gateways);

// Fills File::gateways.
void read_gateways(Context& context, const FileField& gateways);

}  // namespace weir::limits
