#include "steering/users.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::inline v0_1::steering {
namespace {

using namespace std::chrono_literals;

const std::string kHash = "scrypt$14$8$5$00112233445566778899aabbccddeeff$00112233445566778899aabbccddeeff";
const std::string kToken =
    "sha256:2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683";  // of `key`

struct Outcome {
  std::shared_ptr<const Users> users;
  std::string told;
};

Outcome read(const std::string& text, Users::Reading reading = {}) {
  reading.name = "users.yaml";
  reading.now = std::chrono::sys_days{std::chrono::year{2026} / 11 / 26};
  std::vector<limits::Finding> findings;
  Outcome outcome{Users::read(text, reading, findings), ""};
  for (const limits::Finding& each : findings) outcome.told += to_text(each) + "\n";
  return outcome;
}

TEST(Users, are_found_by_name_by_token_and_by_certificate) {
  const Outcome read_now =
      read("users:\n  ann:\n    role: operate\n    password: " + kHash + "\n    token: " + kToken +
           "\n    certificate: ann.example\n    until: 2027-01-01\n  bob: {role: admin, certificate: b}\n");
  ASSERT_NE(read_now.users, nullptr) << read_now.told;
  EXPECT_EQ(read_now.told, "");
  const Users& users = *read_now.users;
  EXPECT_EQ(users.size(), 2U);
  const User* const ann = users.by_name("ann");
  ASSERT_NE(ann, nullptr);
  EXPECT_EQ(ann->role, Role::operate);
  EXPECT_EQ(users.by_token(core::sha256("key")), ann);
  EXPECT_EQ(users.by_certificate("ann.example"), ann);
  EXPECT_EQ(users.by_certificate("b"), users.by_name("bob"));
  EXPECT_EQ(users.by_token(core::sha256("kez")), nullptr);
  EXPECT_EQ(users.by_certificate(""), nullptr);
  EXPECT_EQ(users.by_name("Ann"), nullptr);
  EXPECT_EQ(users.decoy("nobody"), &*ann->hash);
  const auto end = std::chrono::sys_days{std::chrono::year{2027} / 1 / 1}.time_since_epoch();
  EXPECT_FALSE(ann->ended(end - 1ns));
  EXPECT_TRUE(ann->ended(end));
}

// A name that is nobody's takes the work of one user or another, the same each time, and each work as often
// as users have it: so neither one answer's time nor the mean of many tells whether the name is somebody's.
TEST(Users, a_name_of_nobody_costs_what_that_of_somebody_does) {
  std::string text = "users:\n";
  for (int i = 0; i < 4; ++i) {
    const std::string hash = (i == 2 ? "scrypt$16" : "scrypt$14") + kHash.substr(9);
    text += "  u" + std::to_string(i) + ": {role: decide, password: " + hash + "}\n";
  }
  const auto users = read(text).users;
  const auto again = read(text).users;
  ASSERT_NE(users, nullptr);
  const std::uint64_t costly = users->by_name("u2")->hash->steps();
  int of_costly = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = "nobody" + std::to_string(i);
    const std::uint64_t steps = users->decoy(name)->steps();
    EXPECT_EQ(users->decoy(name)->steps(), steps);
    EXPECT_EQ(again->decoy(name)->steps(), steps) << "after a restart too";
    of_costly += steps == costly ? 1 : 0;
  }
  EXPECT_NEAR(of_costly, 2'500, 250);
  const auto more = read(text + "  v: {role: decide, password: " + kHash + "}\n").users;
  int moved = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = "nobody" + std::to_string(i);
    moved += more->decoy(name)->steps() != users->decoy(name)->steps() ? 1 : 0;
  }
  EXPECT_LE(moved, 1'000) << "another user moves few";
}

TEST(Users, without_a_password_nothing_is_hashed) {
  EXPECT_EQ(read("users: {a: {role: decide, token: \"" + kToken + "\"}}").users->decoy("a"), nullptr);
  EXPECT_EQ(read("users: {}").users->size(), 0U);
}

struct Row {
  std::string text;
  std::string told;
};

TEST(Users, what_is_wrong_is_told_with_its_place) {
  const std::vector<Row> rows = {
      {"", "users.yaml:1:1: is empty; a file without users says users: {}\n"},
      {"user: {}\n", "users.yaml:1:1: user: unknown; did you mean users?\n"},
      {"users:\n  ann: {role: root, token: \"" + kToken + "\"}\n",
       "users.yaml:2:15: users.ann.role: 'root' is not a role: decide, operate or admin\n"},
      {"users:\n  ann: {role: none, token: \"" + kToken + "\"}\n",
       "users.yaml:2:15: users.ann.role: 'none' is not a role: decide, operate or admin\n"},
      {"users:\n  ann: {token: \"" + kToken + "\"}\n",
       "users.yaml:2:3: users.ann: missing role: decide, operate or admin\n"},
      {"users:\n  ann: {role: admin}\n",
       "users.yaml:2:3: users.ann: shows nothing to be known by: give password, token or certificate\n"},
      {"users:\n  ann: {role: admin, passwort: x}\n",
       "users.yaml:2:3: users.ann: shows nothing to be known by: give password, token or certificate\n"
       "users.yaml:2:22: users.ann.passwort: unknown; did you mean password?\n"},
      {"users:\n  a b: {role: admin, token: \"" + kToken + "\"}\n",
       "users.yaml:2:3: users.a b: is not a user's name: 1 to 64 letters, digits, '.', '_', '@' and '-', "
       "which "
       "is not the first\n"},
      {"users:\n  file: {role: admin, token: \"" + kToken + "\"}\n",
       "users.yaml:2:3: users.file: is not a user's name: the audit calls the files so\n"},
      {"users:\n  default: {role: admin, token: \"" + kToken + "\"}\n",
       "users.yaml:2:3: users.default: is the --user whose password is --password\n"},
      {"users:\n  ann: {role: admin, token: \"" + kToken + "\"}\n  ann: {role: decide, token: \"" + kToken +
           "\"}\n",
       "users.yaml:3:3: users.ann: a second time; it is on line 2 already\n"
       "users.yaml:3:30: users.ann.token: is the token of 'ann' too\n"},
      {"users:\n  ann: {role: admin, token: \"" + kToken + "\"}\n  bob: {role: admin, token: \"" + kToken +
           "\"}\n",
       "users.yaml:3:29: users.bob.token: is the token of 'ann' too\n"},
      {"users:\n  ann: {role: admin, certificate: c}\n  bob: {role: admin, certificate: c}\n",
       "users.yaml:3:35: users.bob.certificate: is the certificate of 'ann' too\n"},
      {"users:\n  ann: {role: admin, token: \"" + kToken + "\", until: soon}\n",
       "users.yaml:2:111: users.ann.until: 'soon' is not a date or a time of RFC 3339; write 2026-12-01, "
       "which is "
       "its midnight in UTC, or 2026-12-01T12:00:00Z\n"},
  };
  for (const Row& row : rows) {
    const Outcome outcome = read(row.text, {.taken = "default"});
    EXPECT_EQ(outcome.told, row.told) << row.text;
    EXPECT_EQ(outcome.users, nullptr) << row.text;
  }
}

TEST(Users, a_certificate_is_of_use_only_where_clients_show_one) {
  EXPECT_EQ(read("users:\n  ann: {role: admin, certificate: c}\n", {.certificates = false}).told,
            "users.yaml:2:22: users.ann.certificate: names nobody without --tls-ca: no client shows a "
            "certificate\n");
}

TEST(Users, a_secret_in_the_wrong_place_is_not_told) {
  for (const std::string text :
       {"users:\n  ann: {role: admin, password: hunter2}\n", "users:\n  ann: {role: admin, token: hunter2}\n",
        "users:\n  ann: hunter2\n", "users:\n  ann: {role: admin, password: [hunter2]}\n",
        "users:\n  ann: {role: admin, token: \"sha256:hunter2\"}\n",
        "users:\n  ann: {role: admin, password: \"scrypt$hunter2$8$5\"}\n"}) {
    const Outcome outcome = read(text);
    EXPECT_EQ(outcome.users, nullptr) << text;
    EXPECT_EQ(outcome.told.find("hunter2"), std::string::npos) << outcome.told;
  }
}

TEST(Users, what_is_past_or_weak_is_warned_of_and_keeps_nothing_down) {
  const Outcome past = read("users:\n  ann: {role: admin, token: \"" + kToken + "\", until: 2026-11-25}\n");
  EXPECT_NE(past.users, nullptr);
  EXPECT_EQ(past.told,
            "users.yaml:2:111: warning: users.ann.until: 2026-11-25T00:00:00Z is past: they may nothing\n");
  const Outcome weak = read(
      "users: {a: {role: admin, password: scrypt$10$8$1$0011223344556677$00112233445566778899aabbccddeeff}}");
  EXPECT_NE(weak.users, nullptr);
  EXPECT_NE(weak.told.find("warning: users.a.password: a guess at it costs less"), std::string::npos)
      << weak.told;
}

TEST(Users, ten_thousand_are_read_and_found) {
  std::string text = "users:\n";
  for (int i = 0; i < 10'000; ++i)
    text += "  u" + std::to_string(i) + ": {role: decide, token: \"" +
            Users::token_text(core::sha256("t" + std::to_string(i))) + "\"}\n";
  const Outcome outcome = read(text);
  ASSERT_NE(outcome.users, nullptr) << outcome.told;
  EXPECT_EQ(outcome.users->size(), 10'000U);
  EXPECT_EQ(outcome.users->by_token(core::sha256("t7777")), outcome.users->by_name("u7777"));
}

}  // namespace
}  // namespace weir::steering
