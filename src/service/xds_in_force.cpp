#include "service/xds_in_force.hpp"

#include "core/printable.hpp"
#include "limits/envoy_file.hpp"

namespace weir::inline v0_1::service {

std::vector<std::string> XdsInForce::take(Sent sent) {
  const std::string version = core::printable(sent.version);
  {
    const detail::Held lock(mutex_);
    sent_ = std::move(sent);
  }
  const bool had_some = current() != nullptr;
  std::vector<std::string> errors = reload();
  if (errors.empty()) {
    const detail::Held lock(mutex_);
    version_ = version;
  } else if (!had_some) {
    for (const std::string& each : errors) options().log(true, each);
  }
  if (!errors.empty())
    options().log(true, "rls-xds: version '" + version + "' of '" + path() + "' is refused");
  return errors;
}

XdsInForce::Compiled XdsInForce::compile(const std::shared_ptr<const void>&) const {
  Sent sent;
  {
    const detail::Held lock(mutex_);
    sent = std::exchange(sent_, {});
  }
  Compiled compiled;
  compiled.errors = std::move(sent.errors);
  if (!compiled.errors.empty()) return compiled;
  const bool none = sent.domains.empty();
  auto made = limits::Descriptors::make(std::move(sent.domains), options().setting);
  if (!made) {
    for (const limits::Finding& each : made.error()) compiled.errors.push_back(limits::envoy_text(each));
    return compiled;
  }
  if (none)
    compiled.warnings.push_back("rls-xds: '" + path() +
                                "' has no rate limits, so no domain is known and nothing is limited");
  compiled.counts = "version '" + core::printable(sent.version) + "', " + counts_of(**made);
  compiled.text = std::move(sent.text);
  compiled.made = *std::move(made);
  return compiled;
}

void XdsInForce::note(Link link) {
  if (link_.exchange(link) != link && link == Link::up) connects_.fetch_add(1, std::memory_order_relaxed);
}

void XdsInForce::note_failure(const std::string& why) {
  note(Link::down);
  failures_.fetch_add(1, std::memory_order_relaxed);
  const detail::Held lock(mutex_);
  why_ = why;
}

void XdsInForce::add_rows(Metrics& metrics) const {
  DescriptorsInForce::add_rows(metrics, "xDS server of Envoy's rate limits");
  const auto locked = [this](auto read) {
    return [this, read] {
      const detail::Held lock(mutex_);
      return read();
    };
  };
  metrics.text(Section::rls, "rls_xds_version", "The version in force, as the xDS server calls it",
               locked([this]() WEIR_REQUIRES(mutex_) { return version_; }));
  metrics.text(Section::rls, "rls_xds_state", "The connection to the xDS server: down, connecting or up",
               [this] {
                 const Link link = link_;
                 return link == Link::up ? "up" : link == Link::down ? "down" : "connecting";
               });
  metrics.gauge(Section::rls, "rls_xds_up", "weir_rls_xds_up", "Whether the xDS server is connected",
                [this] { return link_ == Link::up; });
  metrics.counter(Section::rls, "rls_xds_connects", "weir_rls_xds_connects_total",
                  "Connections to the xDS server", connects_);
  metrics.counter(Section::rls, "rls_xds_failures", "weir_rls_xds_failures_total",
                  "Connections to the xDS server that failed or ended", failures_);
  metrics.text(Section::rls, "rls_xds_last_failure", "Why the last of them did",
               locked([this]() WEIR_REQUIRES(mutex_) { return why_; }));
}

}  // namespace weir::service
