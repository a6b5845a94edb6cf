// JSON that is not one document a line: an array of them, or documents over several lines.
//
// Pure functions, any thread. Not for: reading such a log, which a person makes lines of; for what to say
// of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::inline v0_1::logs {

// The documents with which a text begins, each on one line; an array as {"": [...]}. Nothing when they are
// one a line already, or when it does not begin with JSON. What is cut off at the end is left out, and what
// was open there is closed.
std::optional<std::vector<std::string>> json_documents(std::string_view text);

// jq's path to the objects that have a field of that name: ".records[]" of records[0].time; "." when it is
// the document.
std::string jq_path(std::string_view field);

// Of records[0].time: records[1].time, which is there when a document holds several; of all others the first.
// One for each array on the way.
std::vector<std::string> neighbours_of(std::string_view field);

}  // namespace weir::logs
