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

namespace weir::inline v0_1::logs {

struct Inside {
  std::string text;
  bool piece = false;  // the rest of the line comes later
  bool error_stream = false;
};

struct Wrapper {
  std::string_view name;
  // Nothing when the line has not the wrapper's shape.
  std::optional<Inside> (*inside)(std::string_view line);
  std::unique_ptr<Splitter> (*make)(std::unique_ptr<Splitter> inner, const std::vector<Slot>& slots);
};

// The wrapper that a line has; null for none.
const Wrapper* wrapper_of(std::string_view line);
const Wrapper* find_wrapper(std::string_view name);
std::vector<std::string_view> wrapper_names();

// The slots that a format inside may lack, because the wrapper may have them: cri.time, syslog.host.
std::vector<Slot> inner_slots(const Wrapper& wrapper, const std::vector<Slot>& slots);

}  // namespace weir::logs
