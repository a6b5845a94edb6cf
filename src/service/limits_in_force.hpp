// The limits file that a server goes by: read, compiled, and read again. The set in force is swapped as one
// pointer, so that each request is decided by one set whole; an invalid file changes nothing.
//
// Any thread, as FilesInForce says. Not for: deciding (limits/set.hpp).
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "limits/read.hpp"
#include "limits/set.hpp"
#include "service/files_in_force.hpp"

namespace weir::inline v0_1::service {

class LimitsInForce final : public FilesInForce {
 public:
  using Made = limits::Set;
  struct Options {
    std::string path;
    limits::SetOptions setting{};
    bool shared = false;  // there is a store that may fail
    core::ClockFunction wall_clock;
    limits::OpenFile open = limits::read_from_disk;
    Log log = [](bool, const std::string&) {};
  };

  // Nothing is in force before the first reload.
  explicit LimitsInForce(Options options)
      : FilesInForce("limits", options.path, options.wall_clock, options.log), options_(std::move(options)) {}

  std::shared_ptr<const limits::Set> current() const {
    return std::static_pointer_cast<const limits::Set>(in_force());
  }

  void add_rows(Metrics& metrics) const;

 private:
  Compiled compile(const std::shared_ptr<const void>& before) const override;
  void warn(const limits::File& file, Compiled& compiled) const;

  const Options options_;
};

using LimitsView = ViewOf<LimitsInForce>;

}  // namespace weir::service
