// Costs of `run --record` in a long run, and of the page of `verbatim report`: time to make it, size, time
// until a browser shows it, scrolling. The same for a run with as many flows. Argument: the number of packets
// and of flows, default a million.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/browser.h"
#include "tests/support/verbatim_run.h"

namespace {

struct Cost {
  double wall_seconds = 0, cpu_seconds = 0, peak_mb = 0;
};

Cost cost_of(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const auto begin = std::chrono::steady_clock::now();
  std::fflush(stdout);  // or the child prints it as well
  const pid_t child = ::fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stdout) == nullptr) ::_exit(126);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  rusage used{};
  ::wait4(child, &status, 0, &used);
  if (status != 0) std::printf("bench_report: %s ended with status %d\n", words[1].c_str(), status);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
          seconds(used.ru_utime) + seconds(used.ru_stime), static_cast<double>(used.ru_maxrss) / 1024};
}

double size_mb(const std::string& path) {
  struct stat file{};
  ::stat(path.c_str(), &file);
  return static_cast<double>(file.st_size) / 1e6;
}

constexpr int kTurns = 5;

constexpr char kScroll[] = R"((step) => new Promise((done) => {
  const ladder = document.getElementById('ladder'), begin = performance.now();
  let count = 0;
  const next = () => {
    ladder.scrollTop = step(++count, ladder);
    performance.now() - begin < 3000 ? requestAnimationFrame(next) : done(count / 3);
  };
  requestAnimationFrame(next);
}))";

// Flows of 1 KiB between 16 hosts of one switch.
void measure_flows(const std::string& folder, long flows) {
  using namespace verbatim::support;
  constexpr long kHosts = 16;
  const std::string scenario = folder + "/flows.json", recording = folder + "/flows.verbatim", page = folder + "/flows.html";
  std::ofstream(folder + "/star.json") << R"({"name": "star", "generate": {"shape": "star", "rate": "100 Gbps", "hosts": )" << kHosts
                                       << "}}";
  std::ofstream(scenario) << R"({"topology": "star.json", "workloads": [{"pattern": "random", "size": "1 KiB", "in_flight": 4, "flows": )"
                          << flows / kHosts << "}]}";
  const Cost run = cost_of({verbatim_program(), "run", "--quiet", "--record", recording, scenario});
  const Cost made = cost_of({verbatim_program(), "report", recording, "-o", page});
  std::printf("%ld flows: run %.1f s, %.0f MB; recording %.1f MB; ", flows / kHosts * kHosts, run.wall_seconds, run.peak_mb,
              size_mb(recording));
  std::printf("report %.1f s (goal: 20), %.0f MB (goal: 1000); page %.1f MB (goal: 15)\n", made.wall_seconds, made.peak_mb,
              size_mb(page));
  if (!Browser::is_installed()) return;
  Browser browser(folder + "/flows.profile");
  browser.open(page);
  if (!browser.is_running() || !browser.wait_for("document.documentElement.dataset.whole", 120)) {
    std::printf("bench_report: the browser does not show the flows\n");
    return;
  }
  std::printf("flows there after %s ms\n", browser.value_of("Math.round(performance.now())").dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  using namespace verbatim::support;
  const long packets = argc > 1 ? std::atol(argv[1]) : 1'000'000;
  const TemporaryFolder folder;
  measure_flows(folder.path(), packets);
  const std::string recording = folder.path() + "/run.verbatim", page = folder.path() + "/report.html";
  const std::string program = "ib_write_bw -F -s 4096 -n " + std::to_string(packets / 2);
  const std::vector<std::string> plain = {
      verbatim_program(), "run", "--quiet", "--log", "off", "--second-core", "never", "--topology", topology("two_hosts"),
      "server=" + program, "client=" + program + " server"};
  std::vector<std::string> recorded = plain;
  recorded.insert(recorded.begin() + 2, {"--record", recording});
  // In turns, and the least of each: what else the machine does only adds.
  Cost run, without;
  for (int i = 0; i < kTurns; ++i) {
    const Cost first = cost_of(plain), second = cost_of(recorded);
    if (i == 0 || first.cpu_seconds < without.cpu_seconds) without = first;
    if (i == 0 || second.cpu_seconds < run.cpu_seconds) run = second;
  }
  std::printf("--record: CPU %.2f s instead of %.2f s, %+.1f %% (goal: 15); file %.1f MB (goal: 60)\n", run.cpu_seconds,
              without.cpu_seconds, (run.cpu_seconds / without.cpu_seconds - 1) * 100, size_mb(recording));
  const Cost made = cost_of({verbatim_program(), "report", recording, "-o", page});
  std::printf("%ld packets: run %.1f s, report %.1f s wall, %.1f s CPU, %.0f MB; page %.1f MB, %.2f bytes a packet\n", packets,
              run.wall_seconds, made.wall_seconds, made.cpu_seconds, made.peak_mb, size_mb(page),
              size_mb(page) * 1e6 / static_cast<double>(packets));
  if (!Browser::is_installed()) return 0;
  Browser browser(folder.path() + "/profile");
  browser.open(page);
  if (!browser.is_running() || !browser.wait_for("document.documentElement.dataset.whole", 120)) {
    std::printf("bench_report: the browser does not show it\n");
    return 1;
  }
  const auto value = [&](const std::string& expression) { return browser.value_of(expression).dump(); };
  std::printf("rows there after %s ms (goal: 2000), blocks read before: %s\n", value("Number(document.documentElement.dataset.ready)").c_str(),
              value("Number(document.documentElement.dataset.blocks)").c_str());
  const std::string scroll = kScroll;
  std::printf("frames/s (goal: 30): %s from row to row, %s while jumping; heap %s MB\n",
              value("(" + scroll + ")((k, l) => l.scrollTop + 177 + k % 2 * 60)").c_str(),
              value("(" + scroll + ")((k, l) => (k * 7919) % 1000 / 1000 * (l.scrollHeight - l.clientHeight))").c_str(),
              value("Math.round(performance.memory.usedJSHeapSize / 1e6)").c_str());
  return 0;
}
