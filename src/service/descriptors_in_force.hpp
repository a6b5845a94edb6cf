// The domains of Envoy's rate limit service that a server goes by: a folder of envoyproxy/ratelimit's files,
// read, compiled, and read again. What is in force is swapped as one pointer.
//
// A file that has gone takes its domain along while others are there. A folder that has no file any more is
// not believed: what was in force stays.
//
// Any thread, as FilesInForce says. Not for: deciding (limits/descriptors.hpp).
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "limits/envoy_folder.hpp"
#include "service/files_in_force.hpp"

namespace weir::inline v0_1::service {

class DescriptorsInForce : public FilesInForce {
 public:
  using Made = limits::Descriptors;
  struct Options {
    std::string path;
    limits::DescriptorOptions setting{};
    core::ClockFunction wall_clock;
    limits::OpenFile open = limits::read_from_disk;
    Log log = [](bool, const std::string&) {};
  };

  // Nothing is in force before the first reload.
  explicit DescriptorsInForce(Options options) : DescriptorsInForce("rls-config", std::move(options)) {}
  virtual ~DescriptorsInForce() = default;

  std::shared_ptr<const limits::Descriptors> current() const {
    return std::static_pointer_cast<const limits::Descriptors>(in_force());
  }

  virtual void add_rows(Metrics& metrics) const { add_rows(metrics, "folder of Envoy's rate limits"); }

 protected:
  DescriptorsInForce(std::string what, Options options)
      : FilesInForce(std::move(what), options.path, options.wall_clock, options.log),
        options_(std::move(options)) {}

  Compiled compile(const std::shared_ptr<const void>& before) const override;
  void add_rows(Metrics& metrics, const std::string& source) const;
  static std::string counts_of(const limits::Descriptors& made);
  const Options& options() const { return options_; }

 private:
  const Options options_;
};

using DescriptorsView = ViewOf<DescriptorsInForce>;

}  // namespace weir::service
