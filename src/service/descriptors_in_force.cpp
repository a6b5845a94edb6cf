#include "service/descriptors_in_force.hpp"

#include "core/plural.hpp"
#include "limits/envoy_file.hpp"

namespace weir::inline v0_1::service {

DescriptorsInForce::Compiled DescriptorsInForce::compile(const std::shared_ptr<const void>& before) const {
  Compiled compiled;
  const auto looks = [&compiled](const std::string& at) { compiled.stamps.emplace(at, stamp_of(at)); };
  const limits::OpenFile open = [this](const std::string& at,
                                       std::size_t most) -> tl::expected<std::string, std::string> {
    if (given_up().load(std::memory_order_relaxed)) return tl::unexpected(std::string(kGivenUp));
    return options_.open(at, most);
  };
  limits::EnvoyFolder folder =
      limits::read_envoy_folder(path(), {.compiling = options_.setting, .open = open, .looks = looks});
  for (const limits::Finding& each : folder.findings)
    (each.severity == limits::Severity::error ? compiled.errors : compiled.warnings)
        .push_back(limits::envoy_text(each));
  if (!folder.set) return compiled;
  if (folder.files == 0) {
    const std::string none = path() + ": there is no file";
    const bool had_some = before && static_cast<const limits::Descriptors*>(before.get())->domains() > 0;
    if (had_some) {
      compiled.errors.push_back(none);
      return compiled;
    }
    compiled.warnings.push_back(none + ", so no domain is known and nothing is limited");
  }
  compiled.text = std::move(folder.text);
  compiled.counts = counts_of(*folder.set);
  compiled.made = std::move(folder.set);
  return compiled;
}

std::string DescriptorsInForce::counts_of(const limits::Descriptors& made) {
  return core::counted(made.domains(), "domain") + ", " + core::counted(made.limits(), "limit");
}

void DescriptorsInForce::add_rows(Metrics& metrics, const std::string& source) const {
  FilesInForce::add_rows(metrics, Section::rls, source);
  metrics.gauge(Section::rls, "rls_domains", "", "Domains in force", [this] {
    const auto made = current();
    return made ? made->domains() : 0;
  });
  metrics.gauge(Section::rls, "rls_limits", "", "Limits in force", [this] {
    const auto made = current();
    return made ? made->limits() : 0;
  });
  metrics.add([this, source](Exposition& to) { write_families(to, "weir_rls_config", source); });
}

}  // namespace weir::service
