// A limits file in a text, and what it says of three requests.
#include <weir/limits.hpp>

int main() {
  weir::Limits limits =
      weir::Limits::from_text("version: 1\nlimits: { user: { by: [user], rate: 1/h burst 2 } }\n", {});
  const weir::Attribute ann[] = {{"user", "ann"}};
  return limits.check({.attributes = ann}).allowed() && limits.check({.attributes = ann}).allowed() &&
                 limits.check({.attributes = ann}).by == "user" &&
                 !limits.check({.attributes = ann}).allowed()
             ? 0
             : 1;
}
