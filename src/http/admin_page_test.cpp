#include "http/admin_page.hpp"

#include <gtest/gtest.h>

namespace weir::inline v0_1::http {
namespace {

TEST(AdminPage, hashes_as_browsers_do) {
  // printf alert | openssl dgst -sha256 -binary | base64
  EXPECT_EQ(policy_hash("alert"), "sha256-35BQWN1npAn++BSA6B5HNlcrDttNf7mHxpXNB+Jg7IE=");
  EXPECT_EQ(policy_hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}

// What stands between a tag and its end is what the policy names; nothing else is run.
TEST(AdminPage, its_policy_names_what_is_in_it) {
  Reply reply;
  write_admin_page(reply);
  const auto between = [&reply](std::string_view begin, std::string_view end) {
    const std::size_t from = reply.body.find(begin) + begin.size();
    return std::string_view(reply.body).substr(from, reply.body.find(end, from) - from);
  };
  EXPECT_EQ(reply.fields, "Content-Security-Policy: default-src 'none'; script-src '" +
                              policy_hash(between("<script>", "</script>")) + "'; style-src '" +
                              policy_hash(between("<style>", "</style>")) +
                              "'; connect-src 'self'; img-src data:; frame-ancestors 'none'\r\n"
                              "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n");
  for (const char* each : {"Set-Cookie", " src=", "https:", "innerHTML", "@import", "url("})
    EXPECT_EQ(reply.body.find(each), std::string::npos) << each;
}

}  // namespace
}  // namespace weir::http
