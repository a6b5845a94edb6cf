// Formats whose lines are words in a fixed order, some of them in quotes or brackets: AWS load balancers,
// Envoy and Istio, Squid.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "logs/splitter.hpp"

namespace weir::inline v0_1::logs {

bool fits_alb(std::string_view line);
bool fits_elb(std::string_view line);
bool fits_envoy(std::string_view line);
bool fits_istio(std::string_view line);
bool fits_squid(std::string_view line);

std::unique_ptr<Splitter> make_alb(const std::vector<Slot>& slots, std::string_view line);
std::unique_ptr<Splitter> make_elb(const std::vector<Slot>& slots, std::string_view line);
std::unique_ptr<Splitter> make_envoy(const std::vector<Slot>& slots, std::string_view line);
std::unique_ptr<Splitter> make_istio(const std::vector<Slot>& slots, std::string_view line);
std::unique_ptr<Splitter> make_squid(const std::vector<Slot>& slots, std::string_view line);

}  // namespace weir::logs
