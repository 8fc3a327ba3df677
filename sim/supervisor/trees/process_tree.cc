#include "sim/supervisor/trees/process_tree.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "sim/supervisor/files/inotify_file.h"
#include "sim/supervisor/spec/kernel_time.h"
#include "sim/supervisor/trees/machine_files.h"
#include "sim/supervisor/trees/memory_files.h"
#include "sim/supervisor/trees/network_files.h"
#include "sim/supervisor/trees/socket_tables.h"
#include "sim/supervisor/trees/virtual_paths.h"

namespace verbatim::supervisor {

namespace {

constexpr std::int64_t kTicksPerSecond = 100;

std::string open_file_name(const std::string& link, const ProcessTreeInputs& inputs) {
  return with_seen_number(inputs.paths.seen(target_of_link(link)), [&] {
    struct stat status {};
    stat(link.c_str(), &status);
    return inputs.number_of(status.st_dev, status.st_ino);
  });
}

std::int64_t uptime_ticks(Instant now) {
  return (kUptimeNs + to_ps(now) / 1000) / (1'000'000'000 / kTicksPerSecond);
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

std::string stat_of(Process& process, std::uint32_t id, const std::string& native, bool running,
                    const TerminalOf& terminal_of) {
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
  text += credentials.id_lines() + kMemoryLines;
  return text + fmt::format(
                    "Threads:\t{}\nSigIgn:\t{:016x}\nSigCgt:\t{:016x}\n{}NoNewPrivs:\t1\nCpus_allowed:\t1\n"
                    "Cpus_allowed_list:\t0\nMems_allowed:\t1\nMems_allowed_list:\t0\n"
                    "voluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n",
                    living_threads(process), ignored, caught, credentials.capability_lines());
}

void add_mounts(VirtualTree& tree, const std::string& folder) {
  constexpr std::pair<const char*, const char*> kMounts[] = {
      {"verbatim / ext4", "rw,relatime"},
      {"proc /proc proc", "rw,nosuid,nodev,noexec,relatime"},
      {"sysfs /sys sysfs", "rw,nosuid,nodev,noexec,relatime"},
      {"dev /dev devtmpfs", "rw,nosuid"},
      {"shm /dev/shm tmpfs", "rw,nosuid,nodev"},
      {"run /run tmpfs", "rw,nosuid,nodev"},
      {"tmp /tmp tmpfs", "rw,nosuid,nodev"},
      {"hugetlbfs /dev/hugepages hugetlbfs", "rw,relatime,pagesize=2M"}};
  std::string mounts, information, statistics;
  int number = 20;
  for (const auto& [what, how] : kMounts) {
    mounts += fmt::format("{} {} 0 0\n", what, how);
    std::istringstream words(what);
    std::string source, at, kind;
    words >> source >> at >> kind;
    information += fmt::format("{0} {1} 0:{0} / {2} {3} - {4} {5} rw\n", number, number == 20 ? 1 : 20, at,
                               how, kind, source);
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
    return fmt::format(
        "{} ({}, #threads: {})\n-------------------------------------------------------------------\n"
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
    const std::string native_task = fmt::format("{}/task/{}", native, thread->native.tid);
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
  tree.add_file(folder + "/stat", [&process, native, running, terminal_of = inputs.terminal_of] {
    return stat_of(process, process.pid(), native, running, terminal_of);
  });
  tree.add_file(folder + "/statm", "0 0 0 0 0 0 0\n");
  for (const char* name : {"/cmdline", "/comm"}) {
    tree.add_file(folder + name, [path = native + name] { return content_of(path); });
  }
  add_memory_files(tree, process, folder, native, inputs.paths, inputs.number_of);
  add_surroundings(tree, folder, process);
  tree.add_link(folder + "/root", "/");
  tree.add_when_asked(
      {folder + "/exe", folder + "/cwd"}, [&process, &inputs, folder, native](VirtualTree& part) {
        const auto seen = [&](const char* name) { return inputs.paths.seen(target_of_link(native + name)); };
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
    "/proc/stat",    "/proc/uptime",     "/proc/loadavg",   "/proc/meminfo",     "/proc/cpuinfo",
    "/proc/version", "/proc/sysvipc",    "/proc/cmdline",   "/proc/devices",     "/proc/filesystems",
    "/proc/modules", "/proc/partitions", "/proc/diskstats", "/proc/vmstat",      "/proc/swaps",
    "/proc/bus",     "/proc/xen",        "/proc/sysinfo",   "/proc/driver",      "/proc/kallsyms",
    "/proc/elog",    "/proc/efi",        "/proc/iSeries",   "/proc/device-tree", "/proc/vz"};

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
  tree.add_file(
      "/proc/meminfo",
      std::string("MemTotal:       16777216 kB\nMemFree:         8388608 kB\nMemAvailable:    8388608 kB\n"
                  "Buffers:               0 kB\nCached:                0 kB\nSwapCached:            0 kB\n"
                  "SwapTotal:             0 kB\nSwapFree:              0 kB\n") +
          huge_page_lines(inputs.huge_pages));
  for (const char* path : {"/proc/cpuinfo", "/proc/version"})
    tree.add_file(path, virtual_content(path, process.host()).value_or(""));
  for (const auto& [name, lines] : inputs.objects) tree.add_file(std::string("/proc/sysvipc/") + name, lines);
  add_kernel_facts(tree);
}

// All files below /proc/sys.
void add_settings(VirtualTree& tree, Thread& viewer, const ProcessTreeInputs& inputs) {
  for (const char* path :
       {"/proc/sys/kernel/hostname", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/random/boot_id"}) {
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
  tree->add_when_asked({"/proc/sys"},
                       [&viewer, inputs](VirtualTree& part) { add_settings(part, viewer, *inputs); });
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
    tree->add_when_asked({folder + "/net"},
                         [&process = *process, inputs, at = folder + "/net"](VirtualTree& part) {
                           add_network_files(part, at, process.host());
                           add_socket_tables(part, at, inputs->table, process.host_index(), inputs->inode_of);
                         });
    tree->add_when_asked({folder}, [&process = *process, &viewer, inputs](VirtualTree& part) {
      add_process(part, process, viewer, *inputs);
    });
  }
  return tree;
}

}  // namespace verbatim::supervisor
