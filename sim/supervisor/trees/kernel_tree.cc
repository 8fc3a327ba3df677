// Files of /proc about the kernel itself, equal on all hosts and in all runs.
#include <string>
#include <utility>

#include "sim/supervisor/trees/process_tree.h"

namespace verbatim::supervisor {

namespace {

// sysctl(8) settings: Linux' defaults.
constexpr std::pair<const char*, const char*> kSettings[] = {
    {"fs/aio-max-nr", "65536"},
    {"fs/file-max", "9223372036854775807"},
    {"fs/file-nr", "0\t0\t9223372036854775807"},
    {"fs/nr_open", "1048576"},
    {"fs/pipe-max-size", "1048576"},
    {"fs/pipe-user-pages-soft", "16384"},
    {"fs/suid_dumpable", "0"},
    {"fs/mqueue/msg_default", "10"},
    {"fs/mqueue/msg_max", "10"},
    {"fs/mqueue/msgsize_default", "8192"},
    {"fs/mqueue/msgsize_max", "8192"},
    {"fs/mqueue/queues_max", "256"},
    {"kernel/cap_last_cap", "40"},
    {"kernel/core_pattern", "core"},
    {"kernel/core_uses_pid", "0"},
    {"kernel/domainname", "(none)"},
    {"kernel/msgmax", "8192"},
    {"kernel/msgmnb", "16384"},
    {"kernel/msgmni", "32000"},
    {"kernel/ngroups_max", "65536"},
    {"kernel/numa_balancing", "0"},
    {"kernel/ostype", "Linux"},
    {"kernel/overflowgid", "65534"},
    {"kernel/overflowuid", "65534"},
    {"kernel/perf_event_paranoid", "4"},
    {"kernel/pid_max", "4194304"},
    {"kernel/randomize_va_space", "0"},
    {"kernel/sched_rt_runtime_us", "950000"},
    {"kernel/sem", "32000\t1024000000\t500\t32000"},
    {"kernel/shmall", "18446744073692774399"},
    {"kernel/shmmax", "18446744073692774399"},
    {"kernel/shmmni", "4096"},
    {"kernel/tainted", "0"},
    {"kernel/threads-max", "127000"},
    {"kernel/version", "#1 SMP PREEMPT_DYNAMIC"},
    {"kernel/yama/ptrace_scope", "0"},
    {"kernel/random/entropy_avail", "256"},
    {"kernel/random/poolsize", "256"},
    {"net/core/netdev_max_backlog", "1000"},
    {"net/core/optmem_max", "20480"},
    {"net/core/rmem_default", "212992"},
    {"net/core/rmem_max", "212992"},
    {"net/core/somaxconn", "4096"},
    {"net/core/wmem_default", "212992"},
    {"net/core/wmem_max", "212992"},
    {"net/ipv4/igmp_max_memberships", "20"},
    {"net/ipv4/igmp_max_msf", "10"},
    {"net/ipv4/ip_forward", "0"},
    {"net/ipv4/ip_local_port_range", "32768\t60999"},
    {"net/ipv4/ping_group_range", "0\t2147483647"},
    {"net/ipv4/tcp_adv_win_scale", "1"},
    {"net/ipv4/tcp_available_congestion_control", "reno cubic"},
    {"net/ipv4/tcp_congestion_control", "cubic"},
    {"net/ipv4/tcp_fastopen", "1"},
    {"net/ipv4/tcp_fin_timeout", "60"},
    {"net/ipv4/tcp_keepalive_intvl", "75"},
    {"net/ipv4/tcp_keepalive_probes", "9"},
    {"net/ipv4/tcp_keepalive_time", "7200"},
    {"net/ipv4/tcp_max_syn_backlog", "1024"},
    {"net/ipv4/tcp_moderate_rcvbuf", "1"},
    {"net/ipv4/tcp_no_metrics_save", "0"},
    {"net/ipv4/tcp_rmem", "4096\t131072\t6291456"},
    {"net/ipv4/tcp_sack", "1"},
    {"net/ipv4/tcp_syncookies", "1"},
    {"net/ipv4/tcp_timestamps", "1"},
    {"net/ipv4/tcp_window_scaling", "1"},
    {"net/ipv4/tcp_wmem", "4096\t16384\t4194304"},
    {"net/ipv6/conf/all/disable_ipv6", "0"},
    {"net/ipv6/conf/default/disable_ipv6", "0"},
    {"net/rdma_ucm/max_backlog", "1024"},  // kMostBacklog of sim/cm
    {"vm/max_map_count", "65530"},
    {"vm/mmap_min_addr", "65536"},
    {"vm/nr_overcommit_hugepages", "0"},
    {"vm/overcommit_memory", "0"},
    {"vm/overcommit_ratio", "50"},
    {"vm/swappiness", "60"},
};

}  // namespace

void add_kernel_settings(VirtualTree& tree, const HugePagePool& huge_pages) {
  for (const auto& [name, value] : kSettings) {
    tree.add_file(std::string("/proc/sys/") + name, std::string(value) + "\n");
  }
  for (const char* name : {"nr_hugepages", "nr_hugepages_mempolicy"}) {
    tree.add_file(std::string("/proc/sys/vm/") + name, std::to_string(huge_pages.total(0)) + "\n");
  }
  tree.add_file("/proc/sys/vm/hugetlb_shm_group", "0\n");
  for (const char* absent : {"/proc/sys/net/econet", "/proc/sys/net/ash"}) tree.mark_absent(absent);
}

void add_kernel_facts(VirtualTree& tree) {
  tree.add_file("/proc/cmdline", "quiet\n");
  tree.add_file(
      "/proc/devices",
      "Character devices:\n  1 mem\n  5 /dev/tty\n 10 misc\n231 infiniband_verbs\n\nBlock devices:\n");
  tree.add_file("/proc/filesystems",
                "nodev\tsysfs\nnodev\ttmpfs\nnodev\tproc\nnodev\tdevtmpfs\nnodev\thugetlbfs\n\text4\n");
  tree.add_file("/proc/modules", "");
  tree.add_file("/proc/partitions", "major minor  #blocks  name\n\n");
  tree.add_file("/proc/diskstats", "");
  tree.add_file("/proc/vmstat",
                "nr_free_pages 2097152\npgpgin 0\npgpgout 0\npswpin 0\npswpout 0\npgalloc_normal 0\npgfree "
                "0\npgfault 0\n"
                "pgmajfault 0\noom_kill 0\n");
  tree.add_file("/proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
  tree.mark_complete("/proc/bus");
  for (const char* absent : {"/proc/xen", "/proc/sysinfo", "/proc/driver", "/proc/kallsyms", "/proc/elog",
                             "/proc/efi", "/proc/iSeries", "/proc/device-tree", "/proc/vz"})
    tree.mark_absent(absent);
}

}  // namespace verbatim::supervisor
