// The time of a wake-up by an event of the adapter, to the picosecond, equal in both modes.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/equality/both_modes.h"

namespace verbatim {
namespace {

// A topology whose processors take so long to run what sleeps for an event.
std::string topology_with(const std::string& folder, const std::string& wake_up) {
  auto cpu = nlohmann::json::parse(support::text_of_file(PROFILES "/cpu.json"));
  auto topology = nlohmann::json::parse(support::text_of_file(support::topology("two_hosts_direct")));
  cpu["call_costs"]["event_wake_up"] = wake_up;
  for (auto& host : topology["hosts"]) host["cpu"] = "waking.json";
  std::ofstream(folder + "/waking.json") << cpu;
  std::ofstream(folder + "/topology.json") << topology;
  return folder + "/topology.json";
}

// Picoseconds.
struct Times {
  std::int64_t readable = -1;  // the event
  std::int64_t awake = -1;     // the first call after that is answered
  std::int64_t end = -1;       // of the program
};

Times times_of(const std::string& way, const std::string& wake_up) {
  const support::TemporaryFolder folder;
  support::RunRequest request;
  request.topology = topology_with(folder.path(), wake_up);
  request.commands = {"server=" + support::quoted(WAKE_UP_PROGRAM) + " '" + way + "'"};
  const auto runs = equality::run_both(request);
  equality::expect_equal(runs);
  EXPECT_EQ(runs.slices.output("server").find("-1"), std::string::npos) << runs.slices.story();
  std::istringstream trace(runs.slices.trace);
  Times times;
  for (std::string line; std::getline(trace, line);) {
    const auto is = [&](const char* what) { return line.find(what) != std::string::npos; };
    std::string digits = line;
    digits.erase(digits.find('.'), 1);  // microseconds with six places
    const std::int64_t at = std::stoll(digits);
    if (is("  completion-event  ") || is("  async-event  ")) times.readable = at;
    if (is("  system-call  ") && times.readable >= 0 && times.awake < 0) times.awake = at;
    if (is("  program-exited  ")) times.end = at;
  }
  EXPECT_GT(times.awake, 0) << runs.slices.story();
  EXPECT_GT(times.end, 0);
  return times;
}

constexpr const char* kWakeUp = "1234567891 ps";
constexpr std::int64_t kPicoseconds = 1'234'567'891;

TEST(WakeUp, a_thread_that_sleeps_for_an_event_runs_so_much_later) {
  for (const char* way : {"read", "poll", "epoll", "select", "async", "poll async"}) {
    SCOPED_TRACE(way);
    const Times at_once = times_of(way, "0 s"), later = times_of(way, kWakeUp);
    EXPECT_EQ(at_once.awake, at_once.readable);
    EXPECT_EQ(later.awake, later.readable + kPicoseconds);
    EXPECT_EQ(later.end - at_once.end, kPicoseconds) << "once";
  }
}

TEST(WakeUp, an_event_that_is_there_costs_nothing) {
  for (const char* way : {"late", "late async"}) {
    SCOPED_TRACE(way);
    EXPECT_EQ(times_of(way, kWakeUp).end, times_of(way, "0 s").end);
  }
}

// The event occurs a few microseconds after the post, the deadline is a millisecond: the thread is already
// being woken.
TEST(WakeUp, a_deadline_does_not_wake_who_is_woken) {
  const Times times = times_of("deadline", kWakeUp);
  EXPECT_EQ(times.awake, times.readable + kPicoseconds);
}

}  // namespace
}  // namespace verbatim
