#include "cli/local_place.hpp"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "core/random.hpp"
#include "core/sha256.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".sock";
constexpr std::size_t kDigits = 16;

[[noreturn]] void fail(const std::string& what, const std::string& why) {
  throw std::runtime_error("local: '" + what + "' " + why);
}

// A folder of this user's runtime, which ends with the session: nobody else can enter it.
bool is_ours(const std::string& folder) {
  struct stat found{};
  return folder.starts_with('/') && stat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == geteuid();
}

std::string folder_of_user() {
  const char* const given = std::getenv("XDG_RUNTIME_DIR");  // NOLINT(concurrency-mt-unsafe): nobody sets one
  const std::string runtime = given != nullptr ? given : "";
  return is_ours(runtime) ? runtime + "/weir" : "/tmp/weir-" + std::to_string(geteuid());
}

// In /tmp anybody may have made it first, and read what is in it.
std::string folder() {
  std::string path = folder_of_user();
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    fail(path, "cannot be made: " + std::generic_category().message(errno));
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0)
    fail(path, "cannot be looked at: " + std::generic_category().message(errno));
  if (!S_ISDIR(found.st_mode)) fail(path, "is not a folder");
  if (found.st_uid != geteuid()) fail(path, "belongs to another user: remove it, or set XDG_RUNTIME_DIR");
  if ((found.st_mode & 0777) != 0700) fail(path, "may be entered by others: it has to have mode 0700");
  return path;
}

// Of the nearest folder upward that a project begins with, or else of the current one.
fs::path project() {
  const fs::path here = fs::current_path();
  for (fs::path each = here;; each = each.parent_path()) {
    for (const char* mark : {".git", "pyproject.toml", "package.json", "go.mod"}) {
      std::error_code ignored;
      if (fs::exists(each / mark, ignored)) return each;
    }
    if (each == each.parent_path()) return here;
  }
}

std::string digits_of(std::string_view bytes) {
  std::string digits;
  core::append_hex(core::sha256(bytes), digits);
  return digits.substr(0, kDigits);
}

// A file that is not there has a name too: the server says what is wrong with it.
std::string named_after(const std::string& limits) {
  std::error_code error;
  const fs::path named = limits.empty() ? project() : fs::weakly_canonical(fs::absolute(limits), error);
  return digits_of(named.string() + "\n" WEIR_VERSION);
}

}  // namespace

LocalPlace local_place_of(const std::string& socket) {
  const std::string path = fs::absolute(socket).string();
  constexpr std::size_t kMost = sizeof(sockaddr_un::sun_path) - 1;
  if (path.size() > kMost)
    fail(path, "is longer than the " + std::to_string(kMost) +
                   " bytes that a socket's path may have: give --socket, or set a shorter XDG_RUNTIME_DIR");
  const std::string base = path.ends_with(kEnding) ? path.substr(0, path.size() - kEnding.size()) : path;
  return {path, base + ".lock", base + ".log"};
}

LocalPlace local_place(const std::string& limits) {
  return local_place_of(folder() + "/" + named_after(limits) + std::string(kEnding));
}

LocalPlace new_local_place() {
  const core::HashKey random = core::random_key();
  const std::string_view bytes(reinterpret_cast<const char*>(&random), sizeof random);
  return local_place_of(folder() + "/" + digits_of(bytes) + std::string(kEnding));
}

}  // namespace weir::cli
