// What the readers of xDS's protobuf share: fields by number and type, texts that are UTF-8.
//
// Pure. What is malformed throws a std::exception, as protozero does.
#pragma once

#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/printable.hpp"

namespace weir::inline v0_1::xds {

// A field of that number has that type, or it is one that we do not know.
constexpr auto kVarint = protozero::pbf_wire_type::varint;
constexpr auto kFixed64 = protozero::pbf_wire_type::fixed64;
constexpr auto kBytes = protozero::pbf_wire_type::length_delimited;
constexpr std::uint32_t field(std::uint32_t number, protozero::pbf_wire_type type) {
  return protozero::tag_and_type(number, type);
}

inline protozero::pbf_reader reader_of(std::string_view message) { return {message.data(), message.size()}; }

inline std::string_view view_of(protozero::pbf_reader& reader) {
  const protozero::data_view view = reader.get_view();
  return {view.data(), view.size()};
}

inline std::string text_of(protozero::pbf_reader& reader) {
  const std::string_view text = view_of(reader);
  if (!core::is_utf8(text)) throw std::runtime_error("a text is not UTF-8");
  return std::string(text);
}

}  // namespace weir::xds
