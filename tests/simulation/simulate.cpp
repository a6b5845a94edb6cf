// ./dev simulate: worlds by seed, each judged, and the first that fails made shorter.
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

#include "simulation/plan.hpp"
#include "simulation/referee.hpp"
#include "simulation/shrink.hpp"
#include "simulation/world.hpp"

namespace weir::inline v0_1::simulation {
namespace {

struct Flags {
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1;
  PlanOptions plan{};
  std::size_t tries = 2000;  // to make a failing list shorter
  bool quiet = false;
  bool repeat = false;  // lives each seed twice, and the same has to happen
  bool go_on = false;   // with the seeds after one that fails
};

History live(const Plan& plan) { return World(plan).run(); }

std::string counted(const History& history) {
  std::uint64_t replies = 0, allowed = 0;
  for (const Asked& asked : history.asked) {
    replies += asked.received != kNever ? 1 : 0;
    allowed += asked.received != kNever && asked.reply.allowed() ? 1 : 0;
  }
  char text[160];
  std::snprintf(text, sizeof(text),
                "%zu requests, %llu answered, %llu allowed, %llu faults, %.1f s, digest %016llx",
                history.asked.size(), (unsigned long long)replies, (unsigned long long)allowed,
                (unsigned long long)history.faults, static_cast<double>(history.end.count()) / 1e9,
                (unsigned long long)history.digest);
  return text;
}

// Says what is wrong with a seed, in as few events as can be found.
void tell(Plan plan, const Verdict& verdict, const Flags& flags) {
  std::printf("%s: %s\n", verdict.check.c_str(), verdict.what.c_str());
  if (flags.tries > 0) {
    plan.events = shrink(
        std::move(plan.events),
        [&](const std::vector<Event>& events) {
          Plan fewer = plan;
          fewer.events = events;
          return judge(fewer, live(fewer)).check == verdict.check;
        },
        flags.tries);
    const History history = live(plan);
    std::printf("shrunk to %zu events:\n", plan.events.size());
    for (const Event& event : plan.events) std::printf("%s\n", to_text(event).c_str());
    std::printf("%s\n", judge(plan, history).what.c_str());
  }
  std::printf("%s\nrepeat it: ./dev simulate --seed %llu", plan.to_text().c_str(),
              (unsigned long long)plan.seed);
  if (flags.plan.requests != PlanOptions{}.requests) std::printf(" --requests %zu", flags.plan.requests);
  if (flags.plan.length > 0ns)
    std::printf(" --hours %g", std::chrono::duration<double, std::ratio<3600>>(flags.plan.length).count());
  std::printf("\n");
}

int run(const Flags& flags) {
  std::uint64_t requests = 0, faults = 0, failed = 0;
  std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
  for (std::uint64_t seed = flags.seed; seed < flags.seed + flags.seeds; ++seed) {
    const Plan plan = make_plan(seed, flags.plan);
    const History history = live(plan);
    const Verdict verdict = judge(plan, history);
    requests += history.asked.size();
    fewest = std::min<std::uint64_t>(fewest, history.asked.size());
    faults += history.faults;
    if (flags.repeat && live(plan).digest != history.digest) {
      std::printf("seed %llu: lived twice, it is not the same\n", (unsigned long long)seed);
      return 1;
    }
    if (!flags.quiet || !verdict.holds())
      std::printf("seed %llu: %s: %s\n", (unsigned long long)seed, counted(history).c_str(),
                  verdict.holds() ? "holds" : verdict.check.c_str());
    if (verdict.holds()) continue;
    if (!flags.go_on) {
      tell(plan, verdict, flags);
      return 1;
    }
    ++failed;
    std::printf("%s\n", verdict.what.c_str());
  }
  std::printf("%llu seeds, %llu failed; %llu requests, at least %llu each, %llu faults\n",
              (unsigned long long)flags.seeds, (unsigned long long)failed, (unsigned long long)requests,
              (unsigned long long)fewest, (unsigned long long)faults);
  return failed > 0 ? 1 : 0;
}

int usage(std::string_view what) {
  std::fprintf(
      stderr,
      "simulate: unknown '%.*s'; the form is [--seed S] [--seeds N] [--requests N] [--hours H] [--tries N]"
      " [--quiet] [--repeat] [--go-on]\n",
      static_cast<int>(what.size()), what.data());
  return 2;
}

int main_of(int count, char** words) {
  Flags flags;
  for (int i = 1; i < count; ++i) {
    const std::string_view flag = words[i];
    if (flag == "--quiet" || flag == "--repeat" || flag == "--go-on") {
      (flag == "--quiet" ? flags.quiet : flag == "--repeat" ? flags.repeat : flags.go_on) = true;
      continue;
    }
    if (i + 1 == count) return usage(flag);
    const char* const value = words[++i];
    if (flag == "--seed") {
      flags.seed = std::strtoull(value, nullptr, 10);
    } else if (flag == "--seeds") {
      flags.seeds = std::strtoull(value, nullptr, 10);
    } else if (flag == "--tries") {
      flags.tries = std::strtoull(value, nullptr, 10);
    } else if (flag == "--requests") {
      flags.plan.requests = std::strtoull(value, nullptr, 10);
    } else if (flag == "--hours") {
      flags.plan.length = std::chrono::duration_cast<nanoseconds>(
          std::chrono::duration<double, std::ratio<3600>>(std::strtod(value, nullptr)));
    } else {
      return usage(flag);
    }
  }
  spdlog::set_level(spdlog::level::off);
  // Each connection of a client is two.
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  return run(flags);
}

}  // namespace
}  // namespace weir::simulation

int main(int count, char** words) { return weir::simulation::main_of(count, words); }
