#include "redis/overrides_script.hpp"

#include "redis/script.hpp"
#include "resp/writer.hpp"

namespace weir::inline v0_1::redis {

extern const char* const kOverridesScript;  // overrides.lua, put into a string by CMake

std::string_view overrides_script() { return kOverridesScript; }

std::string overrides_key(std::string_view prefix) { return std::string(prefix) + "{weir}:overrides"; }

std::string overrides_command(std::string_view key, std::span<const std::string> words) {
  static const std::string kSha = sha_of(overrides_script());
  std::string command;
  resp::Writer to(command);
  to.array(4 + words.size());
  to.bulk("EVALSHA");
  to.bulk(kSha);
  to.bulk("1");
  to.bulk(key);
  for (const std::string& each : words) to.bulk(each);
  return command;
}

}  // namespace weir::redis
