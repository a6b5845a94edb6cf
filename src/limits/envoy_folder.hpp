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
#include <functional>
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
  std::vector<Finding> findings;  // by file, in the order of the lines; what is wrong between files last
  std::size_t files = 0;
  std::string text;  // tells that something else was read: the names, and digests
};

struct EnvoyFolderOptions {
  DescriptorOptions compiling{};
  OpenFile open = read_from_disk;
  // Called with each file before it is read, and with "FOLDER/." before a folder is looked into.
  std::function<void(const std::string& path)> looks = [](const std::string&) {};
};

EnvoyFolder read_envoy_folder(const std::string& folder, const EnvoyFolderOptions& options = {});

}  // namespace weir::limits
