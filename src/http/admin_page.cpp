#include "http/admin_page.hpp"

#include <cstddef>
#include <cstdint>

#include "core/sha256.hpp"

namespace weir::inline v0_1::http {

// Files of this folder, made into C++ strings by the build.
extern const char* const kAdminPageStyle;
extern const char* const kAdminPageScript;
extern const char* const kAdminPageBody;

namespace {

struct AdminPageText {
  std::string policy;
  std::string html;
};

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>weir</title>
)";

AdminPageText make_admin_page() {
  const std::string style = kAdminPageStyle;
  const std::string script = kAdminPageScript;
  AdminPageText page;
  page.policy = "default-src 'none'; script-src '" + policy_hash(script) + "'; style-src '" +
                policy_hash(style) + "'; connect-src 'self'; img-src data:; frame-ancestors 'none'";
  page.html = kHead;
  page.html += "<style>" + style + "</style>\n</head>\n<body>\n";
  page.html += kAdminPageBody;
  page.html += "<script>" + script + "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace

std::string policy_hash(std::string_view text) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const core::Sha256 digest = core::sha256(text);
  std::string out = "sha256-";
  for (std::size_t at = 0; at < digest.size(); at += 3) {
    std::uint32_t bits = 0;
    for (std::size_t i = at; i < at + 3; ++i) bits = bits << 8 | (i < digest.size() ? digest[i] : 0U);
    for (int shift = 18; shift >= 0; shift -= 6) out += kLetters[bits >> shift & 63];
  }
  out.back() = '=';  // 32 bytes are one short of 11 times three
  return out;
}

void write_admin_page(Reply& reply) {
  static const AdminPageText kPage = make_admin_page();
  reply.type = "text/html; charset=utf-8";
  append_field(reply.fields, "Content-Security-Policy", kPage.policy);
  append_field(reply.fields, "X-Content-Type-Options", "nosniff");
  append_field(reply.fields, "Referrer-Policy", "no-referrer");
  reply.body = kPage.html;
}

}  // namespace weir::http
