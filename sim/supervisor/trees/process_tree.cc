#include "sim/supervisor/trees/process_tree.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/supervisor/files/inotify_file.h"
#include "sim/supervisor/net/interfaces.h"
#include "sim/supervisor/spec/kernel_time.h"
#include "sim/supervisor/trees/changing_memory.h"
#include "sim/supervisor/trees/socket_tables.h"
#include "sim/supervisor/trees/virtual_paths.h"

namespace verbatim::supervisor {

namespace {

constexpr std::int64_t kTicksPerSecond = 100;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string target_of(const std::string& path) {
  std::error_code error;
  return std::filesystem::read_symlink(path, error);
}

using NumberOf = std::function<std::uint64_t(std::uint64_t device, std::uint64_t inode)>;

// Linux names a file of O_TMPFILE "#INODE (deleted)": with the inode number that programs see.
std::string with_seen_number(const std::string& path, const std::function<std::uint64_t()>& number) {
  const std::size_t name = path.rfind('/') + 1;
  const std::size_t end = std::min(path.find_first_not_of("0123456789", name + 1), path.size());
  const bool has_number = name < path.size() && path[name] == '#' && end > name + 1;
  if (!has_number || path.substr(end) != " (deleted)") return path;
  return path.substr(0, name) + fmt::format("#{}", number()) + path.substr(end);
}

std::string open_file_name(const std::string& link, const ProcessTreeInputs& inputs) {
  return with_seen_number(inputs.paths.seen(target_of(link)), [&] {
    struct stat status {};
    stat(link.c_str(), &status);
    return inputs.number_of(status.st_dev, status.st_ino);
  });
}

std::int64_t uptime_ticks(Instant now) {
  return (kUptimeNs + to_ps(now) / 1000) / (1'000'000'000 / kTicksPerSecond);
}

std::string map_line(std::string line, const std::string& name) {
  constexpr std::size_t kNameColumn = 73;
  line += std::string(line.size() < kNameColumn ? kNameColumn - line.size() : 1, ' ');
  return line + name;
}

// /proc/PID/maps without properties of the machine: inode and device numbers, the simulator's installation
// folder, and whether the kernel maps [vsyscall]. [vdso] and [vvar] appear as inaccessible memory.
std::string maps_of(Process& process, const std::string& native, const HostPaths& paths, const NumberOf& number_of) {
  const std::string maps = with_rights_of_program(content_of(native + "/maps"), changing_ranges_of(process));
  // ThreadSanitizer kills a program that has accessible memory in this range.
  const bool is_watched = maps.find(fmt::format("\n{:x}-", protocol::kWatchedLibrariesEnd)) != std::string::npos;
  std::string text;
  text.reserve(maps.size());
  for (std::size_t at = 0, next = 0; at < maps.size(); at = next) {
    next = std::min(maps.find('\n', at), maps.size() - 1) + 1;
    const std::string_view line(maps.data() + at, next - at);  // with its newline
    std::string_view rest = line;
    const auto field = [&rest] {
      const std::string_view first = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(first.size() + 1, rest.size()));
      return first;
    };
    const std::string_view range = field(), given_rights = field(), offset = field();
    const std::size_t named = rest.find_first_of("/[");
    const std::string_view name = named == std::string_view::npos ? "" : rest.substr(named, rest.find('\n') - named);
    if (name == "[vsyscall]") continue;
    std::uint64_t from = 0;
    std::from_chars(range.data(), range.data() + range.size(), from, 16);
    const bool is_closed = is_watched && from >= protocol::kShimStart && from < protocol::kShimEnd;
    const std::string_view rights = is_closed ? "---p" : given_rights;
    const bool is_taken = from >= protocol::kTakenBegin && from < protocol::kTakenEnd && name.empty() && rights == "---p";
    if (is_taken) continue;  // reserved by the simulator, to keep the range free
    if (name == "[vdso]" || name.starts_with("[vvar")) {
      text.append(range) += " ---p 00000000 00:00 0 \n";
    } else if (name.starts_with("/memfd:")) {
      text += map_line(fmt::format("{} {} {} 00:01 0", range, rights, offset), "/memfd:shared (deleted)") + "\n";
    } else if (name.starts_with('/')) {
      // The simulator's installation folder and the machine's inode numbers are not part of the run.
      const bool of_shim = from >= protocol::kRuntimeImage && from < protocol::kRegionAddress;
      const auto number_on_host = [&] {
        unsigned major_number = 0, minor_number = 0;
        unsigned long inode = 0;
        std::sscanf(std::string(rest).c_str(), "%x:%x %lu", &major_number, &minor_number, &inode);
        return number_of(makedev(major_number, minor_number), inode);
      };
      const std::string seen = of_shim ? "/usr/lib/verbatim" + std::string(name.substr(name.rfind('/')))
                                       : with_seen_number(paths.seen(std::string(name)), number_on_host);
      const std::uint64_t number = protocol::number_of_path(seen.data(), seen.size()) & 0xff'ffff;
      text += map_line(fmt::format("{} {} {} 08:01 {}", range, rights, offset, number), seen) + "\n";
    } else if (is_closed) {
      text += fmt::format("{} {} 00000000 00:00 0 \n", range, rights);
    } else {
      text += line;
    }
  }
  return text;
}

char state_of(const Process& process, bool running) {
  return process.stopped_by != 0 ? 'T' : running ? 'R' : 'S';
}

std::string comm_of(const std::string& native) {
  std::string comm = content_of(native + "/comm");
  if (!comm.empty() && comm.back() == '\n') comm.pop_back();
  return comm;
}

std::size_t living_threads(Process& process) {
  return static_cast<std::size_t>(
      std::count_if(process.threads().begin(), process.threads().end(),
                    [](const auto& t) { return t->state() != Thread::State::kDead; }));
}

// proc(5), /proc/[pid]/stat: values that the simulation does not count are 0.
using TerminalOf = std::function<std::pair<std::uint32_t, std::int32_t>(Process&)>;

std::string stat_of(Process& process, std::uint32_t id, const std::string& native, bool running, const TerminalOf& terminal_of) {
  const auto [terminal, foreground] = terminal_of(process);
  return fmt::format(
      "{} ({}) {} {} {} {} {} {} 4194304 0 0 0 0 0 0 0 0 20 0 {} 0 {} 0 0 18446744073709551615 0 0 0 0 0 0 0 "
      "0 0 0 0 0 "
      "17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
      id, comm_of(native), state_of(process, running), process.family().parent, process.family().group,
      process.family().session, terminal, foreground, living_threads(process), uptime_ticks(Instant{}));
}

const Credentials& credentials_of(Process& process, std::uint32_t tid) {
  for (const auto& thread : process.threads()) {
    if (thread->tid() == tid) return thread->credentials;
  }
  return process.credentials();
}

std::string status_of(Process& process, std::uint32_t id, const std::string& native, bool running) {
  std::uint64_t ignored = 0, caught = 0;
  for (int signal = 1; signal <= 64; ++signal) {
    const auto disposition = process.disposition(signal);
    const std::uint64_t bit = 1ull << (signal - 1);
    if (disposition == protocol::kSignalIgnored) ignored |= bit;
    if (disposition == protocol::kSignalHandled || disposition == protocol::kSignalHandledRestart)
      caught |= bit;
  }
  const char state = state_of(process, running);
  std::string text = fmt::format(
      "Name:\t{}\nUmask:\t{:04o}\nState:\t{}\nTgid:\t{}\nNgid:\t0\nPid:\t{}\nPPid:\t{}\nTracerPid:\t0\n",
      comm_of(native), process.file_mask(),
      state == 'R'   ? "R (running)"
      : state == 'T' ? "T (stopped)"
                     : "S (sleeping)",
      process.pid(), id, process.family().parent);
  const Credentials& credentials = credentials_of(process, id);
  text += credentials.id_lines();
  return text + fmt::format(
                    "Threads:\t{}\nSigIgn:\t{:016x}\nSigCgt:\t{:016x}\n{}NoNewPrivs:\t1\nCpus_allowed:\t1\n"
                    "Cpus_allowed_list:\t0\nMems_allowed:\t1\nMems_allowed_list:\t0\n"
                    "voluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n",
                    living_threads(process), ignored, caught, credentials.capability_lines());
}

// A write to /proc/PID/oom_score_adj. No process has CAP_SYS_RESOURCE, without which the value cannot become negative.
int adjust_oom_score(Process& process, std::string_view text) {
  constexpr int kMost = 1000;  // OOM_SCORE_ADJ_MAX
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  if (text.starts_with('+')) text.remove_prefix(1);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < -kMost || value > kMost) return EINVAL;
  if (value < 0) return EACCES;
  process.oom_score_adjustment = value;
  return 0;
}

// Files of /proc/[pid] about memory. Values that the simulation does not count are 0.
void add_memory(VirtualTree& tree, Process& process, const std::string& folder, const std::string& native,
                const ProcessTreeInputs& inputs) {
  const auto maps = [&process, native, &paths = inputs.paths, number_of = inputs.number_of] {
    return maps_of(process, native, paths, number_of);
  };
  tree.add_file(folder + "/maps", maps);
  static constexpr const char* kNothing =
      "Rss:                   0 kB\nPss:                   0 kB\nShared_Clean:          0 kB\n"
      "Shared_Dirty:          0 kB\nPrivate_Clean:         0 kB\nPrivate_Dirty:         0 kB\n"
      "Referenced:            0 kB\nAnonymous:             0 kB\nSwap:                  0 kB\n"
      "Locked:                0 kB\n";
  tree.add_file(folder + "/smaps", [maps] {
    std::istringstream lines(maps());
    std::string text;
    for (std::string line; std::getline(lines, line);) {
      std::uint64_t from = 0, to = 0;
      std::sscanf(line.c_str(), "%lx-%lx", &from, &to);
      text += fmt::format("{}\nSize:           {:8} kB\nKernelPageSize:        4 kB\n"
                          "MMUPageSize:           4 kB\n{}",
                          line, (to - from) / 1024, kNothing);
    }
    return text;
  });
  tree.add_file(folder + "/smaps_rollup",
                fmt::format("000000000000-7fffffffffff ---p 00000000 00:00 0 [rollup]\n{}", kNothing));
  tree.add_file(folder + "/numa_maps", [maps] {
    std::istringstream lines(maps());
    std::string text;
    for (std::string line; std::getline(lines, line);) text += line.substr(0, line.find('-')) + " default\n";
    return text;
  });
  tree.add_file(folder + "/oom_score", "0\n");
  tree.add_file(folder + "/oom_score_adj", [&process] { return fmt::format("{}\n", process.oom_score_adjustment); });
  tree.at(folder + "/oom_score_adj")->store = [&process](std::string_view text) {
    return adjust_oom_score(process, text);
  };
  tree.add_file(folder + "/oom_adj", "0\n");
  tree.add_file(folder + "/coredump_filter", "00000033\n");
}

// /proc/net/vlan, padded as by Linux' 8021q module; it exists only if there is a VLAN. The counts are 0:
// adapters count packets.
void add_vlans(VirtualTree& tree, const std::string& folder, const std::vector<Interface>& interfaces) {
  std::string all = "VLAN Dev name\t | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\n";
  bool has_any = false;
  for (const Interface& one : interfaces) {
    if (!one.vlan) continue;
    has_any = true;
    const std::string& parent = interfaces.at(static_cast<std::size_t>(one.vlan->parent) - kLoopbackIndex).name;
    all += fmt::format("{:<15}| {}  | {}\n", one.name, one.vlan->id, parent);
    std::string text = fmt::format("{}  VID: {}\t REORDER_HDR: 1  dev->priv_flags: 1021\n", one.name, one.vlan->id);
    const auto count = [&](const char* what) { text += fmt::format("{:>30} {:>12}\n", what, 0); };
    count("total frames received");
    count("total bytes received");
    count("Broadcast/Multicast Rcvd");
    text += "\n";
    count("total frames transmitted");
    count("total bytes transmitted");
    text += fmt::format("Device: {}\nINGRESS priority mappings: 0:0  1:0  2:0  3:0  4:0  5:0  6:0 7:0\n EGRESS priority mappings: \n",
                        parent);
    tree.add_file(folder + "/" + one.name, text);
  }
  if (has_any) tree.add_file(folder + "/config", all);
}

// /proc/net/if_inet6 and route, padded as in Linux; IPv4 addresses are in memory byte order.
void add_addresses(VirtualTree& tree, const std::string& folder, const HostSpec& host) {
  const std::vector<Interface> interfaces = interfaces_of(host);
  constexpr int kOfHost = 0x10, kGlobal = 0, kPermanent = 0x80;
  std::string addresses;
  for (const Interface& one : interfaces) {
    for (const std::uint8_t byte : one.v6.bytes()) addresses += fmt::format("{:02x}", byte);
    addresses += fmt::format(" {:02x} {:02x} {:02x} {:02x} {:>8}\n", one.index, one.prefix6_bits,
                             one.is_loopback() ? kOfHost : kGlobal, kPermanent, one.name);
  }
  tree.add_file(folder + "/if_inet6", addresses);
  std::string routes = fmt::format(
      "{:<127}\n", "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT");
  for (const ib::IpRoute& route : routes_of(host)) {
    const std::uint32_t mask = ib::network_of(~std::uint32_t{0}, route.network.prefix_bits);
    const std::string& name = interfaces.at(static_cast<std::size_t>(interface_index(route.adapter)) - kLoopbackIndex).name;
    routes += fmt::format("{:<127}\n", fmt::format("{}\t{:08X}\t00000000\t0001\t0\t0\t0\t{:08X}\t0\t0\t0", name,
                                                  htonl(route.network.address), htonl(mask)));
  }
  tree.add_file(folder + "/route", routes);
  add_vlans(tree, folder + "/vlan", interfaces);
}

void add_mounts(VirtualTree& tree, const std::string& folder) {
  constexpr std::pair<const char*, const char*> kMounts[] = {
      {"verbatim / ext4", "rw,relatime"},    {"proc /proc proc", "rw,nosuid,nodev,noexec,relatime"},
      {"sysfs /sys sysfs", "rw,nosuid,nodev,noexec,relatime"}, {"dev /dev devtmpfs", "rw,nosuid"},
      {"shm /dev/shm tmpfs", "rw,nosuid,nodev"}, {"run /run tmpfs", "rw,nosuid,nodev"},
      {"tmp /tmp tmpfs", "rw,nosuid,nodev"}, {"hugetlbfs /dev/hugepages hugetlbfs", "rw,relatime,pagesize=2M"}};
  std::string mounts, information, statistics;
  int number = 20;
  for (const auto& [what, how] : kMounts) {
    mounts += fmt::format("{} {} 0 0\n", what, how);
    std::istringstream words(what);
    std::string source, at, kind;
    words >> source >> at >> kind;
    information += fmt::format("{0} {1} 0:{0} / {2} {3} - {4} {5} rw\n", number, number == 20 ? 1 : 20, at, how, kind,
                               source);
    statistics += fmt::format("device {} mounted on {} with fstype {}\n", source, at, kind);
    ++number;
  }
  tree.add_file(folder + "/mounts", mounts);
  tree.add_file(folder + "/mountinfo", information);
  tree.add_file(folder + "/mountstats", statistics);
}

// Files of /proc/[pid] about its environment: limits, control groups, mounts, namespaces.
void add_surroundings(VirtualTree& tree, const std::string& folder, Process& process) {
  tree.add_file(folder + "/environ", [&process] { return process.environment; });
  tree.add_file(folder + "/auxv", [&process] { return process.auxiliary_vector; });
  tree.add_file(folder + "/limits", [&process] { return process.limits.text(); });
  tree.add_file(folder + "/cgroup", "0::/\n");
  tree.add_file(folder + "/cpuset", "/\n");
  tree.add_file(folder + "/io",
                "rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\n"
                "cancelled_write_bytes: 0\n");
  tree.add_file(folder + "/sched", [&process] {
    return fmt::format("{} ({}, #threads: {})\n-------------------------------------------------------------------\n"
                       "policy                                       :                    0\n"
                       "prio                                         :                  120\n",
                       process.name(), process.pid(), living_threads(process));
  });
  tree.add_file(folder + "/schedstat", "0 0 0\n");
  tree.mark_absent(folder + "/ctty");  // of older Linux
  tree.mark_absent(folder + "/attr");  // no security module
  tree.add_file(folder + "/wchan", "0");
  tree.add_file(folder + "/loginuid", "4294967295");
  tree.add_file(folder + "/sessionid", "4294967295");
  tree.add_file(folder + "/personality", "00040000\n");
  tree.add_file(folder + "/setgroups", "allow\n");
  for (const char* map : {"/uid_map", "/gid_map"}) {
    tree.add_file(folder + map, "         0          0 4294967295\n");
  }
  tree.add_when_asked({folder + "/mounts", folder + "/mountinfo", folder + "/mountstats"},
                      [folder](VirtualTree& part) { add_mounts(part, folder); });
  tree.mark_complete(folder + "/ns");
  unsigned space = 4026531834;
  for (const char* name : {"cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"})
    tree.add_link(fmt::format("{}/ns/{}", folder, name), fmt::format("{}:[{}]", name, ++space));
}

void add_descriptors(VirtualTree& tree, const std::string& folder, Process& process,
                     const std::string& native, const ProcessTreeInputs& inputs) {
  tree.add_folder(folder);
  std::error_code error;
  const int own = process.files().own_descriptors();
  const auto add = [&](int fd, const std::string& target) {
    const std::string path = fmt::format("{}/{}", folder, fd);
    tree.add_link(path, target);
    tree.at(path)->descriptor = fd;
    tree.at(path)->owner = process.pid();
  };
  for (const auto& entry : std::filesystem::directory_iterator(native + "/fd", error)) {
    const int fd = std::atoi(entry.path().filename().c_str());
    if (fd < own && process.files().at(fd) == nullptr) add(fd, open_file_name(entry.path(), inputs));
  }
  for (const auto& [fd, file] : process.files().all()) add(fd, inputs.link_of(file));
}

void add_threads(VirtualTree& tree, Process& process, Thread& viewer, const ProcessTreeInputs& inputs,
                 const std::string& folder, const std::string& native) {
  const bool own = &process == &viewer.process();
  for (const auto& thread : process.threads()) {
    if (thread->state() == Thread::State::kDead) continue;
    const std::string task = fmt::format("{}/task/{}", folder, thread->tid());
    const std::string native_task =
        fmt::format("{}/task/{}", native, thread->native.tid);
    const bool running = thread.get() == &viewer;
    const std::uint32_t tid = thread->tid();
    tree.add_file(task + "/status", [&process, tid, native_task, running] {
      return status_of(process, tid, native_task, running);
    });
    tree.add_file(task + "/stat", [&process, tid, native_task, running, terminal_of = inputs.terminal_of] {
      return stat_of(process, tid, native_task, running, terminal_of);
    });
    tree.mark_incomplete(task);
    tree.add_file(task + "/comm", [native_task] { return content_of(native_task + "/comm"); });
    if (!own) continue;
    tree.at(task + "/comm")->written_at =
        fmt::format("/proc/self/task/{}/comm", process.region().slot(thread->slot()).native_tid);
    tree.add_link(task + "/fd", folder + "/fd");
    tree.add_link(task + "/cwd", folder + "/cwd");
    tree.add_link(task + "/exe", folder + "/exe");
    tree.add_link(task + "/root", "/");
    tree.add_link(task + "/maps", folder + "/maps");
  }
  tree.mark_complete(folder + "/task");
}

void add_process(VirtualTree& tree, Process& process, Thread& viewer, const ProcessTreeInputs& inputs) {
  const std::string folder = fmt::format("/proc/{}", process.pid());
  const std::string native = fmt::format("/proc/{}", process.native_pid());
  const bool own = &process == &viewer.process();
  const bool running = viewer.tid() == process.pid();  // the state shown is that of the first thread
  tree.add_file(folder + "/status",
                [&process, native, running] { return status_of(process, process.pid(), native, running); });
  tree.add_file(folder + "/stat",
                [&process, native, running, terminal_of = inputs.terminal_of] {
                  return stat_of(process, process.pid(), native, running, terminal_of);
                });
  tree.add_file(folder + "/statm", "0 0 0 0 0 0 0\n");
  for (const char* name : {"/cmdline", "/comm"}) {
    tree.add_file(folder + name, [path = native + name] { return content_of(path); });
  }
  add_memory(tree, process, folder, native, inputs);
  add_surroundings(tree, folder, process);
  tree.add_link(folder + "/root", "/");
  tree.add_when_asked({folder + "/exe", folder + "/cwd"}, [&process, &inputs, folder, native](VirtualTree& part) {
    const auto seen = [&](const char* name) { return inputs.paths.seen(target_of(native + name)); };
    const std::string works_in = working_folder_of(process.region());
    part.add_link(folder + "/exe", seen("/exe"));
    part.add_link(folder + "/cwd", works_in.empty() ? seen("/cwd") : works_in);
  });
  tree.at(folder + "/comm")->written_at = own ? "/proc/self/comm" : "";
  tree.add_when_asked({folder + "/task"}, [&process, &viewer, &inputs, folder, native](VirtualTree& part) {
    add_threads(part, process, viewer, inputs, folder, native);
  });
  if (!own && process.pid() != inputs.descriptors_of) return;
  tree.add_when_asked({folder + "/fd"}, [&process, native, &inputs, at = folder + "/fd"](VirtualTree& part) {
    add_descriptors(part, at, process, native, inputs);
    part.mark_complete(at);
  });
}

// An ended child that nobody has waited for. It has no memory, no descriptors and no command line.
void add_ended(VirtualTree& tree, const EndedChild& child, std::uint32_t parent) {
  constexpr std::size_t kMostOfName = 15;
  const std::string folder = fmt::format("/proc/{}", child.pid), name = child.name.substr(0, kMostOfName);
  tree.add_file(
      folder + "/stat",
      fmt::format(
          "{} ({}) Z {} {} {} 0 -1 4194308 0 0 0 0 0 0 0 0 20 0 1 0 {} 0 0 18446744073709551615 0 0 0 "
          "0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 {}\n",
          child.pid, name, parent, child.group, child.session, uptime_ticks(Instant{}), child.status));
  tree.add_file(
      folder + "/status",
      fmt::format("Name:\t{}\nState:\tZ (zombie)\nTgid:\t{}\nNgid:\t0\nPid:\t{}\nPPid:\t{}\nTracerPid:\t0\n"
                  "Uid:\t{}\t{}\t{}\t{}\nThreads:\t1\n",
                  name, child.pid, child.pid, parent, child.user, child.user, child.user, child.user));
  tree.add_file(folder + "/statm", "0 0 0 0 0 0 0\n");
  tree.add_file(folder + "/comm", name + "\n");
  for (const char* empty : {"/cmdline", "/maps", "/environ"}) tree.add_file(folder + empty, "");
}

// All paths that add_kernel() adds.
constexpr const char* kKernelPlaces[] = {
    "/proc/stat",       "/proc/uptime",      "/proc/loadavg",  "/proc/meminfo",    "/proc/cpuinfo",   "/proc/version",
    "/proc/sysvipc",    "/proc/cmdline",     "/proc/devices",  "/proc/filesystems", "/proc/modules",   "/proc/partitions",
    "/proc/diskstats",  "/proc/swaps",       "/proc/bus",      "/proc/xen",        "/proc/sysinfo",   "/proc/driver",
    "/proc/kallsyms",   "/proc/elog"};

void add_kernel(VirtualTree& tree, Thread& viewer, const ProcessTreeInputs& inputs) {
  const Process& process = viewer.process();
  const Instant now = inputs.now;
  const std::int64_t ticks = uptime_ticks(now);
  const ProcessTable::Ended ended = inputs.table.ended_on(process.host_index());
  std::size_t all = ended.count, threads = 0;
  std::uint32_t latest = ended.highest_pid;
  for (const auto& other : inputs.table.processes()) {
    if (other->host_index() != process.host_index()) continue;
    ++all;
    latest = std::max(latest, other->pid());
    if (other->alive) threads += living_threads(*other);
  }
  // The processor is idle: computation takes no virtual time.
  const std::string times = fmt::format("0 0 0 {} 0 0 0 0 0 0\n", ticks);
  tree.add_file("/proc/stat",
                fmt::format("cpu  {0}cpu0 {0}intr 0\nctxt 0\nbtime {1}\nprocesses {2}\nprocs_running 1\n"
                            "procs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n",
                            times, (inputs.epoch_ns - kUptimeNs) / 1'000'000'000, all));
  tree.add_file("/proc/uptime",
                fmt::format("{0}.{1:02} {0}.{1:02}\n", ticks / kTicksPerSecond, ticks % kTicksPerSecond));
  tree.add_file("/proc/loadavg", fmt::format("0.00 0.00 0.00 1/{} {}\n", threads, latest));
  // The same memory size as in sysinfo(2).
  tree.add_file("/proc/meminfo",
                std::string("MemTotal:       16777216 kB\nMemFree:         8388608 kB\nMemAvailable:    8388608 kB\n"
                "Buffers:               0 kB\nCached:                0 kB\nSwapCached:            0 kB\n"
                "SwapTotal:             0 kB\nSwapFree:              0 kB\n") +
                    huge_page_lines(inputs.huge_pages));
  for (const char* path : {"/proc/cpuinfo", "/proc/version"}) tree.add_file(path, virtual_content(path, process.host()).value_or(""));
  for (const auto& [name, lines] : inputs.objects) tree.add_file(std::string("/proc/sysvipc/") + name, lines);
  add_kernel_facts(tree);
}

// All files below /proc/sys.
void add_settings(VirtualTree& tree, Thread& viewer, const ProcessTreeInputs& inputs) {
  for (const char* path : {"/proc/sys/kernel/hostname", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/random/boot_id"}) {
    tree.add_file(path, virtual_content(path, viewer.process().host()).value_or(""));
  }
  tree.add_file("/proc/sys/kernel/random/uuid", [&viewer] { return random_uuid(viewer.process().random()); });
  add_kernel_settings(tree, inputs.huge_pages);
  tree.add_file("/proc/sys/fs/inotify/max_queued_events", fmt::format("{}\n", FileWatches::kMostEvents));
  tree.add_file("/proc/sys/fs/inotify/max_user_instances", fmt::format("{}\n", FileWatches::kMostInstances));
  tree.add_file("/proc/sys/fs/inotify/max_user_watches", fmt::format("{}\n", FileWatches::kMostWatches));
}

}  // namespace

std::shared_ptr<const VirtualTree> make_process_tree(Thread& viewer, ProcessTreeInputs given) {
  const auto inputs = std::make_shared<const ProcessTreeInputs>(std::move(given));
  auto tree = std::make_shared<VirtualTree>();
  tree->add_when_asked({std::begin(kKernelPlaces), std::end(kKernelPlaces)},
                       [&viewer, inputs](VirtualTree& part) { add_kernel(part, viewer, *inputs); });
  tree->add_when_asked({"/proc/sys"}, [&viewer, inputs](VirtualTree& part) { add_settings(part, viewer, *inputs); });
  const Process& own = viewer.process();
  tree->add_link("/proc/self", std::to_string(own.pid()));
  tree->add_link("/proc/mounts", "self/mounts");
  tree->add_link("/proc/net", "self/net");
  tree->add_link("/proc/thread-self", fmt::format("{}/task/{}", own.pid(), viewer.tid()));
  for (const auto& process : inputs->table.processes()) {
    if (!process->alive || process->host_index() != own.host_index()) continue;
    for (const EndedChild& child : process->family().ended) add_ended(*tree, child, process->pid());
    const std::string folder = fmt::format("/proc/{}", process->pid());
    tree->add_folder(folder);
    tree->add_when_asked({folder + "/net"}, [&process = *process, inputs, at = folder + "/net"](VirtualTree& part) {
      add_addresses(part, at, process.host());
      add_socket_tables(part, at, inputs->table, process.host_index(), inputs->inode_of);
    });
    tree->add_when_asked({folder}, [&process = *process, &viewer, inputs](VirtualTree& part) {
      add_process(part, process, viewer, *inputs);
    });
  }
  return tree;
}

}  // namespace verbatim::supervisor
