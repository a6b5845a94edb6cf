// weir ctl token: a token of 160 bits, and the line of a users file that takes it.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "cli/ctl.hpp"
#include "cli/print.hpp"
#include "core/random.hpp"
#include "core/sha256.hpp"
#include "steering/users.hpp"

namespace weir::inline v0_1::cli {
namespace {

// What finds secrets in texts knows it by this.
constexpr std::string_view kBegins = "weir_";
constexpr int kLetters = 32;  // of five bits each

std::string new_token() {
  constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";  // RFC 4648
  std::string token(kBegins);
  for (int i = 0; i < kLetters; ++i) token += kAlphabet[core::random_key().k0 & 31];
  return token;
}

}  // namespace

void add_ctl_token(CLI::App& ctl, int& result) {
  CLI::App* token = ctl.add_subcommand("token", "Make a token: print it, and its line for the users file");
  token->callback([&result] {
    const std::string made = new_token();
    print(made + "\ntoken: \"" + steering::Users::token_text(core::sha256(made)) + "\"\n");
    result = 0;
  });
}

}  // namespace weir::cli
