// The disk of one machine, in memory: what is written is there at once, and stays without power only when it
// was synced.
//
// It is as slow, as full and as broken as it is told to be. While it is slow the world goes on, and what
// called it may be killed meanwhile: then it throws Killed, through whatever was writing or reading.
//
// A file that was not synced has, without power, the beginning of what was written, or what it had before.
// Names that were not synced are, each by chance, the old ones or the new ones.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "simulation/chance.hpp"
#include "store/disk.hpp"

namespace weir::inline v0_1::simulation {

class SimulatedDisk final : public store::Disk {
 public:
  struct Killed {};

  // `pass` lets that much time pass, and throws Killed when the process has gone by then.
  SimulatedDisk(std::uint64_t seed, std::function<void(nanoseconds)> pass)
      : chance_(seed), pass_(std::move(pass)) {}

  bool slow = false;
  bool broken = false;  // nothing can be read
  bool full = false;    // a little more can be written

  // By somebody else than weir, who syncs.
  void put(const std::string& path, std::string bytes);
  bool has(const std::string& path) const { return names_.contains(path); }
  const std::string& bytes_of(const std::string& path) const { return names_.at(path)->bytes; }
  // What the process had open is closed; and the machine has no power.
  void close_all() { open_.clear(); }
  void lose_power();

  int create(std::string& path) override;
  tl::expected<int, std::string> open(const std::string& path) override;
  void close(int file) override { open_.erase(file); }
  std::ptrdiff_t write(int file, const char* data, std::size_t size) override;
  std::ptrdiff_t read(int file, char* data, std::size_t size) override;
  bool seek(int file, std::uint64_t from_its_begin) override;
  std::int64_t size(int file) override;
  bool sync(int file) override;
  bool sync_folder_of(const std::string& path) override;
  bool rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override { names_.erase(path); }

  // A file whole, as a limits file is read.
  tl::expected<std::string, std::string> read_whole(const std::string& path, std::size_t most);

 private:
  struct File {
    std::string bytes{};
    std::string synced{};
  };
  struct Open {
    std::shared_ptr<File> file;
    std::size_t at = 0;
  };
  using Names = std::map<std::string, std::shared_ptr<File>>;

  void take_time();

  Chance chance_;
  std::function<void(nanoseconds)> pass_;
  Names names_;
  Names synced_names_;
  std::map<int, Open> open_;
  int next_ = 1;
  std::size_t room_ = 0;  // while it is full
};

}  // namespace weir::simulation
