// Reports as trees of JSON: what they have in common, and their one line.
//
// Pure, any thread. Not for: answers of a server, which core/json_text.hpp writes without a tree.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace weir::inline v0_1::limits {

// Names and keys are bytes and JSON is UTF-8: what is not becomes U+FFFD.
inline std::string one_line(const nlohmann::ordered_json& tree) {
  return tree.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}
inline nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}
inline nlohmann::ordered_json line_or_null(std::uint32_t line) {
  return line == 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(line);
}

}  // namespace weir::limits
