// Columns that a comment names, and may name again: the W3C's extended log format (CloudFront, IIS) and
// Zeek's TSV.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "logs/splitter.hpp"

namespace weir::inline v0_1::logs {

bool fits_w3c(std::string_view line);  // one of the comments that such a file begins with
bool fits_zeek(std::string_view line);
std::unique_ptr<Splitter> make_w3c(const std::vector<Slot>& slots, std::string_view line);
std::unique_ptr<Splitter> make_zeek(const std::vector<Slot>& slots, std::string_view line);

}  // namespace weir::logs
