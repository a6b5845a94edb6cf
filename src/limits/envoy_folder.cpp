#include "limits/envoy_folder.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/sha256.hpp"
#include "limits/envoy_file.hpp"
#include "limits/yaml_tree.hpp"

namespace weir::inline v0_1::limits {
namespace {

// How messages call a file: its path from the folder, with dots for slashes.
std::string name_below(const std::string& folder, const std::string& path) {
  std::string name = path.substr(std::min(path.size(), folder.size() + 1));
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

class FolderReader {
 public:
  FolderReader(std::string folder, const EnvoyFolderOptions& options)
      : folder_(std::move(folder)), options_(options) {
    while (folder_.size() > 1 && folder_.ends_with('/')) folder_.pop_back();
  }

  EnvoyFolder read() {
    for (folders_.push_back(folder_); looked_into_ < folders_.size(); ++looked_into_)
      list(std::string(folders_[looked_into_]));
    std::sort(files_.begin(), files_.end());
    found_.files = files_.size();
    if (!has_errors(found_.findings))
      for (const std::string& each : files_) read_file(each);
    const bool wrong = has_errors(found_.findings);
    auto made = Descriptors::make(std::move(domains_), options_.compiling);
    if (!made) {
      for (Finding& each : made.error()) found_.findings.push_back(std::move(each));
    } else if (!wrong) {
      found_.set = *std::move(made);
    }
    return std::move(found_);
  }

 private:
  void tell(Severity severity, FileRule rule, const std::string& path, std::string text) {
    const std::string name = path == folder_ ? path : name_below(folder_, path);
    found_.findings.push_back({severity, rule, name, {}, "", std::move(text)});
  }
  void cannot_read(const std::string& path, const std::string& why) {
    tell(Severity::error, FileRule::none, path, "cannot read it: " + why);
  }

  void list(const std::string& folder) {
    options_.looks(folder + "/.");
    DIR* const open = opendir(folder.c_str());
    if (open == nullptr) return cannot_read(folder, std::strerror(errno));
    for (errno = 0; const dirent* const entry = readdir(open); errno = 0) {
      if (entry->d_name[0] != '.') add(folder + "/" + entry->d_name);
    }
    const int error = errno;
    closedir(open);
    if (error != 0) cannot_read(folder, std::strerror(error));
  }

  void add(const std::string& path) {
    if (files_.size() + folders_.size() > kMostEnvoyFiles) return;
    struct stat there{};
    const bool is_known = lstat(path.c_str(), &there) == 0;
    const bool is_link = is_known && S_ISLNK(there.st_mode);
    if (is_known && S_ISDIR(there.st_mode)) {
      folders_.push_back(path);
    } else if (is_link && stat(path.c_str(), &there) == 0 && S_ISDIR(there.st_mode)) {
      tell(Severity::warning, FileRule::form, path, "a link to a folder, which is not followed");
    } else {
      files_.push_back(path);
    }
    if (files_.size() + folders_.size() > kMostEnvoyFiles)
      tell(Severity::error, FileRule::bounds, folder_,
           "more than " + std::to_string(kMostEnvoyFiles) + " files are not read");
  }

  void read_file(const std::string& path) {
    const std::string name = name_below(folder_, path);
    options_.looks(path);
    const auto text = options_.open(path, YamlTree::kMostBytes);
    if (!text) return cannot_read(path, text.error());
    bytes_ += text->size();
    if (bytes_ > kMostEnvoyBytes) {
      if (bytes_ - text->size() <= kMostEnvoyBytes)
        tell(Severity::error, FileRule::bounds, folder_,
             "more than " + std::to_string(kMostEnvoyBytes) + " bytes (64 MiB) are not read");
      return;
    }
    found_.text += name + "\n";
    core::append_hex(core::sha256(*text), found_.text);
    const std::size_t before = found_.findings.size();
    Domain domain = read_envoy_file(*text, name, found_.findings);
    // What is wrong by itself would only be told again in other words.
    if (found_.findings.size() == before) domains_.push_back(std::move(domain));
  }

  std::string folder_;
  const EnvoyFolderOptions& options_;
  std::vector<std::string> folders_;
  std::vector<std::string> files_;
  EnvoyFolder found_;
  std::vector<Domain> domains_;
  std::size_t looked_into_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

EnvoyFolder read_envoy_folder(const std::string& folder, const EnvoyFolderOptions& options) {
  return FolderReader(folder, options).read();
}

}  // namespace weir::limits
