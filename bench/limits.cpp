// What loading a limits file takes, beside libyaml's own parse of the same text: the least of several, in
// turn.
//
// Prints one line of JSON, or with --write the file itself, for bench/limits.py.
#include <time.h>
#include <yaml.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

#include "limits/read.hpp"
#include "limits/set.hpp"

namespace {

// CPU time: what others take of the machine is not ours.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// `limits` of them; the last three are those that `routes`'s last route names.
std::string make_file(int limits, int routes) {
  std::string text =
      "version: 1\nlimits:\n  edge: { rate: 1000000000/s }\n  tenant: { by: [tenant], within: edge, rate: "
      "500000000/s }\n  user: { by: [tenant, user], within: tenant, rate: 30/min burst 16 }\n";
  std::string others;
  for (int i = 3; i < limits; ++i) {
    const std::string name = "l" + std::to_string(i);
    others += "  " + name + ":\n    by: [tenant, user]\n    rate: [" + std::to_string(i + 10) + "/s burst " +
              std::to_string(i + 100) + "]\n    overrides:\n      - { when: { tenant: t" + std::to_string(i) +
              " }, rate: " + std::to_string(i + 20) + "/s burst " + std::to_string(i + 200) + " }\n";
  }
  text += others + "routes:\n";
  for (int i = 1; i < routes; ++i) {
    std::string named;
    for (int k = 3 + i; k < limits; k += std::max(1, routes - 1))
      named += (named.empty() ? "l" : ", l") + std::to_string(k);
    text += "  - { when: { method: [POST, PUT], path: \"/v1/thing" + std::to_string(i) + "/*\" }, limits: [" +
            named + "] }\n";
  }
  return text + "  - { when: { path: \"/v1/x*\" }, limits: [user] }\n";
}

double seconds_of(auto what) {
  double least = std::numeric_limits<double>::max();
  for (int i = 0; i < 15; ++i) {
    const double begun = cpu_seconds();
    what();
    least = std::min(least, cpu_seconds() - begun);
  }
  return least;
}

void parse_alone(std::string_view text) {
  yaml_parser_t parser;
  yaml_parser_initialize(&parser);
  yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  for (bool done = false; !done;) {
    yaml_event_t event;
    if (yaml_parser_parse(&parser, &event) == 0) std::abort();
    done = event.type == YAML_STREAM_END_EVENT;
    yaml_event_delete(&event);
  }
  yaml_parser_delete(&parser);
}

void load(std::string_view text) {
  const auto reading = weir::limits::read(text, {});
  if (!reading.file) {
    for (const auto& each : reading.findings) std::fprintf(stderr, "%s\n", to_text(each).c_str());
    std::exit(1);
  }
  if (!weir::limits::Set::make(reading.file, {})) std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--write") {
    std::fputs(make_file(std::atoi(argv[2]), std::atoi(argv[3])).c_str(), stdout);
    return 0;
  }
  const bool quick = argc == 2 && std::string_view(argv[1]) == "--quick";
  const std::string text = make_file(quick ? 30 : 1000, quick ? 6 : 200);
  const double alone = seconds_of([&] { parse_alone(text); });
  const double loaded = seconds_of([&] { load(text); });
  std::printf("{\"bytes\": %zu, \"parse_ms\": %.3f, \"load_ms\": %.3f, \"ratio\": %.2f}\n", text.size(),
              alone * 1e3, loaded * 1e3, loaded / alone);
}
