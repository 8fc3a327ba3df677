#include "tests/determinism/surroundings.h"

#include <sched.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace verbatim::determinism {

using support::RunReport;

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> kWorkloads = [] {
    const auto path = [](const char* name) {
      return support::quoted(std::string(PROCESS_FOLDER) + "/" + name);
    };
    std::vector<Workload> all = {
        {"polling", {"server=ibv_rc_pingpong -n 200", "client=ibv_rc_pingpong -n 200 server"}},
        {"events",
         {"server=ibv_rc_pingpong -e -c -n 50 -s 30001 -m 512",
          "client=ibv_rc_pingpong -e -c -n 50 -s 30001 -m 512 server"}},
        {"write_latency", {"server=ib_write_lat -n 50", "client=ib_write_lat -n 50 server"}},
        {"write_bandwidth", {"server=ib_write_bw -n 200 -q 2", "client=ib_write_bw -n 200 -q 2 server"}},
        {"send_bandwidth", {"server=ib_send_bw -e -b -n 100", "client=ib_send_bw -e -b -n 100 server"}},
        {"read_bandwidth", {"server=ib_read_bw -n 100", "client=ib_read_bw -n 100 server"}},
        {"send_latency", {"server=ib_send_lat -n 50 -s 5000", "client=ib_send_lat -n 50 -s 5000 server"}},
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

std::vector<RunReport> run_all(const Surroundings& surroundings) {
  std::vector<RunReport> runs;
  // Inherited by verbatim, which is a child: whatever its own addresses are must not show.
  const int before = ::personality(0xffffffff);
  if (surroundings.without_aslr) ::personality(static_cast<unsigned long>(before) | ADDR_NO_RANDOMIZE);
  for (const Workload& workload : workloads()) {
    support::RunRequest request = surroundings.request;
    request.commands = workload.commands;
    request.trace = true;
    if (surroundings.loaded) {
      const Load load(2);
      runs.push_back(support::run(request));
    } else {
      runs.push_back(support::run(request));
    }
    EXPECT_EQ(runs.back().code, 0) << workload.name << runs.back().story();
  }
  ::personality(static_cast<unsigned long>(before));
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

void expect_same(const std::vector<RunReport>& runs, const std::vector<RunReport>& reference, Steps steps) {
  ASSERT_EQ(runs.size(), reference.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    SCOPED_TRACE(workloads()[i].name + "\nrepeat: " + runs[i].command);
    EXPECT_EQ(runs[i].digest().size(), 32u);
    EXPECT_EQ(runs[i].digest(), reference[i].digest());
    EXPECT_FALSE(runs[i].trace.empty());
    EXPECT_EQ(first_difference(runs[i].trace, reference[i].trace), "");
    EXPECT_EQ(runs[i].out, reference[i].out) << "what verbatim prints";
    EXPECT_EQ(runs[i].outputs, reference[i].outputs) << "what the programs print";
    if (steps == Steps::kSame) {
      EXPECT_EQ(runs[i].report["events"], reference[i].report["events"]);
    }
    for (const char* figure :
         {"virtual_time_ps", "packets", "packet_hops", "warnings", "findings", "determinism"}) {
      EXPECT_EQ(runs[i].report[figure], reference[i].report[figure]) << figure;
    }
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
