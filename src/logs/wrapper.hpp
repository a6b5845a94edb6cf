// What puts words of its own around each line: Docker's json-file, a kubelet (containerd, CRI-O), syslog.
//
// A Splitter around the Splitter of what is inside; one file and one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "logs/splitter.hpp"

namespace weir::logs {

struct Wrapper {
  std::string_view name;
  // What is inside the line; nothing when it has not the wrapper's shape. A piece of a line whose end comes
  // later is taken too, so its text may be cut.
  std::optional<std::string> (*inside)(std::string_view line);
  std::unique_ptr<Splitter> (*make)(std::unique_ptr<Splitter> inner, const std::vector<Slot>& slots);
};

// The wrapper that a line has; null for none.
const Wrapper* wrapper_of(std::string_view line);
const Wrapper* find_wrapper(std::string_view name);
std::vector<std::string_view> wrapper_names();

// The slots that a format inside may lack, because the wrapper may have them: cri.time, syslog.host.
std::vector<Slot> inner_slots(const Wrapper& wrapper, const std::vector<Slot>& slots);

}  // namespace weir::logs
