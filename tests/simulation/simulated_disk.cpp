#include "simulation/simulated_disk.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weir::inline v0_1::simulation {

void SimulatedDisk::put(const std::string& path, std::string bytes) {
  const auto file = std::make_shared<File>();
  file->bytes = file->synced = std::move(bytes);
  names_[path] = synced_names_[path] = file;
}

void SimulatedDisk::lose_power() {
  close_all();
  Names all = names_;
  all.insert(synced_names_.begin(), synced_names_.end());
  for (const auto& [path, file] : all) {
    const Names& what = chance_.one_in(2) ? names_ : synced_names_;
    const auto found = what.find(path);
    if (found == what.end()) {
      synced_names_.erase(path);
    } else {
      synced_names_[path] = found->second;
    }
  }
  names_ = synced_names_;
  for (const auto& [path, file] : names_) {
    if (file->bytes == file->synced) continue;
    file->bytes = chance_.one_in(2) ? file->synced : file->bytes.substr(0, chance_.below(file->bytes.size()));
    file->synced = file->bytes;
  }
}

int SimulatedDisk::create(std::string& path) {
  for (std::size_t i = path.size() - 6; i < path.size(); ++i)
    path[i] = static_cast<char>('a' + chance_.below(26));
  const auto file = names_[path] = std::make_shared<File>();
  open_[next_] = {file};
  return next_++;
}

tl::expected<int, std::string> SimulatedDisk::open(const std::string& path) {
  const auto found = names_.find(path);
  if (found == names_.end()) return tl::unexpected(std::string(std::strerror(ENOENT)));
  open_[next_] = {found->second};
  return next_++;
}

void SimulatedDisk::take_time() {
  if (slow) pass_(chance_.one_in(20) ? chance_.between(50ms, 2s) : chance_.between(100us, 20ms));
}

std::ptrdiff_t SimulatedDisk::write(int file, const char* data, std::size_t size) {
  take_time();
  const auto found = open_.find(file);
  if (found == open_.end()) return errno = EBADF, -1;
  if (!full) room_ = chance_.below(2000);
  const std::size_t takes = full ? std::min(size, room_) : size;
  if (full) room_ -= takes;
  if (takes == 0 && size > 0) return errno = ENOSPC, -1;
  found->second.file->bytes.append(data, takes);
  return static_cast<std::ptrdiff_t>(takes);
}

std::ptrdiff_t SimulatedDisk::read(int file, char* data, std::size_t size) {
  take_time();
  const auto found = open_.find(file);
  if (found == open_.end()) return errno = EBADF, -1;
  if (broken) return errno = EIO, -1;
  Open& its = found->second;
  const std::size_t gives = std::min(size, its.file->bytes.size() - std::min(its.at, its.file->bytes.size()));
  std::memcpy(data, its.file->bytes.data() + its.at, gives);
  its.at += gives;
  return static_cast<std::ptrdiff_t>(gives);
}

bool SimulatedDisk::seek(int file, std::uint64_t from_its_begin) {
  open_.at(file).at = from_its_begin;
  return true;
}

std::int64_t SimulatedDisk::size(int file) {
  return static_cast<std::int64_t>(open_.at(file).file->bytes.size());
}

bool SimulatedDisk::sync(int file) {
  take_time();
  const auto found = open_.find(file);
  if (found == open_.end()) return errno = EBADF, false;
  found->second.file->synced = found->second.file->bytes;
  return true;
}

bool SimulatedDisk::sync_folder_of(const std::string&) {
  take_time();
  synced_names_ = names_;
  return true;
}

bool SimulatedDisk::rename(const std::string& from, const std::string& to) {
  const auto found = names_.find(from);
  if (found == names_.end()) return errno = ENOENT, false;
  names_[to] = found->second;
  names_.erase(from);
  return true;
}

tl::expected<std::string, std::string> SimulatedDisk::read_whole(const std::string& path, std::size_t most) {
  const auto file = open(path);
  if (!file) return tl::unexpected(file.error());
  std::string bytes(std::min(most + 1, static_cast<std::size_t>(size(*file))), '\0');
  const std::ptrdiff_t got = read(*file, bytes.data(), bytes.size());
  close(*file);
  if (got < 0) return tl::unexpected(std::string(std::strerror(errno)));
  return bytes;
}

}  // namespace weir::simulation
