// Costs of processes: many hosts that communicate by TCP, calls handled inside the program, calls that are
// not, the start of an interpreter. Prints them with their goals; nothing is asserted.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "tests/support/cpu_time.h"
#include "tests/support/verbatim_run.h"

namespace {

using namespace verbatim;

std::string program(const std::string& command) {
  const std::size_t end = command.find(' ');
  return support::quoted(std::string(BENCH_FOLDER) + "/" + command.substr(0, end)) + command.substr(end);
}

support::RunReport run_well(const support::RunRequest& request) {
  support::RunReport report = support::run(request);
  if (report.code == 0) return report;
  std::printf("%s\n", report.story().c_str());
  std::exit(1);
}

// Memory of a process and its descendants in KiB, with shared pages counted once (PSS).
std::uint64_t memory_kib(const std::string& process) {
  std::uint64_t sum = 0;
  std::ifstream rollup("/proc/" + process + "/smaps_rollup");
  for (std::string line; std::getline(rollup, line);) {
    if (line.starts_with("Pss:")) sum += std::strtoull(line.c_str() + 4, nullptr, 10);
  }
  std::ifstream children("/proc/" + process + "/task/" + process + "/children");
  for (std::string child; children >> child;) sum += memory_kib(child);
  return sum;
}

// The greatest number of descriptors of `process` or one of its descendants.
std::uint64_t descriptors(const std::string& process) {
  std::error_code error;
  std::uint64_t most = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/" + process + "/fd", error)) ++most;
  std::ifstream children("/proc/" + process + "/task/" + process + "/children");
  for (std::string child; children >> child;) most = std::max(most, descriptors(child));
  return most;
}

// The maximum of `measure` over the programs that `work` starts, sampled every `period`.
std::uint64_t peak_of(std::uint64_t (*measure)(const std::string& process), std::chrono::milliseconds period,
                      const std::function<void()>& work) {
  std::atomic<bool> done = false;
  std::uint64_t peak = 0;
  std::string worker_id;
  std::atomic<bool> known = false;
  std::thread worker([&] {
    worker_id = std::to_string(::gettid());
    known = true;
    work();
    done = true;
  });
  while (!known) std::this_thread::yield();
  const std::string children = "/proc/self/task/" + worker_id + "/children";
  while (!done) {
    std::ifstream list(children);
    std::uint64_t sum = 0;
    for (std::string child; list >> child;) sum += measure(child);
    peak = std::max(peak, sum);
    std::this_thread::sleep_for(period);
  }
  worker.join();
  return peak;
}

// Each host has one program; each sends `messages` to the next.
support::RunRequest ring(const support::TemporaryFolder& folder, const std::string& name, const std::string& shape, int hosts,
                         int messages) {
  const std::string topology = folder.path() + "/" + name + ".json";
  std::ofstream(topology) << R"({"name": ")" << name << R"(", "link_layer": "infiniband", "generate": {)"
                          << shape << R"(, "rate": "EDR 4x", "length": "2 m"},
    "management_network": {"latency": "20 us", "bandwidth": "10 Gbps"}})";
  support::RunRequest request{.topology = topology, .options = {"--stagger", "0 s"}};
  for (int i = 0; i < hosts; ++i) {
    const std::string own = "h" + std::to_string(i), next = "h" + std::to_string((i + 1) % hosts);
    request.commands.push_back(own + "=" + program("neighbour " + own + " " + next + " " + std::to_string(messages)));
  }
  return request;
}

// A program on each of 4,096 hosts, from start to end.
void bench_crowd() {
  constexpr int kHosts = 4096, kMessages = 10;
  const support::TemporaryFolder folder;
  const support::RunRequest request =
      ring(folder, "crowd", R"("shape": "leaf_spine", "hosts": 4096, "hosts_per_leaf": 32, "spines": 2)", kHosts, kMessages);
  support::RunReport report;
  const double before = support::cpu_of_children();
  const std::uint64_t most = peak_of(descriptors, std::chrono::milliseconds(500), [&] { report = run_well(request); });
  std::printf("%d programs, %d messages each by TCP: %.1f s CPU (goal 40), %.1f s wall time, simulator %.0f KiB (goal 200) and "
              "%.2f descriptors (goal 2) a program\n",
              kHosts, kMessages, support::cpu_of_children() - before, report.wall_seconds,
              report.report["peak_memory_kib"].get<double>() / kHosts, static_cast<double>(most) / kHosts);
}

// Memory and CPU stay the same however many there have been.
void bench_forks(int count) {
  const double before = support::cpu_of_children();
  const auto report = run_well({.commands = {"server=" + program("calls fork " + std::to_string(count))}});
  std::printf("%d children forked, ended and awaited: %.0f us CPU each, simulator %.1f MiB\n", count,
              (support::cpu_of_children() - before) * 1e6 / count, report.report["peak_memory_kib"].get<double>() / 1024);
}

void bench_ring(const std::string& name, const std::string& shape, int hosts) {
  const support::TemporaryFolder folder;
  const support::RunRequest request = ring(folder, name, shape, hosts, 100);
  support::RunReport report = run_well(request);
  const double best = report.wall_seconds;
  const std::uint64_t memory = peak_of(memory_kib, std::chrono::milliseconds(20), [&] { report = run_well(request); });
  std::printf(
      "%d hosts (%s), 100 messages each by TCP: %.2f s wall time (goal 10), %.0f MiB in all (goal 1024), "
      "simulator %.0f MiB, %.0f hand-overs\n",
      hosts, name.c_str(), std::min(best, report.wall_seconds), static_cast<double>(memory) / 1024,
      report.report["peak_memory_kib"].get<double>() / 1024, report.report["hand_overs"].get<double>());
}

// Beyond a run without a single one.
void bench_calls(const char* what, const std::string& kind, int count, const char* goal,
                 const std::vector<std::string>& options = {}) {
  const auto timed = [&](int n) {
    return run_well({.commands = {"server=" + program("calls " + kind + " " + std::to_string(n))}, .options = options});
  };
  const auto none = timed(0), some = timed(count);
  const double seconds = some.wall_seconds - none.wall_seconds;
  const double hand_overs = some.report["hand_overs"].get<double>() - none.report["hand_overs"].get<double>();
  std::printf("%d %s: %.0f hand-overs%s, %.2f us each\n", count, what, hand_overs, goal,
              seconds * 1e6 / count);
}

void bench_start(const char* name, const std::string& command) {
  const auto report = run_well({.commands = {"server=" + command}});
  std::printf("start of %s: %.3f s wall time, %.0f hand-overs\n", name, report.wall_seconds,
              report.report["hand_overs"].get<double>());
}

}  // namespace

// `crowd`: only the 4,096 programs.
int main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (count > 1 && std::string(arguments[1]) == "crowd") {
    bench_crowd();
    return 0;
  }
  bench_ring("star_64", R"("shape": "star", "hosts": 64)", 64);
  bench_ring("leaf_spine_64", R"("shape": "leaf_spine", "hosts": 64, "hosts_per_leaf": 8, "spines": 4)", 64);
  bench_calls("uncontended pairs of pthread_mutex_lock and unlock", "mutex", 100'000, " (goal 0)");
  bench_calls("calls that the process answers", "answered", 1'000'000, "");
  bench_calls("calls that the process answers, trapped", "answered", 1'000'000, "", {"--assume-missing", "jumps"});
  bench_calls("calls that the supervisor answers", "handed", 200'000, "");
  bench_calls("calls of epoll_wait() that find nothing", "nothing", 1'000'000, "");
  // Row after row of reads: each of a row takes longer in virtual time, and some reach the horizon and hand over.
  bench_calls("times 99 rdtsc in a row", "counter", 10'000, " (goal 0.05 us for each of the 99)");
  bench_calls("cpuid", "processor", 1'000'000, "");
  bench_calls("rdrand", "random", 1'000'000, "");
  bench_calls("cpuid that trap", "processor", 1'000'000, "", {"--assume-missing", "jumps"});
  bench_calls("stat() of a path of Linux's", "stat", 500'000, "");
  bench_calls("stat() of a path of /proc", "virtual", 20'000, "");
  for (const int count : {1'000, 20'000}) bench_forks(count);
  bench_crowd();
  bench_start("true", "true");
  bench_start("bash", "bash -c true");
  bench_start("python3", "python3 -c pass");
  return 0;
}
