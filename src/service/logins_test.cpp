#include "service/logins.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

namespace weir::inline v0_1::service {
namespace {

using namespace std::chrono_literals;
using Outcome = Logins::Outcome;
using steering::Role;

std::string hash_of(const std::string& password) {
  return steering::PasswordHash::of(password, {.log_n = 10, .r = 1, .p = 1}).text();
}
std::string token_of(const std::string& token) { return steering::Users::token_text(core::sha256(token)); }

class LoginsTest : public testing::Test {
 protected:
  LoginsTest() : path_(testing::TempDir() + "weir-users-" + std::to_string(getpid())) {}
  ~LoginsTest() override { std::filesystem::remove_all(path_); }

  void write(const std::string& text) {
    std::ofstream(path_) << text;
    chmod(path_.c_str(), 0600);
  }
  void use(const std::string& text, const std::string& password = "", const std::string& token = "",
           const std::string& user = "default") {
    write(text);
    logins = std::make_unique<Logins>(Logins::Settings{.user = user,
                                                       .password = password,
                                                       .http_token = token,
                                                       .clock = [this] { return now; },
                                                       .wall_clock = [this] { return wall; },
                                                       .matches =
                                                           [this](const auto& hash, const auto& secret) {
                                                             compared += hash.steps();
                                                             return hash.matches(secret);
                                                           }},
                                      counters, notices);
    EXPECT_EQ(users.reload(), std::vector<std::string>{});
    logins->use(users);
  }
  Logins::Ruling ask(Logins::Shown shown, int* hashes = nullptr) {
    shown.address = "10.0.0.1";
    if (auto told = logins->judge(shown)) return *told;
    if (hashes != nullptr) ++*hashes;
    std::promise<Logins::Ruling> told;
    logins->check(shown, [&](Logins::Ruling what) { told.set_value(std::move(what)); });
    return told.get_future().get();
  }
  // "ann operate", or why not.
  std::string who(const Logins::Shown& shown) {
    const Logins::Ruling told = ask(shown);
    if (told.outcome == Outcome::in) return told.login.user + " " + std::string(name_of(told.login.role));
    return told.outcome == Outcome::wrong     ? "wrong"
           : told.outcome == Outcome::guessed ? "guessed"
                                              : "crowded";
  }

  const std::string path_;
  std::chrono::nanoseconds now = 1000s;
  std::chrono::nanoseconds wall = std::chrono::sys_days{std::chrono::year{2026} / 11 / 26}.time_since_epoch();
  std::atomic<std::uint64_t> compared{0};  // steps of scrypt, of all that was
  std::vector<std::string> log;
  Counters counters;
  core::Notices notices{[this] { return now; }};
  UsersInForce users{{.path = path_,
                      .wall_clock = [this] { return wall; },
                      .log = [this](bool, const std::string& line) { log.push_back(line); }}};
  std::unique_ptr<Logins> logins;
};

TEST_F(LoginsTest, without_a_file_or_a_password_everybody_is_admin) {
  logins = std::make_unique<Logins>(Logins::Settings{.user = "default", .clock = [this] { return now; }},
                                    counters, notices);
  EXPECT_FALSE(logins->required());
  EXPECT_EQ(logins->at_first("", true).role, Role::admin);
  logins = std::make_unique<Logins>(
      Logins::Settings{.user = "default", .http_token = "t", .clock = [this] { return now; }}, counters,
      notices);
  EXPECT_TRUE(logins->required());
  EXPECT_EQ(logins->at_first("", true).role, Role::none);
  EXPECT_EQ(logins->at_first("", false).role, Role::admin) << "the token is of HTTP alone";
}

TEST_F(LoginsTest, somebody_is_who_their_password_token_or_certificate_says) {
  use("users:\n  ann: {role: operate, password: " + hash_of("pw") +
          ", certificate: ann.example}\n  bob: {role: decide, token: \"" + token_of("tok") +
          "\"}\n  default: {role: decide, password: " + hash_of("mine") + "}\n",
      "", "http");
  EXPECT_EQ(who({.user = "ann", .secret = "pw"}), "ann operate");
  EXPECT_EQ(who({.user = "ann", .secret = "pw "}), "wrong");
  EXPECT_EQ(who({.user = "bob", .secret = "pw"}), "wrong");
  EXPECT_EQ(who({.user = "nobody", .secret = "pw"}), "wrong");
  EXPECT_EQ(who({.secret = "tok"}), "bob decide");
  EXPECT_EQ(who({.user = "bob", .secret = "tok"}), "bob decide");
  EXPECT_EQ(who({.user = "ann", .secret = "tok"}), "wrong");
  EXPECT_EQ(who({.secret = "mine"}), "default decide");
  EXPECT_EQ(who({.secret = "tok", .only_token = true}), "bob decide");
  EXPECT_EQ(who({.secret = "http", .only_token = true}), "- admin");
  EXPECT_EQ(who({.secret = "http"}), "wrong") << "RESP has no bearer";
  EXPECT_EQ(who({.secret = "pw", .only_token = true}), "wrong");
  EXPECT_EQ(who({.user = "ann", .secret = std::string(4096, 'x')}), "wrong");
  EXPECT_EQ(logins->at_first("ann.example", true).user, "ann");
  EXPECT_EQ(logins->at_first("bob", true).role, Role::none);
  EXPECT_EQ(counters.auth_failures, 7U);
}

TEST_F(LoginsTest, a_token_is_its_own_name_but_for_those_who_have_a_password) {
  use("users:\n  ann: {role: operate, password: " + hash_of("pw") + "}\n  bob: {role: decide, token: \"" +
          token_of("tok") + "\"}\n  eve: {role: decide, token: \"" + token_of("eves") +
          "\"}\n  default: {role: admin, password: " + hash_of("mine") + "}\n",
      "secret", "", "boss");
  for (const char* const any : {"nobody", "", "default", "eve", "bob"})
    EXPECT_EQ(who({.user = any, .secret = "tok"}), "bob decide") << any;
  EXPECT_EQ(who({.user = "ann", .secret = "tok"}), "wrong");
  EXPECT_EQ(who({.user = "boss", .secret = "tok"}), "wrong");
  EXPECT_EQ(who({.user = "boss", .secret = "secret"}), "boss admin");
  EXPECT_EQ(who({.user = "tok", .secret = ""}), "wrong");
}

TEST_F(LoginsTest, the_password_of_the_settings_stays_admin) {
  use("users:\n  ann: {role: decide, password: " + hash_of("pw") + "}\n", "secret");
  EXPECT_EQ(who({.secret = "secret"}), "default admin");
  EXPECT_EQ(who({.user = "ann", .secret = "secret"}), "wrong");
}

TEST_F(LoginsTest, a_right_password_is_hashed_once_until_the_file_changes) {
  const std::string ann = "users:\n  ann: {role: operate, password: " + hash_of("pw") + "}\n";
  use(ann);
  int hashes = 0;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask({.user = "ann", .secret = "pw"}, &hashes).outcome, Outcome::in);
  EXPECT_EQ(hashes, 1);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(ask({.user = "ann", .secret = "no"}, &hashes).outcome, Outcome::wrong);
  EXPECT_EQ(hashes, 4) << "a wrong one is not remembered";
  EXPECT_EQ(ask({.user = "nobody", .secret = "pw"}, &hashes).outcome, Outcome::wrong);
  EXPECT_EQ(hashes, 5) << "nobody's takes as long";
  EXPECT_EQ(ask({.user = "ann", .secret = "pw"}, &hashes).outcome, Outcome::in);
  EXPECT_EQ(hashes, 5);
  write("users:\n  ann: {role: operate, password: " + hash_of("new") + "}\n");
  users.reload();
  EXPECT_EQ(who({.user = "ann", .secret = "pw"}), "wrong");
  EXPECT_EQ(who({.user = "ann", .secret = "new"}), "ann operate");
}

TEST_F(LoginsTest, a_wrong_password_costs_the_same_for_every_name) {
  use("users:\n  ann: {role: operate, password: " + hash_of("pw") + "}\n  bob: {role: decide, token: \"" +
      token_of("tok") + "\"}\n  cid: {role: decide, password: " + hash_of("pw") + ", until: 2026-11-26}\n");
  for (const char* name : {"ann", "bob", "cid", "nobody", "default", ""}) {
    compared = 0;
    EXPECT_EQ(who({.user = name, .secret = "no"}), "wrong");
    EXPECT_EQ(compared, 1'024U) << name;
  }
}

TEST_F(LoginsTest, many_at_once_with_one_password_cost_one_hash) {
  use("users:\n  ann: {role: operate, password: " + hash_of("pw") + "}\n");
  std::atomic<int> in{0};
  std::promise<void> all;
  for (int i = 0; i < 10'000; ++i) {
    const Logins::Shown shown{.user = "ann", .secret = "pw", .address = "10.0.0.1"};
    const auto told = [&](const Logins::Ruling& what) {
      if (what.outcome == Outcome::in && ++in == 10'000) all.set_value();
    };
    if (const auto known = logins->judge(shown)) {
      told(*known);
    } else {
      logins->check(shown, told);
    }
  }
  all.get_future().wait();
  EXPECT_EQ(in, 10'000);
}

TEST_F(LoginsTest, a_role_that_changes_or_goes_is_in_force_at_the_next_look) {
  const std::string token = token_of("tok");
  use("users:\n  ann: {role: operate, token: \"" + token + "\", certificate: c}\n");
  Login login = ask({.secret = "tok"}).login;
  Login by_certificate = logins->at_first("c", true);
  Login nobody = logins->at_first("d", true);
  EXPECT_EQ(login.role, Role::operate);
  write("users:\n  ann: {role: decide, token: \"" + token +
        "\", certificate: c}\n  dan: {role: admin, certificate: d}\n");
  users.reload();
  logins->look_again(login, "");
  logins->look_again(by_certificate, "c");
  logins->look_again(nobody, "d");
  EXPECT_EQ(login.role, Role::decide);
  EXPECT_EQ(by_certificate.role, Role::decide);
  EXPECT_EQ(nobody.role, Role::admin) << "a certificate that is named by now";
  // Another token in the place of one that somebody else has learnt.
  write("users:\n  ann: {role: decide, token: \"" + token_of("other") + "\"}\n");
  users.reload();
  logins->look_again(login, "");
  logins->look_again(by_certificate, "c");
  EXPECT_EQ(login.role, Role::none);
  EXPECT_EQ(by_certificate.role, Role::none);
  // A file with errors changes nothing.
  login = ask({.secret = "other"}).login;
  write("users:\n  ann: {role: king}\n");
  EXPECT_FALSE(users.reload().empty());
  logins->look_again(login, "");
  EXPECT_EQ(login.role, Role::decide);
  write("users: {}\n");
  users.reload();
  logins->look_again(login, "");
  EXPECT_EQ(login.role, Role::none);
  EXPECT_EQ(login.user, "-");
}

// What another process has found of a connection counts here by what it has shown alone.
TEST_F(LoginsTest, of_another_process_only_what_was_shown_counts) {
  const auto other = [&](const std::string& password, const std::string& user = "default") {
    return std::make_unique<Logins>(
        Logins::Settings{.user = user, .password = password, .clock = [this] { return now; }}, counters,
        notices);
  };
  const auto open = other("");
  const auto secret = other("secret");
  const Login nothing = open->at_first("", false);
  EXPECT_EQ(nothing.role, Role::admin);
  const Login by_password = secret->judge({.secret = "secret", .address = "10.0.0.1"})->login;
  EXPECT_EQ(by_password.role, Role::admin);
  EXPECT_EQ(secret->again(by_password, "").role, Role::admin);
  EXPECT_EQ(secret->again(nothing, "").role, Role::none);
  EXPECT_EQ(other("another")->again(by_password, "").role, Role::none);
  EXPECT_EQ(other("secret", "bob")->again(by_password, "").role, Role::none);
  EXPECT_EQ(open->again(by_password, "").role, Role::admin) << "nothing is asked for";
  const std::string token = token_of("tok");
  use("users:\n  ann: {role: operate, token: \"" + token + "\"}\n");
  EXPECT_EQ(logins->again(nothing, "").role, Role::none);
  EXPECT_EQ(logins->again(by_password, "").role, Role::none);
  EXPECT_EQ(logins->again({.user = "ann", .role = Role::admin, .by = token}, "").role, Role::operate);
  Login kept = nothing;
  EXPECT_TRUE(users.reload().empty());
  EXPECT_TRUE(logins->look_again(kept, ""));
  EXPECT_EQ(kept.role, Role::none) << "also when the file is read again";
}

TEST_F(LoginsTest, the_time_of_somebody_ends) {
  use("users:\n  ann: {role: operate, token: \"" + token_of("tok") + "\", password: " + hash_of("pw") +
      ", certificate: c, until: 2026-11-27}\n");
  Login login = ask({.secret = "tok"}).login;
  EXPECT_EQ(who({.user = "ann", .secret = "pw"}), "ann operate");
  wall += 24h - 1ns;
  logins->look_again(login, "c");
  EXPECT_EQ(login.role, Role::operate);
  wall += 1ns;
  logins->look_again(login, "c");
  EXPECT_EQ(login.role, Role::none);
  EXPECT_EQ(logins->at_first("c", true).role, Role::none);
  EXPECT_EQ(who({.secret = "tok", .only_token = true}), "wrong");
  EXPECT_EQ(who({.user = "ann", .secret = "pw"}), "wrong") << "though it is remembered";
}

TEST_F(LoginsTest, wrong_ones_of_an_address_are_bounded) {
  use("users:\n  ann: {role: operate, token: \"" + token_of("tok") + "\"}\n");
  unsigned wrong = 0;
  while (wrong <= Guesses::kASecond + 1 && who({.secret = "x", .only_token = true}) == "wrong") ++wrong;
  EXPECT_EQ(wrong, Guesses::kASecond);
  EXPECT_EQ(who({.secret = "tok", .only_token = true}), "guessed");
  EXPECT_EQ(who({.secret = "tok", .only_token = true, .known = true}), "ann operate");
  EXPECT_EQ(counters.auth_refused, 2U);
}

TEST_F(LoginsTest, a_file_that_others_may_read_is_warned_of_and_a_pipe_is_refused) {
  use("users: {}\n");
  EXPECT_EQ(log, std::vector<std::string>{"users: '" + path_ + "' is in force: 0 users"});
  chmod(path_.c_str(), 0640);
  log.clear();
  EXPECT_TRUE(users.reload().empty());
  EXPECT_EQ(log[0],
            path_ + ": warning: others than its owner may read or write it; chmod 600 is meant for it");
  std::filesystem::remove(path_);
  EXPECT_EQ(users.check(), std::vector<std::string>{path_ + ": No such file or directory"});
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(users.check(), std::vector<std::string>{path_ + ": Not a regular file"});
  std::filesystem::remove(path_);
  write("");
  ASSERT_EQ(truncate(path_.c_str(), off_t{1} << 30), 0);  // takes no room on the disk
  EXPECT_EQ(users.check(),
            std::vector<std::string>{path_ + ": more than 16777216 bytes (16 MiB) are not read"});
}

}  // namespace
}  // namespace weir::service
