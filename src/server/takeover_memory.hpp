// Bytes that go from one process to another by a descriptor: files of no folder.
//
// Throw std::system_error. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "net/owned_descriptor.hpp"
#include "store/disk.hpp"

namespace weir::inline v0_1::server {

net::OwnedDescriptor in_memory(std::string_view bytes);
std::string read_all(const net::OwnedDescriptor& memory);

// A disk of one file, which has any path: create() makes it, open() finds it.
class MemoryDisk final : public store::Disk {
 public:
  MemoryDisk() = default;
  explicit MemoryDisk(net::OwnedDescriptor file) : file_(std::move(file)) {}

  int descriptor() const { return file_.get(); }

  int create(std::string& path) override;
  tl::expected<int, std::string> open(const std::string& path) override;
  void close(int) override {}
  bool sync(int) override { return true; }
  bool sync_folder_of(const std::string&) override { return true; }
  bool rename(const std::string&, const std::string&) override { return true; }
  void remove(const std::string&) override {}

 private:
  net::OwnedDescriptor file_;
};

}  // namespace weir::server
