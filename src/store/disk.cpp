#include "store/disk.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "core/regular_file.hpp"

namespace weir::inline v0_1::store {

int Disk::create(std::string& path) { return mkostemp(path.data(), O_CLOEXEC); }

tl::expected<int, std::string> Disk::open(const std::string& path) { return core::open_regular_file(path); }

tl::expected<int, std::string> Disk::open_to_append(const std::string& path) {
  return core::open_regular_file(path, O_RDWR | O_APPEND);
}

void Disk::close(int file) { ::close(file); }

std::ptrdiff_t Disk::write(int file, const char* data, std::size_t size) { return ::write(file, data, size); }

std::ptrdiff_t Disk::read(int file, char* data, std::size_t size) { return ::read(file, data, size); }

bool Disk::seek(int file, std::uint64_t from_its_begin) {
  return lseek(file, static_cast<off_t>(from_its_begin), SEEK_SET) >= 0;
}

std::int64_t Disk::size(int file) {
  struct stat about{};
  return fstat(file, &about) == 0 ? about.st_size : -1;
}

bool Disk::cut(int file, std::uint64_t size) { return ftruncate(file, static_cast<off_t>(size)) == 0; }

bool Disk::sync(int file) { return fsync(file) == 0; }

bool Disk::sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return false;
  const bool done = fsync(file) == 0;
  ::close(file);
  return done;
}

bool Disk::rename(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str()) == 0;
}

void Disk::remove(const std::string& path) { unlink(path.c_str()); }

Disk& system_disk() {
  static Disk disk;
  return disk;
}

}  // namespace weir::store
