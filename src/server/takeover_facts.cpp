#include "server/takeover_facts.hpp"

#include <cstddef>
#include <utility>

#include "net/listener.hpp"
#include "server/listeners.hpp"
#include "store/snapshot.hpp"
#include "weir/version.hpp"

namespace weir::inline v0_1::server {
namespace {

std::string text_of(const std::string& flag, const HostPort& wanted) {
  return net::to_text(net::resolve(flag, wanted.host, wanted.port));
}

}  // namespace

std::vector<TakeoverListener> wanted_listeners(const Settings& settings) {
  std::vector<TakeoverListener> all;
  const bool tls = !settings.tls_cert.empty();
  const auto add = [&](const std::string& flag, const ListenAddress& wanted, bool may_be_tls) {
    if (wanted.unix_socket.empty()) {
      all.push_back(
          {.flag = flag, .wanted = text_of(flag, wanted.tcp), .address = {}, .tls = tls && may_be_tls});
    } else {
      all.push_back({.flag = flag, .wanted = wanted.unix_socket, .address = {}});
    }
  };
  for (const ListenAddress& each : settings.resp) add("resp", each, true);
  if (!settings.unix_socket.empty())
    add("unix-socket", {.tcp = {}, .unix_socket = settings.unix_socket}, false);
  for (const ListenAddress& each : settings.http) add("http", each, true);
  for (const ListenAddress& each : settings.rls) add("rls", each, true);
  for (const ListenAddress& each : settings.admin) add("admin", each, false);
  return all;
}

TakeoverFacts facts_of(const Settings& settings, std::vector<std::string> parts) {
  return {.version = WEIR_VERSION,
          .snapshot_format = store::kSnapshotFormat,
          .memory = settings.memory,
          .store = settings.store_text,
          .listeners = wanted_listeners(settings),
          .parts = std::move(parts)};
}

Settings with_listeners(Settings settings, const std::vector<TakeoverListener>& listeners,
                        std::vector<net::OwnedDescriptor> descriptors) {
  std::size_t at = 0;
  const auto give = [&](const TakeoverListener& listener) {
    settings.given.push_back({listener.flag, listener.wanted, listener.address, descriptors[at++].release()});
  };
  // What anybody may there is this process' to say.
  const auto take_all = [&](std::vector<ListenAddress>& list) {
    for (ListenAddress& each : list) {
      const ListenAddress its = read_address(listeners[at].address);
      each.tcp = its.tcp;
      each.unix_socket = its.unix_socket;
      give(listeners[at]);
    }
  };
  take_all(settings.resp);
  if (!settings.unix_socket.empty()) give(listeners[at]);
  for (auto* list : {&settings.http, &settings.rls, &settings.admin}) take_all(*list);
  return settings;
}

}  // namespace weir::server
