#include "server/certificates.hpp"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>

#include "net/certificates.hpp"
#include "redis/streams.hpp"

namespace weir::inline v0_1::server {
namespace {

using net::Certificate;
using WallTime = std::chrono::system_clock::time_point;

std::string utc(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

bool valid(const Certificate& each, WallTime now) { return each.from <= now && now <= each.until; }

void warn(const std::string& flag, const std::string& file, const Certificate& each, WallTime now) {
  spdlog::warn("{}: '{}': the certificate of {} {} {}", flag, file, each.subject,
               now > each.until ? "expired at" : "is not valid before",
               utc(now > each.until ? each.until : each.from));
}

}  // namespace

std::optional<boost::asio::ssl::context> store_tls(const Settings& settings) {
  if (!settings.store) return std::nullopt;
  return redis::tls_for(*settings.store,
                        {settings.store_tls_ca, settings.store_tls_cert, settings.store_tls_key},
                        settings.store_tls_name);
}

std::string stamps_of_certificates(const Settings& settings) {
  std::string stamps;
  for (const std::string& file : {settings.tls_cert, settings.tls_key, settings.tls_ca, settings.store_tls_ca,
                                  settings.store_tls_cert, settings.store_tls_key}) {
    struct stat found{};
    if (stat(file.c_str(), &found) == 0)
      for (const auto number :
           {static_cast<std::int64_t>(found.st_ino), static_cast<std::int64_t>(found.st_size),
            static_cast<std::int64_t>(found.st_mtim.tv_sec),
            static_cast<std::int64_t>(found.st_mtim.tv_nsec)})
        stamps += std::to_string(number) + ",";
    stamps += ";";
  }
  return stamps;
}

void warn_of_dates(const Settings& settings) {
  const WallTime now = std::chrono::system_clock::now();
  const auto ours = [&](const std::string& flag, const std::string& file) {
    for (const Certificate& each : net::certificates(file)) {
      if (!valid(each, now)) warn(flag, file, each, now);
    }
  };
  // A bundle of signers commonly has some that are over.
  const auto signers = [&](const std::string& flag, const std::string& file) {
    const auto all = net::certificates(file);
    if (std::any_of(all.begin(), all.end(), [&](const Certificate& each) { return valid(each, now); }))
      return;
    for (const Certificate& each : all) warn(flag, file, each, now);
  };
  ours("tls-cert", settings.tls_cert);
  signers("tls-ca", settings.tls_ca);
  ours("store-tls-cert", settings.store_tls_cert);
  signers("store-tls-ca", settings.store_tls_ca);
}

}  // namespace weir::server
