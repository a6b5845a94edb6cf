#include "logs/log_copies.hpp"

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "logs/input.hpp"

namespace weir::inline v0_1::logs {
namespace {

constexpr std::size_t kLinesCompared = 1000;  // at each end
constexpr std::size_t kFewestLines = 10;

// FNV-1a: however the bytes come in pieces, it is the same.
constexpr std::uint64_t kEmptyHash = 14'695'981'039'346'656'037U;
void add_to(std::uint64_t& hash, unsigned char byte) { hash = (hash ^ byte) * 1'099'511'628'211U; }

// What tells a file by the lines at its two ends.
class LineEnds {
 public:
  // Only up to its first lines, unless it is asked for whole.
  LineEnds(const std::string& path, const std::atomic<bool>& stop, bool whole) {
    Input input(path, stop);
    std::string piece(std::size_t{64} << 10, '\0');
    for (std::size_t got = 1; got > 0 && (whole || lines_ < kLinesCompared);) {
      got = input.read(piece.data(), piece.size());
      for (const char c : std::string_view(piece).substr(0, got)) take(c);
    }
  }

  bool enough() const { return lines_ >= kFewestLines; }
  std::uint64_t first() const { return first_; }

  bool operator==(const LineEnds& other) const {
    return lines_ == other.lines_ && first_ == other.first_ && last_ == other.last_;
  }

 private:
  void take(char c) {
    add_to(line_, static_cast<unsigned char>(c));
    if (lines_ < kLinesCompared) add_to(first_, static_cast<unsigned char>(c));
    if (c != '\n') return;
    last_[lines_ % kLinesCompared] = line_;
    line_ = kEmptyHash;
    ++lines_;
  }

  std::size_t lines_ = 0;
  std::uint64_t line_ = kEmptyHash;  // so far
  std::uint64_t first_ = kEmptyHash;
  std::array<std::uint64_t, kLinesCompared> last_{};
};

// Nothing when there is none, or too little: the reader will say so.
std::optional<LineEnds> ends_of(const std::string& path, const std::atomic<bool>& stop, bool whole) {
  struct stat status{};
  if (path == "-" || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  try {
    const LineEnds ends(path, stop, whole);
    if (ends.enough()) return ends;
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

void refuse_copies(const std::vector<std::string>& files, const std::atomic<bool>& stop) {
  if (files.size() < 2) return;
  std::map<std::uint64_t, std::vector<std::string>> alike;  // by their first lines
  for (const std::string& path : files) {
    if (const auto ends = ends_of(path, stop, false)) alike[ends->first()].push_back(path);
  }
  for (const auto& [first, paths] : alike) {
    if (paths.size() < 2) continue;
    std::vector<std::pair<LineEnds, std::string>> seen;
    for (const std::string& path : paths) {
      const auto ends = ends_of(path, stop, true);
      if (!ends) continue;
      for (const auto& [other, name] : seen) {
        if (*ends == other)
          throw std::runtime_error(path + ": begins and ends with the same lines as " + name +
                                   ", so its requests would count twice");
      }
      seen.emplace_back(*ends, path);
    }
  }
}

}  // namespace weir::logs
