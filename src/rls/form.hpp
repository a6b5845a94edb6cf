// How the answer of a question about a descriptor is told: service::Question::form.
#pragma once

#include <cstdint>

namespace weir::inline v0_1::rls {

enum class Form : std::uint8_t {
  free,       // it meets nothing
  unlimited,  // it meets a limit that says so
  refused,    // it lacks what a limit requires, so no limit has decided
  by_file,    // what the store says
  whether,    // the same, where it was asked whether one more unit would fit
  by_tree,    // the same
  jointly,    // the same, of several descriptors: questions that follow tell it
  held,       // Kuadrant's Reserve
  settled,    // its Commit, of a hold
};
constexpr std::uint8_t kShadow = 0x40;  // its limit denies nobody
constexpr std::uint8_t kLast = 0x80;    // of its descriptor

constexpr std::uint8_t byte_of(Form form) { return static_cast<std::uint8_t>(form); }
constexpr Form form_of(std::uint8_t byte) {
  return static_cast<Form>(byte & static_cast<std::uint8_t>(~(kShadow | kLast)));
}

}  // namespace weir::rls
