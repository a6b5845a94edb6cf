#include "redis/greeting.hpp"

#include <utility>

#include "core/printable.hpp"
#include "redis/setup.hpp"

namespace weir::inline v0_1::redis {
namespace {

using Kind = SentCommand::Kind;

constexpr std::size_t kLongestShown = 200;
// Before AUTH Redis takes no longer word, and calls it a protocol error where it should say that a password
// is missing. So it is asked for something else first.
constexpr std::size_t kLongestBeforeAuth = std::size_t{16} << 10;

}  // namespace

void Greeting::say(Node& node, std::chrono::nanoseconds now) const {
  using Words = std::vector<std::string_view>;
  const std::string& user = node.sentinel ? endpoint.sentinel_user : endpoint.user;
  const std::string& password = node.sentinel ? endpoint.sentinel_password : endpoint.password;
  if (!password.empty())
    node.ask(Kind::auth, user.empty() ? Words{"AUTH", password} : Words{"AUTH", user, password}, now);
  if (node.sentinel) return node.ask(Kind::last_greeting, Words{"PING"}, now);
  if (password.empty() && scripts.front().size() > kLongestBeforeAuth)
    node.ask(Kind::database, Words{"PING"}, now);
  const std::string database = std::to_string(endpoint.database);
  if (endpoint.database != 0) node.ask(Kind::database, Words{"SELECT", database}, now);
  // A node that is still loading, or in a slow script, says so in the answer to this one. A replica does not:
  // that shows in the answer to the first call.
  node.ask(Kind::last_greeting, Words{"SCRIPT", "LOAD", scripts.front()}, now);
  node.ask(Kind::eviction_policy, Setup::kQuestion, now);
  if (endpoint.prefix.empty()) node.ask(Kind::modules, Words{"MODULE", "LIST"}, now);
}

// The arguments that Redis repeats of a command that it does not know may be keys or a password.
std::string Greeting::shown(std::string_view why) const {
  std::string text(why.substr(0, why.find(", with args beginning with")));
  std::string_view longer = endpoint.password;
  std::string_view shorter = endpoint.sentinel_password;
  if (longer.size() < shorter.size()) std::swap(longer, shorter);
  // The longer first: were the other cut out of it, the rest of it would no longer be found.
  for (const std::string_view password : {longer, shorter}) {
    if (password.empty()) continue;
    for (std::size_t at = 0; (at = text.find(password, at)) != std::string::npos; at += 3)
      text.replace(at, password.size(), "***");
  }
  return core::printable(std::string_view(text).substr(0, kLongestShown));
}

}  // namespace weir::redis
