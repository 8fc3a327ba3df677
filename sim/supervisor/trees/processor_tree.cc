#include "sim/supervisor/trees/processor_tree.h"

#include <fmt/format.h>

#include "sim/supervisor/code/processor.h"

namespace verbatim::supervisor {

namespace {

constexpr const char* kProcessors = "/sys/devices/system/cpu";
constexpr const char* kNodes = "/sys/devices/system/node";
constexpr unsigned kMemoryKib = 16u << 20, kFreeKib = 8u << 20;  // as in sysinfo(2) and /proc/meminfo

void add_topology(VirtualTree& tree, const std::string& folder) {
  for (const char* name : {"core_id", "physical_package_id", "die_id", "ppin"}) tree.add_file(folder + name, "0\n");
  tree.add_file(folder + "cluster_id", "65535\n");
  for (const char* name : {"thread_siblings", "core_siblings", "core_cpus", "die_cpus", "package_cpus", "cluster_cpus"}) {
    tree.add_file(folder + name, "1\n");
    tree.add_file(folder + name + "_list", "0\n");
  }
}

void add_caches(VirtualTree& tree, const std::string& folder) {
  int index = 0;
  for (const code::Cache& cache : code::kCaches) {
    const std::string at = fmt::format("{}index{}/", folder, index++);
    const auto add = [&](const char* name, const auto& value) { tree.add_file(at + name, fmt::format("{}\n", value)); };
    add("level", cache.level);
    add("type", cache.type);
    add("size", fmt::format("{}K", cache.kilobytes));
    add("ways_of_associativity", cache.ways);
    add("coherency_line_size", code::kCacheLine);
    add("number_of_sets", cache.kilobytes * 1024 / cache.ways / code::kCacheLine);
    add("physical_line_partition", 1);
    add("id", 0);
    add("shared_cpu_map", 1);
    add("shared_cpu_list", 0);
  }
}

void add_node(VirtualTree& tree) {
  const std::string node = std::string(kNodes) + "/node0";
  tree.add_file(node + "/cpulist", "0\n");
  tree.add_file(node + "/cpumap", "1\n");
  tree.add_file(node + "/distance", "10\n");
  tree.add_file(node + "/meminfo",
                fmt::format("Node 0 MemTotal:       {} kB\nNode 0 MemFree:        {} kB\nNode 0 MemUsed:        {} kB\n"
                            "Node 0 HugePages_Total:     0\nNode 0 HugePages_Free:      0\n",
                            kMemoryKib, kFreeKib, kMemoryKib - kFreeKib));
  tree.add_file(node + "/numastat",
                "numa_hit 0\nnuma_miss 0\nnuma_foreign 0\ninterleave_hit 0\nlocal_node 0\nother_node 0\n");
  tree.add_link(node + "/cpu0", "../../cpu/cpu0");
  for (const char* name : {"has_cpu", "has_memory", "has_normal_memory"}) {
    tree.add_file(std::string(kNodes) + "/" + name, "0\n");
  }
  tree.add_link("/sys/bus/node/devices/node0", "../../../devices/system/node/node0");
}

}  // namespace

void add_processor(VirtualTree& tree, std::uint64_t timestamp_counter_hz) {
  const std::string processors = kProcessors, one = processors + "/cpu0";
  for (const char* name : {"/online", "/possible", "/present"}) {
    tree.add_file(processors + name, "0\n");
    tree.add_file(std::string(kNodes) + name, "0\n");
  }
  for (const char* name : {"/offline", "/isolated", "/nohz_full"}) tree.add_file(processors + name, "\n");
  tree.add_file(processors + "/kernel_max", "0\n");
  tree.add_file(processors + "/smt/active", "0\n");
  tree.add_file(processors + "/smt/control", "notsupported\n");
  tree.add_file(processors + "/modalias", "cpu:type:x86,ven0000fam0006mod006A:feature:\n");
  add_topology(tree, one + "/topology/");
  add_caches(tree, one + "/cache/");
  const std::uint64_t khz = timestamp_counter_hz / 1000;
  for (const char* name : {"base_frequency", "cpuinfo_max_freq", "cpuinfo_min_freq", "scaling_cur_freq",
                           "scaling_max_freq", "scaling_min_freq"}) {
    tree.add_file(one + "/cpufreq/" + name, fmt::format("{}\n", khz));
  }
  tree.add_link(one + "/node0", "../../node/node0");
  tree.add_link(one + "/subsystem", "../../../../bus/cpu");
  tree.add_link("/sys/bus/cpu/devices/cpu0", "../../../devices/system/cpu/cpu0");
  add_node(tree);
  const std::string clock_source = "/sys/devices/system/clocksource";
  tree.add_file(clock_source + "/clocksource0/available_clocksource", "tsc \n");
  tree.add_file(clock_source + "/clocksource0/current_clocksource", "tsc\n");
  tree.mark_complete(clock_source);
  tree.mark_complete(kProcessors);
  tree.mark_complete(kNodes);
  for (const char* folder : {"/sys/bus/cpu", "/sys/bus/node", "/sys/devices/virtual", "/sys/class"}) {
    tree.mark_complete(folder);
  }
  // No firmware tables and no hypervisor.
  tree.mark_absent("/sys/firmware");
  tree.mark_absent("/sys/hypervisor");
  // No CXL memory, no GPU peer memory, no PCI slot numbers, no hybrid processors, no weighted interleave, no
  // mounted cpusets.
  for (const char* absent :
       {"/sys/bus/cxl", "/sys/bus/dax", "/sys/bus/pci/slots", "/sys/kernel/mm/memory_peers", "/dev/kfd", "/sys/devices/cpu_atom",
        "/sys/devices/cpu_core", "/sys/devices/cpu_lowpower", "/sys/bus/soc", "/sys/kernel/mm/mempolicy", "/dev/cpuset"}) {
    tree.mark_absent(absent);
  }
}

}  // namespace verbatim::supervisor
