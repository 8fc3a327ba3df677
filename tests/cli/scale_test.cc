// Many hosts and processes: counts and bytes, no durations.
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/core/sanitizer.h"
#include "tests/cli/command.h"
#include "tests/config/helpers.h"

namespace verbatim::cli {
namespace {

using config::Folder;

// /etc/hosts has two lines for each host; files of simulated hosts have no maximum size.
TEST(ManyHosts, etc_hosts_has_every_name) {
  Folder folder;
  const std::string topology = folder.path() + "/many.json";
  std::ofstream(topology) << R"({"name": "many", "link_layer": "infiniband",
    "generate": {"shape": "leaf_spine", "hosts": 1500, "hosts_per_leaf": 32, "spines": 2, "rate": "EDR 4x", "length": "2 m"},
    "management_network": {"latency": "20 us", "bandwidth": "10 Gbps"}})";
  const Finished run = verbatim(
      {"run", "--topology", topology,
       "h0=/usr/bin/python3 -I -c 'import os, socket\nfile = os.open(\"/etc/hosts\", 0)\n"
       "print(len(os.read(file, 1 << 20)) == len(os.pread(file, 1 << 20, 16384)) + 16384,"
       " open(\"/etc/hosts\").read().count(chr(10)),"
       " sum(socket.gethostbyname(f\"h{i}\") != \"\" for i in range(1000, 1500, 25)))'"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "h0| True 3002 20\n") << run.err;
}

std::int64_t memory_with_forks(int forks) {
  Folder folder;
  const Finished run =
      verbatim({"run", "--quiet", "--out", folder.path(), "--topology", kTopology,
                "server=/bin/dash -c 'i=0; while [ $i -lt " + std::to_string(forks) + " ]; do ( : ); i=$((i + 1)); done'"});
  EXPECT_EQ(run.code, 0) << run.err;
  std::ifstream file(folder.path() + "/run.json");
  return nlohmann::json::parse(file)["peak_memory_kib"].get<std::int64_t>();
}

TEST(ManyProcesses, nothing_is_kept_of_those_that_have_ended) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "AddressSanitizer keeps what is freed for a while";
  constexpr int kFew = 200, kMany = 1200;
  const std::int64_t few = memory_with_forks(kFew), many = memory_with_forks(kMany);
  EXPECT_LT(many - few, (kMany - kFew) / 2) << "KiB more, half of one a process";
}

}  // namespace
}  // namespace verbatim::cli
