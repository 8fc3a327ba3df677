// Costs of perftest's programs: wall time of the whole run, hand-overs of the token per message, memory of
// the simulator. Prints them with their goals; nothing is asserted. The best of several runs counts, because
// other processes may use the machine.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/support/cpu_time.h"
#include "tests/support/verbatim_run.h"

namespace {

struct Row {
  const char* command;
  double messages;      // both directions
  double goal_seconds;  // 0: the goal is messages per second
  double goal_rate;
  double goal_hand_overs;  // per message
};

// `-a` walks over 23 sizes, from 2 bytes to 8 MiB.
constexpr Row kRows[] = {
    {.command = "ib_write_bw", .messages = 5'000, .goal_seconds = 1.5},
    {.command = "ib_send_bw -s 64 -n 100000",
     .messages = 100'000,
     .goal_rate = 50'000,
     .goal_hand_overs = 2.5},
    {.command = "ib_send_lat -n 1000", .messages = 2'000, .goal_seconds = 0.6},
    {.command = "ib_write_lat -n 1000", .messages = 2'000, .goal_seconds = 1},
    {.command = "ib_write_lat -a -n 100", .messages = 23 * 200, .goal_seconds = 6},
    {.command = "ib_read_bw", .messages = 1'000},
    {.command = "ib_read_lat -n 1000", .messages = 1'000},
};

}  // namespace

int main(int argc, char** argv) {
  using namespace verbatim;
  const int runs = argc > 1 ? std::max(1, std::atoi(argv[1])) : 3;
  for (const Row& row : kRows) {
    const std::string command = row.command;
    double best = 1e9, cpu = 1e9;
    support::RunReport last;
    for (int i = 0; i < runs; ++i) {
      const double before = support::cpu_of_children();
      last = support::run({.commands = {"server=" + command, "client=" + command + " server"}});
      if (last.code != 0) {
        std::printf("%s\n", last.story().c_str());
        return 1;
      }
      best = std::min(best, last.wall_seconds);
      cpu = std::min(cpu, support::cpu_of_children() - before);
    }
    std::printf("%s: %.3f s wall time", row.command, best);
    if (row.goal_seconds > 0) std::printf(" (goal %.1f)", row.goal_seconds);
    std::printf(", %.3f CPU-seconds", cpu);
    std::printf(", %.0f messages/s", row.messages / best);
    if (row.goal_rate > 0) std::printf(" (goal %.0f)", row.goal_rate);
    std::printf(", %.2f hand-overs per message", last.report["hand_overs"].get<double>() / row.messages);
    if (row.goal_hand_overs > 0) std::printf(" (goal %.1f)", row.goal_hand_overs);
    std::printf(", simulator %.1f MiB (goal 64)\n", last.report["peak_memory_kib"].get<double>() / 1024);
    std::fflush(stdout);
  }
  return 0;
}
