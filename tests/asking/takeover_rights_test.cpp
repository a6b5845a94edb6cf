// What a connection may after a takeover: every command x what it has shown x what the next process asks for.
// The next one's listener, password and commands say it, and nothing of what it was allowed before.
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "resp/commands.hpp"
#include "resp/conversation.hpp"
#include "store/embedded_store.hpp"

namespace weir::inline v0_1::takeover_rights_test {
namespace {

using namespace std::chrono_literals;
using steering::Role;

// What a process asks of its clients, and what anybody may at its listener.
struct Asks {
  const char* name;
  const char* password;
  Role most;
};
constexpr std::array kAsks = {Asks{"nothing", "", Role::admin},
                              Asks{"nothing, to decide", "", Role::decide},
                              Asks{"nothing, to operate", "", Role::operate},
                              Asks{"a password", "secret", Role::admin},
                              Asks{"a password, to decide", "secret", Role::decide},
                              Asks{"another password", "other", Role::admin}};

struct Process {
  explicit Process(const Asks& asks)
      : service({.user = "app", .password = asks.password, .clock = [this] { return now; }},
                embedded.table()),
        most(asks.most) {}

  std::chrono::nanoseconds now = 1000s;
  store::EmbeddedStore embedded{1_MiB, WhenFull::deny, {1, 2}};
  service::Service service;
  resp::RespLoop shared{service, embedded};
  Role most;
};

struct Talk {
  explicit Talk(Process& with)
      : its(with), resp(with.service, with.shared, {7, "127.0.0.1"}, [] {}, nullptr, with.most) {}
  std::string say(const std::string& line) {
    std::string out;
    resp.feed(line + "\r\n", out, {its.now, its.now});
    return out;
  }

  Process& its;
  resp::Conversation resp;
};

Role role_after(const Asks& before, bool shown, const Asks& after) {
  const std::string_view password = after.password;
  const bool known = password.empty() || (shown && password == before.password);
  return known ? after.most : Role::none;
}

TEST(TakeoverRights, of_every_command_are_those_of_the_next_process) {
  std::size_t asked = 0;
  for (const Asks& first : kAsks) {
    for (const Asks& next : kAsks) {
      for (const bool shown : {false, true}) {
        if (shown && *first.password == '\0') continue;
        Process before(first);
        Process after(next);
        Talk talk(before);
        if (shown) {
          ASSERT_EQ(talk.say("AUTH app " + std::string(first.password)), "+OK\r\n");
        }
        const std::string state = talk.resp.hand_over().value();
        const Role role = role_after(first, shown, next);
        for (const resp::Command& command : resp::listed_commands()) {
          Talk on(after);
          ASSERT_TRUE(on.resp.take_over(state));
          // So that it is refused for its words where it may be run.
          std::string line(command.name);
          std::array<std::string_view, 2> words{command.name, "?"};
          const std::size_t count = command.takes(1) ? 2 : 1;
          if (count == 2) line += " ?";
          const Role needs = command.needs(std::span(words).first(count));
          const bool may = has(command.flags, resp::Flags::before_auth) || role >= needs;
          const std::string told = on.say(line);
          const bool refused = told.starts_with("-NOAUTH") || told.starts_with("-NOPERM");
          EXPECT_EQ(!refused, may) << line << ", asked for " << first.name << (shown ? ", shown" : "")
                                   << ", then for " << next.name << ": " << told;
          ++asked;
        }
      }
    }
  }
  EXPECT_GT(asked, kAsks.size() * kAsks.size() * resp::listed_commands().size());
}

}  // namespace
}  // namespace weir::takeover_rights_test
