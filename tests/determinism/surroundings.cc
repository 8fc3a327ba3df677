#include "tests/determinism/surroundings.h"

#include <sched.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

namespace verbatim::determinism {

using support::RunReport;

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> kWorkloads = [] {
    const auto path = [](const char* name) {
      return support::quoted(std::string(PROCESS_FOLDER) + "/" + name);
    };
    std::vector<Workload> all = {
        {"polling", {"server=ibv_rc_pingpong -n 60", "client=ibv_rc_pingpong -n 60 server"}},
        {"events",
         {"server=ibv_rc_pingpong -e -c -n 12 -s 30001 -m 512",
          "client=ibv_rc_pingpong -e -c -n 12 -s 30001 -m 512 server"}},
        {"write_latency", {"server=ib_write_lat -n 15", "client=ib_write_lat -n 15 server"}},
        {"write_bandwidth", {"server=ib_write_bw -n 60 -q 2", "client=ib_write_bw -n 60 -q 2 server"}},
        {"send_bandwidth", {"server=ib_send_bw -e -b -n 30", "client=ib_send_bw -e -b -n 30 server"}},
        {"read_bandwidth", {"server=ib_read_bw -n 30", "client=ib_read_bw -n 30 server"}},
        {"send_latency", {"server=ib_send_lat -n 15 -s 5000", "client=ib_send_lat -n 15 -s 5000 server"}},
        {"devices", {"server=ibv_devinfo -v", "client=ibv_devices"}},
        {"sockets", {"server=" + path("server"), "client=" + path("client") + " server"}},
        {"spinning", {"server=" + path("spin"), "client=" + path("spin")}},
        {"threads", {"server=" + path("threads"), "client=" + path("threads")}},
        {"randomness", {"server=" + path("randomness"), "client=" + path("randomness")}}};
    if (::access("/usr/bin/python3", X_OK) == 0) {
      const std::string script =
          "import threading, time, random, os, sys\n"
          "out = []\n"
          "def work(n):\n"
          "    for i in range(5):\n"
          "        time.sleep(random.random() / 1000)\n"
          "        out.append((n, i, time.time_ns()))\n"
          "threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]\n"
          "[t.start() for t in threads]\n"
          "[t.join() for t in threads]\n"
          "print(out, hash(str(out)), id(out), {str(i) for i in range(20)}, os.getpid(), os.urandom(8), "
          "sorted(os.environ))";
      all.push_back({"python", {"server=/usr/bin/python3 -I -c \"" + script + "\""}});
    }
    return all;
  }();
  return kWorkloads;
}

RunReport run_in(const Surroundings& surroundings, const Workload& workload) {
  // Inherited by verbatim, a child of this process; its own addresses must not show.
  const int before = ::personality(0xffffffff);
  if (surroundings.without_aslr) ::personality(static_cast<unsigned long>(before) | ADDR_NO_RANDOMIZE);
  support::RunRequest request = surroundings.request;
  request.commands = workload.commands;
  request.trace = true;
  std::optional<Load> load;
  if (surroundings.loaded) load.emplace(1);
  RunReport run = support::run(request);
  load.reset();
  ::personality(static_cast<unsigned long>(before));
  EXPECT_EQ(run.code, 0) << workload.name << run.story();
  return run;
}

std::vector<RunReport> run_all(const Surroundings& surroundings) {
  std::vector<RunReport> runs;
  for (const Workload& workload : workloads()) runs.push_back(run_in(surroundings, workload));
  return runs;
}

namespace {

// The lines in which two texts differ first, for a person.
std::string first_difference(const std::string& a, const std::string& b) {
  const auto at =
      static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  if (at == a.size() && at == b.size()) return "";
  const std::size_t start = at == 0 ? std::string::npos : a.rfind('\n', at - 1);
  const std::size_t from = start == std::string::npos ? 0 : start + 1;
  const auto line = [&](const std::string& text) {
    return from >= text.size() ? "(the end)" : text.substr(from, text.find('\n', from) - from);
  };
  return "first: " + line(b) + "\nnow:   " + line(a);
}

}  // namespace

void expect_same(const RunReport& run, const RunReport& reference, Steps steps) {
  SCOPED_TRACE("repeat: " + run.command);
  EXPECT_EQ(run.digest().size(), 32u);
  EXPECT_EQ(run.digest(), reference.digest());
  EXPECT_FALSE(run.trace.empty());
  EXPECT_EQ(first_difference(run.trace, reference.trace), "");
  EXPECT_EQ(run.out, reference.out) << "what verbatim prints";
  EXPECT_EQ(run.outputs, reference.outputs) << "what the programs print";
  if (steps == Steps::kSame) {
    EXPECT_EQ(run.report["events"], reference.report["events"]);
  }
  for (const char* figure : {"virtual_time_ps", "packets", "packet_hops", "warnings", "findings", "determinism"})
    EXPECT_EQ(run.report[figure], reference.report[figure]) << figure;
}

void expect_same(const std::vector<RunReport>& runs, const std::vector<RunReport>& reference) {
  ASSERT_EQ(runs.size(), reference.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    SCOPED_TRACE(workloads()[i].name);
    expect_same(runs[i], reference[i]);
  }
}

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  return cores;
}

Load::Load(int per_processor) {
  const pid_t parent = ::getpid();
  for (const int core : allowed_cores()) {
    for (int i = 0; i < per_processor; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        ::sched_setaffinity(0, sizeof one, &one);
        while (true) asm volatile("");
      }
      if (child > 0) children_.push_back(child);
    }
  }
}

Load::~Load() {
  for (const pid_t child : children_) ::kill(child, SIGKILL);
  for (const pid_t child : children_) ::waitpid(child, nullptr, 0);
}

}  // namespace verbatim::determinism
