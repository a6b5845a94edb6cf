#include "core/path.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/chance_test.hpp"

namespace weir::inline v0_1::core {
namespace {

struct PathRow {
  const char* target;
  const char* path;
  bool odd = false;
};

TEST(Path, is_one_however_it_is_spelled) {
  const std::vector<PathRow> rows = {
      {"/v1/chat", "/v1/chat"},
      {"/v1//chat", "/v1/chat"},
      {"/v1/./chat", "/v1/chat"},
      {"/%761/chat", "/v1/chat"},
      {"/v1/chat?x=/../y", "/v1/chat"},
      {"/v1/chat#x", "/v1/chat"},
      {"/v1/chat?", "/v1/chat"},
      {"/v1/x/../chat", "/v1/chat"},
      {"/v1/x/%2e%2E/chat", "/v1/chat"},
      {"/v1/%2e/chat", "/v1/chat"},
      {"///v1///chat", "/v1/chat"},
      {"/../../v1/chat", "/v1/chat"},
      {"http://example.com/v1/chat", "/v1/chat"},
      {"https://u@example.com:8443//v1/chat?a", "/v1/chat"},
      {"http://example.com", "/"},
      {"http://example.com?a", "/"},
      {"/", "/"},
      {"//", "/"},
      {"/.", "/"},
      {"/..", "/"},
      {"/a/.", "/a/"},
      {"/a/..", "/"},
      {"/a/b/..", "/a/"},
      {"/a/b/../", "/a/"},
      {"/a/.../b", "/a/.../b"},
      {"/a/..b/.c", "/a/..b/.c"},
      {"/%2561", "/%61"},  // once
      {"/a%20b%3fc%23d", "/a b?c#d"},
      {"/%e2%82%ac", "/\xe2\x82\xac"},
      {"*", "*"},
  };
  for (const PathRow& row : rows) {
    std::string path = "before ";
    EXPECT_TRUE(append_path(row.target, OddPath::refuse, path)) << row.target;
    EXPECT_EQ(path, std::string("before ") + row.path) << row.target;
  }
}

TEST(Path, that_others_may_read_in_two_ways_is_refused_or_keeps_such_escapes) {
  const std::vector<PathRow> rows = {
      {"/v1%2fchat", "/v1%2fchat"},
      {"/v1%2F..%2Fchat", "/v1%2F..%2Fchat"},
      {"/v1%5cchat", "/v1%5cchat"},
      {"/v1\\chat", "/v1\\chat"},
      {"/v1/..\\chat", "/v1/..\\chat"},
      {"/v1/chat%00.png", "/v1/chat%00.png"},
      {"/v1/%", "/v1/%"},
      {"/v1/%4", "/v1/%4"},
      {"/v1/%zz/%61", "/v1/%zz/a"},
      {"/v1/%%61", "/v1/%a"},
      // /login to a servlet container, which drops what follows the `;` of each segment.
      {"/free/..;/login", "/free/..;/login"},
      {"/free/..%3b/login", "/free/..%3b/login"},
      {"/free/..%3B/login", "/free/..%3B/login"},
      {"/login;jsessionid=1", "/login;jsessionid=1"},
      {"/a;b=c/../d", "/d"},
      // /v1/chat where runs are made one first, as nginx does.
      {"/a//../v1/chat", "/a/v1/chat"},
      {"/a//b/../../v1/chat", "/a/v1/chat"},
      {"", ""},
      {"v1/chat", "v1/chat"},
      {"?a=/", ""},
      {"**", "**"},
      {"example.com:443", "example.com:443"},
  };
  for (const PathRow& row : rows) {
    std::string path;
    EXPECT_FALSE(append_path(row.target, OddPath::refuse, path)) << row.target;
    path.clear();
    EXPECT_TRUE(append_path(row.target, OddPath::keep, path)) << row.target;
    EXPECT_EQ(path, row.path) << row.target;
  }
}

// The same, slowly: a list of segments, each decoded by itself.
struct Slow {
  std::string path;
  bool odd = false;
};

Slow slow_path(std::string target) {
  Slow slow;
  target = target.substr(0, target.find('?'));
  target = target.substr(0, target.find('#'));
  std::string decoded;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == '\\' || target[i] == ';') slow.odd = true;
    if (target[i] != '%') {
      decoded += target[i];
      continue;
    }
    const std::string hex = target.substr(i + 1, 2);
    const bool right = hex.size() == 2 && std::isxdigit(static_cast<unsigned char>(hex[0])) != 0 &&
                       std::isxdigit(static_cast<unsigned char>(hex[1])) != 0;
    const int byte = right ? std::stoi(hex, nullptr, 16) : -1;
    if (byte < 0 || byte == 0x00 || byte == 0x2F || byte == 0x3B || byte == 0x5C) {
      slow.odd = true;
      decoded += '%';
    } else {
      decoded += static_cast<char>(byte);
      i += 2;
    }
  }
  std::vector<std::string> segments{""};
  for (const char c : decoded.substr(1)) {
    if (c == '/') {
      segments.emplace_back();
    } else {
      segments.back() += c;
    }
  }
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool dots = segments[i] == "." || segments[i] == "..";
    if (segments[i] == ".." && !kept.empty()) kept.pop_back();
    if (!dots) kept.push_back(segments[i]);
    if (dots && i + 1 == segments.size()) kept.emplace_back();
  }
  std::string path;
  for (const std::string& each : kept) path += "/" + each;
  for (const char c : path) {
    if (c != '/' || !slow.path.ends_with('/')) slow.path += c;
  }
  return slow;
}

TEST(Path, agrees_with_a_slow_one) {
  Chance chance;
  const std::vector<std::string> parts = {"/",   "/",   "/",   ".",   "..",  "a", "%61", "%2e", "%2E",
                                          "%2f", "%5C", "%3b", "%00", "%25", "%", "%4",  "?",   "#",
                                          "\\",  "v1",  "%zz", " ",   ";",   "*", "%ff", "\x80"};
  int odd = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string target = "/";
    for (std::int64_t left = chance.up_to(12); left > 0; --left)
      target += parts[static_cast<std::size_t>(chance.up_to(static_cast<std::int64_t>(parts.size()) - 1))];
    const Slow slow = slow_path(target);
    std::string path;
    ASSERT_TRUE(append_path(target, OddPath::keep, path)) << target;
    ASSERT_EQ(path, slow.path) << target;
    std::string refused;
    const bool plain = append_path(target, OddPath::refuse, refused);
    ASSERT_FALSE(slow.odd && plain) << target;
    if (plain) {
      ASSERT_EQ(refused, path) << target;
      // What is plain is one path also where runs are made one first.
      std::string merged;
      for (const char c : target.substr(0, target.find_first_of("?#"))) {
        if (c != '/' || merged.empty() || merged.back() != '/') merged += c;
      }
      std::string same;
      ASSERT_TRUE(append_path(merged, OddPath::refuse, same)) << target;
      ASSERT_EQ(same, path) << target;
    }
    odd += plain ? 0 : 1;
  }
  EXPECT_GT(odd, 1000);
}

TEST(Path, of_any_bytes_ends) {
  Chance chance(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string target;
    for (std::int64_t left = chance.up_to(40); left > 0; --left)
      target += static_cast<char>(chance.up_to(255));
    std::string path;
    append_path(target, OddPath::keep, path);
    EXPECT_LE(path.size(), target.size() + 1);
  }
}

}  // namespace
}  // namespace weir::core
