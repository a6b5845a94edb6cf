// A folder of files of envoyproxy/ratelimit, read and compiled.
//
// It reads every file below the folder, whatever its suffix, but none whose name, or a folder's name on the
// way to it, begins with a dot: a Kubernetes ConfigMap has its files a second time below ..data. Links to
// files are followed, links to folders are not.
//
// Any thread but an event loop's: it reads files. Not for: noticing that they have changed
// (server/limits_watch.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "limits/descriptors.hpp"
#include "limits/finding.hpp"
#include "limits/read.hpp"

namespace weir::inline v0_1::limits {

constexpr std::size_t kMostEnvoyFiles = 10'000;
constexpr std::size_t kMostEnvoyBytes = std::size_t{64} << 20;  // of all files

struct EnvoyFolder {
  std::shared_ptr<const Descriptors> set;  // null when there are errors
  std::vector<Finding> findings;     // by file, in the order of the lines; what is wrong between files last
  std::vector<std::string> files;    // paths as one can open them, in the order of their names
  std::vector<std::string> folders;  // that were looked into, this one first
  std::string text;                  // tells that something else was read: the names, and digests
};

EnvoyFolder read_envoy_folder(const std::string& folder, const DescriptorOptions& options,
                              const OpenFile& open = read_from_disk);

}  // namespace weir::limits
