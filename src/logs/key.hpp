// A client's key of several fields: one text, in which the values do not run together.
//
// Pure functions, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::inline v0_1::logs {

// "a" + "bc" is not "ab" + "c": a value begins with its length. begin_value() leaves room for it and returns
// where; end_value() writes it when the value has been appended.
std::size_t begin_value(std::string& key);
void end_value(std::size_t begin, std::string& key);
void append_lacking(std::string& key);  // a value that the line lacks

// The values of a key of `parts` fields, of a Wanted that may lack some; a null view for each that the line
// lacked. They view the key.
std::vector<std::string_view> values_of(std::string_view key, std::size_t parts);

// A client's key as reports show it: the parts of a key of several fields with spaces between.
std::string shown(std::string_view key, std::size_t parts);

}  // namespace weir::logs
