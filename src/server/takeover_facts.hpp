// What a server with these settings says of itself in a takeover, and its settings when it has been given the
// listeners of another.
//
// Plain functions. They throw std::runtime_error as net::resolve() does.
#pragma once

#include <string>
#include <vector>

#include "net/owned_descriptor.hpp"
#include "server/settings.hpp"
#include "server/takeover_message.hpp"

namespace weir::inline v0_1::server {

// Without their addresses, and in the order in which they are opened.
std::vector<TakeoverListener> wanted_listeners(const Settings& settings);
TakeoverFacts facts_of(const Settings& settings, std::vector<std::string> parts);

// The listeners are those that wanted_listeners() has told, with their addresses and descriptors.
Settings with_listeners(Settings settings, const std::vector<TakeoverListener>& listeners,
                        std::vector<net::OwnedDescriptor> descriptors);

}  // namespace weir::server
