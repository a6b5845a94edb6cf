// Reads a limits file: the text of it to what it says, or to everything that is wrong with it at once.
//
// Pure but for the files of lists. Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "limits/file.hpp"
#include "limits/finding.hpp"

namespace weir::inline v0_1::limits {

// The bytes of a file, or why there are none: "No such file or directory", "Not a regular file". Stops after
// `most` + 1 bytes.
using OpenFile =
    std::function<tl::expected<std::string, std::string>(const std::string& path, std::size_t most)>;
tl::expected<std::string, std::string> read_from_disk(const std::string& path, std::size_t most);
// The same of a file that a command line names, where "-" is the standard input.
tl::expected<std::string, std::string> read_named(const std::string& path, std::size_t most,
                                                  const OpenFile& open);

// How a file is to be served, as far as lint is told.
struct Deployment {
  bool has_store = false;                                     // it is counted in a shared store
  std::chrono::nanoseconds max_wait = std::chrono::hours{1};  // the server's --max-wait
};

struct ReadOptions {
  Time now{};  // for what ends: `until` of overrides and shadows
  // What an `until` that is past is: an error in lint, a warning elsewhere, since it must keep no server
  // down.
  Severity past = Severity::warning;
  std::string name{};              // of the file, in messages; empty: its path, or of a text "limits.yaml"
  std::string folder{};            // where files of lists are, unless they are absolute; empty: here
  OpenFile open = read_from_disk;  // of lists; tests have files of their own
  // Null: what depends on it is not judged.
  const Deployment* deployment = nullptr;
  // Once it is true the rest of a list is left out, and what is read is of no use.
  const std::atomic<bool>* given_up = nullptr;
};

// Why a limit lets nobody wait for so long under that --max-wait.
std::string above_max_wait(std::chrono::nanoseconds wait, std::chrono::nanoseconds most);

struct ReadResult {
  std::shared_ptr<const File> file;  // null when there are errors
  std::vector<Finding> findings;     // in the order of the file's lines, those of list files last
};

ReadResult read(std::string_view text, const ReadOptions& options);

// The file at `path` and its lists, which are looked for beside it. "-" is the standard input. A file that
// cannot be opened is the only finding, of rule 0.
ReadResult read_file(const std::string& path, ReadOptions options);

}  // namespace weir::limits
