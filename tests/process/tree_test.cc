// A host's adapters under /sys and /dev/infiniband, seen with common tools.
#include <unistd.h>

#include <sstream>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::RunReport;

const std::string kPort = "/sys/class/infiniband/mlx5_0/ports/1/";

std::string seen(const std::string& command) {
  const RunReport run = support::run({.commands = {"server=" + command}});
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.errors("server"), "") << run.story();
  // lscpu also searches for firmware of other machines; the warnings name these missing paths.
  for (const std::string warning : run.report["warnings"]) EXPECT_EQ(warning.find(": /sys"), std::string::npos) << warning;
  return run.output("server");
}

std::vector<std::uint64_t> numbers(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::uint64_t> values;
  for (std::uint64_t value; stream >> value;) values.push_back(value);
  return values;
}

TEST(Tree, ls_lists_adapters_and_their_devices) {
  EXPECT_EQ(seen("ls /sys/class/infiniband /sys/class/infiniband_verbs /sys/class/net /dev/infiniband"),
            "/dev/infiniband:\nissm0\nrdma_cm\numad0\nuverbs0\n\n/sys/class/infiniband:\nmlx5_0\n\n"
            "/sys/class/infiniband_verbs:\nabi_version\nuverbs0\n\n/sys/class/net:\neth0\nlo\n");
  const std::string longer = seen("ls -l /dev/infiniband/uverbs0 /sys/class/infiniband/mlx5_0");
  EXPECT_NE(longer.find("crw-rw-rw- 1 root root 231, 192 "), std::string::npos) << longer;
  EXPECT_NE(longer.find("mlx5_0 -> ../../devices/pci0000:00/0000:01:00.0/infiniband/mlx5_0\n"),
            std::string::npos);
}

TEST(Tree, cat_shows_the_attributes_of_a_port) {
  std::string command = "cat";
  for (const char* name :
       {"state", "phys_state", "rate", "link_layer", "lid", "sm_lid", "gids/0", "pkeys/0"}) {
    command += " " + kPort + name;
  }
  EXPECT_EQ(seen(command),
            "4: ACTIVE\n5: LinkUp\n100 Gb/sec (4X EDR)\nInfiniBand\n0x2\n0x1\n"
            "fe80:0000:0000:0000:0256:4200:0000:0201\n0xffff\n");
}

TEST(Tree, the_longest_backlog_of_connection_management_is_shown) {
  EXPECT_EQ(seen("cat /proc/sys/net/rdma_ucm/max_backlog"), "1024\n");
}

// /sys and the verbs library show the same GUIDs and LIDs.
TEST(Tree, agrees_with_ibv_devinfo) {
  const std::string info = seen("ibv_devinfo");
  std::string guid = seen("cat /sys/class/infiniband/mlx5_0/node_guid");
  guid.pop_back();
  EXPECT_NE(info.find(guid), std::string::npos) << info;
  const std::string firmware = seen("cat /sys/class/infiniband/mlx5_0/fw_ver");
  EXPECT_NE(info.find(firmware), std::string::npos) << info;
}

TEST(Tree, find_walks_it) {
  const std::string all =
      seen("find /sys/class/infiniband/mlx5_0/ -name 'port_*_data' -o -name uevent -o -name types");
  EXPECT_EQ(all,
            "/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data\n"
            "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data\n"
            "/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types\n");
}

// Like Linux: EINVAL for attributes that an entry lacks, an interface on InfiniBand, and all attributes of an
// empty entry.
TEST(Tree, entries_of_the_gid_table_have_their_attributes) {
  for (const bool roce : {false, true}) {
    support::RunRequest request;
    request.topology = roce ? "two_hosts_roce" : "two_hosts";
    const std::string folder = kPort + "gid_attrs/";
    request.commands = {"server=bash -c 'cd " + folder + "; ls ndevs | wc -l; cat types/0 types/7 ndevs/0 ndevs/7; echo $?'"};
    const RunReport run = support::run(request);
    const std::string invalid = ": Invalid argument\n";
    EXPECT_EQ(run.output("server"), roce ? "8\nRoCE v2\neth0\n1\n" : "8\nIB/RoCE v1\n1\n") << run.story();
    EXPECT_EQ(run.errors("server"), "cat: types/7" + invalid + (roce ? "" : "cat: ndevs/0" + invalid) + "cat: ndevs/7" + invalid);
  }
}

// For any installation path of the simulator, and any names in the file system.
TEST(Tree, memory_maps_do_not_tell_of_the_machine) {
  const std::string maps = seen("cat /proc/self/maps");
  EXPECT_NE(maps.find("/usr/lib/verbatim/libibverbs.so.1"), std::string::npos) << maps;
  EXPECT_EQ(maps.find("/build"), std::string::npos) << maps;
  EXPECT_EQ(seen("grep -c ' 08:01 .*/libc.so.6$' /proc/self/maps"), "5\n") << maps;
}

// Linux files that simulated hosts lack are missing for every process, with one warning.
TEST(Tree, files_of_processes_are_the_hosts_own) {
  EXPECT_EQ(seen("sh -c 'cd /proc/self; cat oom_score_adj cgroup io schedstat; head -1 limits; head -1 sched | cut -d\" \" -f1; "
                 "cut -c13- numa_maps | sort -u'"),
            "0\n0::/\nrchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n0 0 0\n"
            "Limit                     Soft Limit           Hard Limit           Units     \nsh\n default\n");
  for (const char* path : {"/proc/self/syscall", "/proc/$$/syscall", "/proc/$$/task/$$/syscall", "/sys/power/state"}) {
    const support::RunReport run =
        support::run({.commands = {std::string("server=sh -c 'sleep 0; cat ") + path + "; exit 0'"}});
    EXPECT_NE(run.errors("server").find("No such file or directory"), std::string::npos) << path << run.story();
    EXPECT_EQ(run.report["warnings"].size(), 1u) << path << run.story();
    EXPECT_EQ(run.report["determinism"], "exact");
  }
}

TEST(Tree, links_lead_to_the_bus) {
  EXPECT_EQ(seen("readlink -f /sys/class/infiniband/mlx5_0/device"),
            "/sys/devices/pci0000:00/0000:01:00.0\n");
  EXPECT_EQ(seen("ls /sys/bus/pci/devices"), "0000:01:00.0\n");
  EXPECT_EQ(seen("readlink -f /sys/bus/pci/devices/0000:01:00.0 /sys/class/infiniband/mlx5_0/device/subsystem"),
            "/sys/devices/pci0000:00/0000:01:00.0\n/sys/bus/pci\n");
  EXPECT_EQ(seen("readlink -f /sys/class/infiniband/mlx5_0/device/driver /sys/bus/pci/drivers/mlx5_core/0000:01:00.0"),
            "/sys/bus/pci/drivers/mlx5_core\n/sys/devices/pci0000:00/0000:01:00.0\n");
  EXPECT_EQ(seen("cat /sys/bus/pci/devices/0000:01:00.0/vendor"), seen("cat /sys/class/infiniband/mlx5_0/device/vendor"));
  EXPECT_EQ(seen("cat /sys/bus/pci/devices/0000:01:00.0/vendor"), "0x5642\n");  // 16 bits of the profile's OUI, 0x025642
  EXPECT_EQ(seen("cat /sys/class/infiniband_verbs/uverbs0/ibdev /sys/class/infiniband_verbs/uverbs0/dev"),
            "mlx5_0\n231:192\n");
}

TEST(Tree, the_oom_score_becomes_negative_with_a_privilege_only) {
  const support::RunReport run = support::run({.commands = {"server=sh -c 'echo -500 | tee /proc/self/oom_score_adj'"}});
  EXPECT_NE(run.errors("server").find("Permission denied"), std::string::npos) << run.story();
  EXPECT_TRUE(run.report["warnings"].empty()) << run.story();
}

TEST(Tree, an_interpreter_walks_it) {
  EXPECT_EQ(
      seen("python3 -c 'import os; p = \"/sys/class/infiniband/mlx5_0\"; print(os.listdir(p + \"/ports\"), "
           "os.path.islink(p), os.path.isfile(p + \"/node_guid\"), os.access(p + \"/node_guid\", os.W_OK), "
           "os.path.exists(p + \"/nothing\"), sum(len(f) for _, _, f in os.walk(p + "
           "\"/ports/1/counters\")))'"),
      "['1'] True True False False 21\n");
}

// Counters of a run's only two adapters: each has received what the other has sent, and together they are the
// run's packets.
TEST(Tree, port_counters_are_the_packets_of_the_run) {
  std::string counters;
  for (const char* name : {"port_xmit_packets", "port_rcv_packets", "port_xmit_data", "port_rcv_data"}) {
    counters += " " + kPort + "counters/" + name;
  }
  const RunReport run = support::run(
      {.commands = {
           "server=sh -c 'ibv_rc_pingpong -n 10 -s 4096 > /dev/null; sleep 1; cat" + counters + "'",
           "client=sh -c 'sleep 0.1; ibv_rc_pingpong -n 10 -s 4096 server > /dev/null; sleep 1; cat" +
               counters + "'"}});
  ASSERT_EQ(run.code, 0) << run.story();
  const auto server = numbers(run.output("server")), client = numbers(run.output("client"));
  ASSERT_EQ(server.size(), 4u) << run.story();
  ASSERT_EQ(client.size(), 4u);
  EXPECT_EQ(server[0], client[1]);
  EXPECT_EQ(server[1], client[0]);
  EXPECT_EQ(server[2], client[3]);
  EXPECT_EQ(server[3], client[2]);
  EXPECT_EQ(server[0] + client[0], run.report["packets"].get<std::uint64_t>());
  // Ten messages of four packets of 1 KiB, with headers (LRH 8, BTH 12) and ICRC (4), plus acknowledgements:
  // 24 or 28.
  EXPECT_GT(client[2] * 4, 10u * (4096 + 4 * 24));
  EXPECT_LT(client[2] * 4, 10u * (4096 + 4 * 24) + client[0] * 28);
}

// A program reads counters while packets arrive: the values are always current.
TEST(Tree, port_counters_are_those_of_the_moment) {
  if (::access("/usr/bin/ib_write_bw", X_OK) != 0) GTEST_SKIP() << "perftest is not installed";
  const std::string reader =
      "python3 -c 'import os, time\n"
      "f = os.open(\"" + kPort + "counters/port_rcv_packets\", os.O_RDONLY)\n"
      "while int(os.pread(f, 64, 0)) < 100: time.sleep(0.0001)\n"
      "print([int(os.pread(f, 64, 0)) for i in range(3000)])'";
  const auto run = [&](const std::vector<std::string>& options) {
    return support::run({.commands = {"server=ib_write_bw -s 8 -n 5000 -t 1", "client=ib_write_bw -s 8 -n 5000 -t 1 server",
                                      "server=" + reader},
                         .options = options});
  };
  const RunReport slices = run({}), oracle = run({"--call-by-call"});
  ASSERT_EQ(slices.code, 0) << slices.story();
  EXPECT_EQ(slices.digest(), oracle.digest());
  EXPECT_EQ(slices.out, oracle.out);
}

TEST(Tree, a_program_can_work_there) {
  EXPECT_EQ(seen("sh -c 'cd /sys/class/infiniband/mlx5_0/ports/1 && pwd -P && cat link_layer ../1/lid && ls -d ../../node_*'"),
            "/sys/devices/pci0000:00/0000:01:00.0/infiniband/mlx5_0/ports/1\nInfiniBand\n0x2\n"
            "../../node_desc\n../../node_guid\n../../node_type\n");
}

// Every interface shows one processor and one node.
TEST(Tree, the_processor_is_one_wherever_it_is_asked_about) {
  const std::string cpu = "/sys/devices/system/cpu/";
  EXPECT_EQ(seen("sh -c 'cd " + cpu + "cpu0; cat ../online topology/core_cpus_list cache/index3/size cache/index0/type "
                 "cache/index2/number_of_sets node0/cpulist ../../node/node0/distance /sys/bus/node/devices/node0/cpumap; "
                 "ls cache'"),
            "0\n0\n32768K\nData\n1024\n0\n10\n1\nindex0\nindex1\nindex2\nindex3\n");
  EXPECT_EQ(seen("sh -c 'cat /sys/devices/system/clocksource/clocksource0/*_clocksource'"), "tsc \ntsc\n");
  const std::string told = seen("lscpu");
  for (const char* line : {"CPU(s):                                  1\n", "L3 cache: 32 MiB (1 instance)\n",
                           "NUMA node0 CPU(s):                       0\n", "Socket(s):                               1\n"}) {
    std::string words = line, all = told;
    const auto squeeze = [](std::string& text) { std::erase(text, ' '); };
    squeeze(words);
    squeeze(all);
    EXPECT_NE(all.find(words), std::string::npos) << line << told;
  }
}

// The processes of a host, with the numbers that its programs know.
TEST(Tree, ps_shows_the_processes_of_the_host) {
  const std::string shown = seen("sh -c 'sleep 5 & ps -e -o pid,ppid,stat,comm; kill $!'");
  EXPECT_NE(shown.find("\n   1000       1 S"), std::string::npos) << shown;
  EXPECT_NE(shown.find(" sleep\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find(" ps\n"), std::string::npos) << shown;
}

}  // namespace
}  // namespace verbatim
