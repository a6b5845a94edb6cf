#include "xds/subscription.hpp"

#include <algorithm>

#include "core/printable.hpp"
#include "core/sha256.hpp"
#include "xds/rate_limit_config.hpp"

namespace weir::inline v0_1::xds {
namespace {

constexpr std::size_t kMostRefusal = 4096;  // bytes of a reason
// More help nobody, and a resource may be two bytes.
constexpr std::size_t kMostErrors = 1000;

// As any program that knows the type reads it: its name is what follows the last slash.
bool is_rate_limit_config(std::string_view type_url) {
  constexpr auto kNameOf = [](std::string_view url) { return url.substr(url.rfind('/') + 1); };
  return type_url.find('/') != std::string_view::npos && kNameOf(type_url) == kNameOf(kRateLimitConfig);
}

std::string other_type(std::string_view type_url) {
  return "the type is '" + core::printable(type_url) + "' and not " + std::string(kRateLimitConfig);
}

// What was sent, but for its version and nonce. A server keeps resources in no order of its own, and sends
// the same ones in another.
std::string digest_of(const DiscoveryResponse& response) {
  const auto digest = [](std::string_view bytes) {
    std::string hex;
    core::append_hex(core::sha256(bytes), hex);
    return hex;
  };
  std::vector<std::string> resources;
  for (const Resource& each : response.resources)
    resources.push_back("\n" + digest(each.type_url) + digest(each.value));
  std::sort(resources.begin(), resources.end());
  std::string text = digest(response.type_url);
  for (const std::string& each : resources) text += each;
  return text;
}

std::string joined(const std::vector<std::string>& errors) {
  std::string all;
  for (const std::string& each : errors) {
    if (all.size() + each.size() > kMostRefusal)
      return all.empty() ? core::printable(each.substr(0, kMostRefusal)) : all;
    all += (all.empty() ? "" : "; ") + each;
  }
  return all;
}

void read_resource(const Resource& resource, std::size_t number, Update& into) {
  const std::string place = "resource " + std::to_string(number) + ": ";
  if (!is_rate_limit_config(resource.type_url)) {
    into.errors.push_back(place + other_type(resource.type_url));
    return;
  }
  auto domain = read_rate_limit_config(resource.value);
  if (!domain) {
    into.errors.push_back(place + domain.error());
    return;
  }
  if (domain->file.empty()) domain->file = "resource " + std::to_string(number);
  into.domains.push_back(*std::move(domain));
}

}  // namespace

std::string Subscription::begin() {
  last_.reset();
  nonce_.clear();
  due_.reset();
  delay_ = std::chrono::seconds{0};
  heard_ = false;
  return write_request(node_, {.type_url = std::string(kRateLimitConfig)});
}

bool Subscription::take(std::string_view message, std::chrono::nanoseconds now) {
  const auto response = read_response(message);
  if (!response) return false;
  heard_ = true;
  std::string text = digest_of(*response);
  refusal_ = judge(*response, text);
  nonce_ = response->nonce;
  const bool again = last_ && (last_->text == text || (last_->version == response->version &&
                                                       !last_->refusal.empty() && !refusal_.empty()));
  delay_ = again ? std::clamp(delay_ * 2, std::chrono::seconds{1}, kMostDelay) : std::chrono::seconds{0};
  due_ = now + delay_;
  last_ = {std::move(text), response->version, refusal_};
  return true;
}

// Empty: it is in force.
std::string Subscription::judge(const DiscoveryResponse& response, const std::string& text) {
  if (good_ && good_->text == text && good_->version == response.version) return {};
  if (bad_ && bad_->text == text) return bad_->refusal;
  Update update{.version = response.version, .text = text};
  if (response.type_url != kRateLimitConfig) {
    update.errors.push_back(other_type(response.type_url));
  } else {
    std::size_t number = 0;
    for (const Resource& each : response.resources) {
      if (update.errors.size() < kMostErrors) read_resource(each, ++number, update);
    }
  }
  std::string refusal = joined(use_(std::move(update)));
  (refusal.empty() ? good_ : bad_) = {text, response.version, refusal};
  if (refusal.empty()) accepted_ = response.version;
  return refusal;
}

std::optional<std::string> Subscription::answer(std::chrono::nanoseconds now) {
  if (!due_ || now < *due_) return std::nullopt;
  due_.reset();
  return write_request(node_, {.type_url = std::string(kRateLimitConfig),
                               .version = accepted_,
                               .nonce = nonce_,
                               .refusal = refusal_});
}

}  // namespace weir::xds
