// The calls of the system by which snapshots and overrides are written and read; a test can be another disk.
//
// Any thread. What fails leaves errno as the system does. Not for: which calls in which order keep a file
// whole (snapshot.cpp, steering/file_keeper.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace weir::inline v0_1::store {

// What a file is called while it is written, before it is moved into place: its name, this, and six bytes.
constexpr std::string_view kTemporary = ".tmp.";

class Disk {
 public:
  virtual ~Disk() = default;
  // A new file of mode 0600, open; the last six bytes of its path become its own. Below 0: there is none.
  virtual int create(std::string& path);
  // To read from; regular files alone.
  virtual tl::expected<int, std::string> open(const std::string& path);
  // The same, and each write goes to its end.
  virtual tl::expected<int, std::string> open_to_append(const std::string& path);
  virtual void close(int file);

  // How many bytes were taken or given, or -1.
  virtual std::ptrdiff_t write(int file, const char* data, std::size_t size);
  virtual std::ptrdiff_t read(int file, char* data, std::size_t size);
  virtual bool seek(int file, std::uint64_t from_its_begin);
  virtual std::int64_t size(int file);             // -1: it cannot be told
  virtual bool cut(int file, std::uint64_t size);  // what is beyond is gone

  // Whether it will be there when the machine has lost its power: the bytes of a file, and the names of a
  // folder, that of the path.
  virtual bool sync(int file);
  virtual bool sync_folder_of(const std::string& path);
  virtual bool rename(const std::string& from, const std::string& to);
  virtual void remove(const std::string& path);
};

// That of this machine.
Disk& system_disk();

}  // namespace weir::store
