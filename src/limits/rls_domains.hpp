// What descriptors of Envoy's rate limit service say: the part `rls:` of the file.
//
// One thread. Not for: answering them (src/rls).
#pragma once

#include <string>
#include <vector>

#include "limits/file_field.hpp"

namespace weir::inline v0_1::limits {

// The attributes that its domains map.
std::vector<std::string> rls_attributes(const FileField& rls);

// Fills File::rls.
void read_rls(Context& context, const FileField& rls);

// What descriptors cannot be asked about, and `charge: after`, which is for them.
void judge_rls(const File& file, Findings& findings);

}  // namespace weir::limits
