// TABLES.md lists the programs and the system calls; it is generated from the sources.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "tests/support/verbatim_run.h"
#include "verbs_shim/protocol/gate_calls.h"
#include "verbs_shim/protocol/passing_calls.h"
#include "verbs_shim/protocol/process_control.h"
#include "verbs_shim/protocol/system_calls.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;
using protocol::CallClass;

const std::string kFolder = VERBATIM_SOURCE_DIR "/tests/process/";

// The comment at the head of a program, on one line.
std::string purpose(const fs::path& file) {
  std::istringstream text(support::text_of_file(file));
  std::string all;
  for (std::string line; std::getline(text, line) && line.starts_with("// ");) {
    all += (all.empty() ? "" : " ") + line.substr(3);
  }
  return all;
}

std::string program_table() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kFolder + "programs")) files.push_back(entry.path());
  std::ranges::sort(files);
  std::string table = "| program | covers |\n|---|---|\n";
  for (const fs::path& file : files) {
    table += "| `" + file.stem().string() + "` | " + purpose(file) + " |\n";
  }
  return std::to_string(files.size()) +
         " programs in `programs/`, each run by Linux itself and in the simulator, which print the same, and "
         "in slices\n"
         "and call by call, which give one digest (`process_test`):\n\n" +
         table;
}

std::string passing_table() {
  std::string table = "Calls that the filter lets through, and the reason:\n\n| call | why |\n|---|---|\n";
  for (const protocol::PassingCall& call : protocol::kPassingCalls) {
    table += "| `" + std::string(protocol::system_call(call.number).name) + "` | " + call.reason + " |\n";
  }
  return table;
}

std::string name_of(CallClass call_class) {
  switch (call_class) {
    case CallClass::kPassing:
      return "Passing";
    case CallClass::kByArgument:
      return "ByArgument";
    case CallClass::kByDescriptor:
      return "ByDescriptor";
    case CallClass::kByPath:
      return "ByPath";
    default:
      return "ByProtection";
  }
}

std::string gate_table() {
  std::string table =
      "Calls that the shim makes for itself, by the only code that enters the kernel with calls that trap elsewhere; any other call\n"
      "from there ends the program:\n\n| call | why |\n|---|---|\n";
  for (const protocol::GateClass& allowed : protocol::kGateClasses) {
    table += "| class " + name_of(allowed.call_class) + " | " + allowed.reason + " |\n";
  }
  for (const protocol::GateCall& call : protocol::kGateCalls) {
    table += "| `" + std::string(protocol::system_call(call.number).name) + "` | " + call.reason + " |\n";
  }
  return table;
}

std::string control_table() {
  const auto of_kind = [](protocol::ControlKind kind) {
    std::string names;
    for (const protocol::ControlOption& option : protocol::kControlOptions) {
      if (option.kind != kind) continue;
      const bool has_value = kind == protocol::ControlKind::kFixed;
      const std::string value = !has_value          ? ""
                                : option.value >= 0 ? " (" + std::to_string(option.value) + ")"
                                                    : std::string(" (") + strerrorname_np(-option.value) + ")";
      names += (names.empty() ? "`" : ", `") + std::string(option.name) + "`" + value;
    }
    return names;
  };
  using protocol::ControlKind;
  return "Options of `prctl` (`verbs_shim/protocol/process_control.h`); any other gets EINVAL and a warning with its name.\n\n"
         "| who answers | options |\n|---|---|\n| the kernel | " +
         of_kind(ControlKind::kKernel) + " |\n| the supervisor | " + of_kind(ControlKind::kCredentials) + ", " +
         of_kind(ControlKind::kRelatives) +
         " |\n| stored and returned, without effect | " + of_kind(ControlKind::kSetting) + ", " + of_kind(ControlKind::kStored) +
         " |\n| always the same | " + of_kind(ControlKind::kFixed) + " |\n";
}

std::string call_table() {
  struct Row {
    CallClass call_class;
    const char *name, *meaning;
  };
  constexpr Row kRows[] = {
      {CallClass::kPassing, "Passing", "let through, see below"},
      {CallClass::kByArgument, "ByArgument", "let through with some values, see below; others the shim answers or refuses"},
      {CallClass::kLocal, "Local", "answered inside the process: clocks, identity, signal state"},
      {CallClass::kByDescriptor, "ByDescriptor",
       "the supervisor's for a virtual descriptor, let through for a real one"},
      {CallClass::kByPath, "ByPath",
       "the supervisor's for /sys, /proc, /dev/infiniband, let through for other paths"},
      {CallClass::kByProtection, "ByProtection", "let through; code that becomes executable is searched before it runs"},
      {CallClass::kVirtual, "Virtual", "the supervisor's"},
      {CallClass::kRefused, "Refused", "refused by name"},
  };
  std::string table = "| class | who answers | calls |\n|---|---|---|\n";
  int all = 0;
  for (const Row& row : kRows) {
    int count = 0;
    for (const protocol::SystemCall& call : protocol::kSystemCalls.rows) {
      if (call.name != nullptr && call.call_class == row.call_class) ++count;
    }
    all += count;
    table += std::string("| ") + row.name + " | " + row.meaning + " | " + std::to_string(count) + " |\n";
  }
  const auto with_errno = [](int error) {
    std::string names;
    for (const protocol::SystemCall& call : protocol::kSystemCalls.rows) {
      if (call.name == nullptr || call.call_class != CallClass::kRefused || call.refusal != error) continue;
      names += (names.empty() ? "`" : ", `") + std::string(call.name) + "`";
    }
    return names;
  };
  return std::to_string(all) + " system calls of x86-64 (`verbs_shim/protocol/system_calls.h`):\n\n" +
         table + "\n" + passing_table() + "\n" + gate_table() + "\n" + control_table() + "\nRefused with EPERM, as to a program without privilege: " + with_errno(EPERM) +
         ".\n\nRefused with ENOSYS, as by an older kernel, unless `--strict=warn` lets them reach the "
         "machine: " +
         with_errno(ENOSYS) + ".\n";
}

// A feature of the process layer and its tests: programs of this folder or of tests/verbs, or tests by name.
struct Coverage {
  std::string what, by;
};
const std::vector<Coverage> kCoverage = {
    {"mutexes: kinds, priority inheritance", "mutex_kinds"},
    {"conditions, rwlocks, barriers, semaphores, once", "threads rwlock_barrier"},
    {"timed variants", "timed_locks rwlock_barrier"},
    {"robust and process-shared ones", "robust_mutex robust_death shared_locks shared_semaphores"},
    {"thread-local storage", "thread_storage"},
    {"threads without storage of the C library", "foreign_storage"},
    {"cancellation, inside blocking verbs calls too",
     "cancel_points thread_signals cancelled Semantics.threads_that_wait_for_events_can_be_cancelled"},
    {"raw futex", "raw_futex futex_errors"},
    {"calls made so often that they no longer trap", "frequent_calls"},
    {"C++ and Python runtimes",
     "cxx_runtime Network.an_interpreter_repeats_itself_in_both_modes Shell.python_with_processes_of_its_own"},
    {"fork", "fork_memory fork_exit_codes fork_from_thread many_children orphan"},
    {"vfork", "vfork_exec"},
    {"posix_spawn", "spawn spawn_errors"},
    {"exec, also `env -i`",
     "exec_programs exec_errors exec_busy exec_from_thread exec_signal_state exec_descriptors close_range_exec"},
    {"wait", "wait_options fork_exit_codes stop_continue"},
    {"daemons, sessions, process groups", "daemon_process session signal_group"},
    {"orphans, end of a parent (prctl)", "relatives orphan"},
    {"pipes and named pipes", "pipe_basic pipe_capacity pipe_signal pipe_threads named_pipe path_descriptors"},
    {"socketpairs, AF_UNIX", "socketpair_kinds unix_stream unix_datagram unix_processes unix_credentials"},
    {"descriptors in messages", "pass_descriptors pass_files pass_memory"},
    {"shared memory and memfds between programs", "shared_memory pass_memory two_programs"},
    {"System V shared memory, semaphores, messages", "sysv_memory sysv_semaphores sysv_messages"},
    {"POSIX message queues", "posix_queues"},
    {"memory and open files of other processes", "other_memory other_descriptors"},
    {"flock and fcntl locks", "file_locks record_locks shared_files"},
    {"signals between programs", "signal_between signal_at_start signal_child_ended queued_signals signal_thread two_programs"},
    {"alarm, setitimer, timer_create", "interval_timers posix_timers timer_threads cpu_timers sleep_errors"},
    {"timerfd, eventfd, signalfd", "timerfd_modes eventfd_modes signalfd_modes"},
    {"signals on readiness of descriptors (O_ASYNC, F_SETSIG)", "file_signals"},
    {"events of files (inotify)",
     "inotify inotify_processes Simulated.watches_of_what_is_not_the_hosts_own_are_told_of "
     "Simulated.programs_of_a_host_hear_of_each_others_files_and_of_no_other_hosts Simulated.tail_follows_a_name"},
    {"EINTR and SA_RESTART", "interval_timers pipe_signal signal_waits wait_masks highest_signal interrupted"},
    {"asynchronous input and output (io_submit)", "async_io"},
    {"limits, priorities, locked memory",
     "attributes priorities descriptor_limit Surroundings.of_the_caller_do_not_show Surroundings.outside_are_out_of_reach"},
    {"users, groups, capabilities", "credentials set_group_ids Credentials.are_the_same_for_every_caller"},
    {"what the machine does to a run",
     "Machine.ends_a_program_from_outside Machine.refuses_a_thread Machine.refuses_memory Machine.sends_a_signal"},
    {"arguments that reach the machine", "arguments_denied Denied.arguments_are_answered_or_refused_by_name"},
    {"sigaltstack", "signal_stack alternate_stack"},
    {"every signal, sent in every way and caught in every way", "signal_table"},
    {"what a handler leaves in its frame", "signal_return"},
    {"wrong addresses", "bad_addresses"},
    {"TCP, IPv4 and IPv6, dual-stack listeners",
     "tcp_ipv6 dual_stack Sockets.two_programs_say_the_same_natively_and_simulated"},
    {"ports that are shared", "reuse_port"},
    {"UDP", "udp_basic udp_messages datagram_control datagram_errors group_membership"},
    {"/proc/net/tcp, udp, icmp and unix", "listed_sockets Network.ss_lists_the_sockets_of_the_host"},
    {"/proc/net/dev, snmp and sockstat; /proc/vmstat", "Network.tools_show_interfaces_and_numbers_of_sockets"},
    {"ICMP", "Network.every_host_answers_echo_requests_of_icmp Shell.ping_and_traceroute_reach_another_host"},
    {"backlog", "tcp_backlog"},
    {"half-close", "tcp_half_close"},
    {"non-blocking connect", "connect_nonblocking tcp_again"},
    {"urgent data: refused", "Simulated.refused_calls_are_named"},
    {"SO_*, TCP_*", "tcp_options option_errors"},
    {"sendmsg, recvmsg, sendmmsg, recvmmsg", "udp_messages socketpair_kinds pass_files"},
    {"sendfile", "sendfile_kinds"},
    {"`FILE*` on sockets", "stdio_socket tcp_file"},
    {"select, poll, ppoll", "select_sets server"},
    {"epoll, edge and level", "epoll_edges epoll_mixed epoll_nested epoll_order epoll_exclusive"},
    {"all of these with verbs descriptors",
     "event_mix Semantics.events_are_waited_for_among_other_descriptors"},
    {"getaddrinfo, getifaddrs", "addresses Sockets.names_and_addresses_resolve"},
    {"route netlink", "Network.ip_shows_the_hosts_own_addresses Network.ip_shows_the_route_to_the_other_hosts "
                      "Network.ip_tells_the_route_to_one_address Network.answers_of_netlink_are_acknowledged "
                      "Network.an_infiniband_host_s_interface_is_found_as_ib0"},
    {"RDMA netlink", "Network.rdma_shows_adapters_and_their_ports Network.rdma_counts_the_objects_of_programs"},
    {"latency and bandwidth of the management network",
     "Network.a_datagram_takes_the_latency_and_its_bytes Sockets.distance_takes_time "
     "Shell.iperf3_measures_the_management_network"},
    {"its losses and delays",
     "Network.lost_datagrams_are_gone_and_late_ones_are_overtaken "
     "Network.lost_segments_come_after_the_retransmission_timeout Network.a_host_that_nothing_reaches_is_given_up"},
    {"/sys/class/infiniband with counters",
     "Tree.ls_lists_adapters_and_their_devices Tree.cat_shows_the_attributes_of_a_port "
     "Tree.port_counters_are_the_packets_of_the_run"},
    {"/dev/infiniband, /sys/class/net", "Tree.ls_lists_adapters_and_their_devices proc_machine"},
    {"/proc/cpuinfo, /proc/stat, boot_id", "proc_machine clocks"},
    {"fsync, syncfs", "synchronised"},
    {"O_PATH, O_TMPFILE", "open_places"},
    {"/proc of processes", "proc_self Tree.ps_shows_the_processes_of_the_host"},
    {"hostname, /etc/hosts", "identity addresses"},
    {"times, getrusage", "cpu_times"},
    {"sched_getaffinity, CPU counts", "proc_machine"},
    {"order of folders", "folder_order Simulated.folders_are_told_in_order"},
    {"refusals by name; `--strict=warn`", "Simulated.refused_calls_are_named Simulated.unknown_calls_can_be_let_through"},
    {"what would break a simulator",
     "hostile_descriptors hostile_output hostile_signals hostile_vdso "
     "Debugger.holding_a_program_changes_nothing "
     "Outcome.a_program_asleep_in_a_call_of_the_kernels_own_is_given_up_and_the_call_is_named"},
};

// Every test of every suite as "Suite.name".
std::set<std::string> names_of_tests() {
  std::set<std::string> names;
  const std::regex test("TEST(?:_F|_P)?\\((\\w+),\\s*(\\w+)\\)");
  for (const auto& entry : fs::recursive_directory_iterator(VERBATIM_SOURCE_DIR "/tests")) {
    if (entry.path().extension() != ".cc") continue;
    const std::string text = support::text_of_file(entry.path());
    for (std::sregex_iterator match(text.begin(), text.end(), test), end; match != end; ++match) {
      names.insert((*match)[1].str() + "." + (*match)[2].str());
    }
  }
  return names;
}

bool is_program(const std::string& name) {
  for (const char* const place : {"process/programs/", "process/", "verbs/"}) {
    for (const char* const kind : {".c", ".cc"}) {
      if (fs::exists(VERBATIM_SOURCE_DIR "/tests/" + std::string(place) + name + kind)) return true;
    }
  }
  return false;
}

std::string coverage_table() {
  std::string table = "| what | shown by |\n|---|---|\n";
  for (const Coverage& row : kCoverage) {
    std::istringstream names(row.by);
    std::string cell;
    for (std::string name; names >> name;) cell += (cell.empty() ? "`" : ", `") + name + "`";
    table += "| " + row.what + " | " + cell + " |\n";
  }
  return table;
}

// A call is passed to the kernel if and only if the table has a reason.
TEST(Tables, have_a_reason_for_every_call_that_passes) {
  for (std::uint64_t number = 0; number < protocol::kSystemCallLimit; ++number) {
    const protocol::SystemCall& call = protocol::system_call(number);
    const protocol::PassingCall* const passing = protocol::passing_call(number);
    const bool passes = call.call_class == CallClass::kPassing, by_argument = call.call_class == CallClass::kByArgument;
    EXPECT_EQ(passes || by_argument, passing != nullptr) << call.name;
    if (passing != nullptr) {
      EXPECT_EQ(by_argument, passing->argument >= 0) << call.name;
      EXPECT_EQ(by_argument, passing->count > 0) << call.name;
    }
  }
}

std::set<std::string> calls_in_sources(const std::string& text, const std::regex& call) {
  std::set<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at) names.insert((*at)[1]);
  return names;
}

TEST(Tables, allow_the_gate_what_the_shim_calls_and_little_else) {
  std::string shim;
  for (const auto& entry : fs::directory_iterator(VERBATIM_SOURCE_DIR "/verbs_shim/runtime")) {
    shim += support::text_of_file(entry.path().string());
  }
  const std::set<std::string> called = calls_in_sources(shim, std::regex("(?:native|call_with_room|native_call)\\(SYS_(\\w+)"));
  EXPECT_GT(called.size(), 40u);
  for (std::uint64_t number = 0; number < protocol::kSystemCallLimit; ++number) {
    const protocol::SystemCall& call = protocol::system_call(number);
    if (call.name == nullptr) continue;
    EXPECT_TRUE(!called.contains(call.name) || protocol::gate_allows(number, false)) << call.name;
  }
  // Calls made by an instruction only, injected calls, and calls answered with "execute it natively".
  const std::set<std::string> others = {"rt_sigreturn", "sendmsg", "open", "creat", "dup", "dup2", "exit", "fcntl", "ioctl"};
  for (const protocol::GateCall& call : protocol::kGateCalls) {
    const std::string name = protocol::system_call(call.number).name;
    EXPECT_TRUE(called.contains(name) || others.contains(name)) << name;
  }
  for (const std::string name : {"socket", "connect", "bind", "accept", "sendto", "ptrace", "kill", "keyctl", "execve", "fork",
                                 "process_vm_writev", "bpf", "mount", "io_uring_setup", "pidfd_open", "unshare", "setns"}) {
    const auto number = std::ranges::find_if(protocol::kSystemCalls.rows, [&](const protocol::SystemCall& call) {
      return call.name != nullptr && name == call.name;
    }) - std::ranges::begin(protocol::kSystemCalls.rows);
    EXPECT_FALSE(protocol::gate_allows(static_cast<std::uint64_t>(number), false)) << name;
  }
}

TEST(Tables, name_programs_and_tests_that_are_there) {
  const std::set<std::string> tests = names_of_tests();
  for (const Coverage& row : kCoverage) {
    std::istringstream names(row.by);
    for (std::string name; names >> name;) {
      EXPECT_TRUE(is_program(name) || tests.contains(name)) << row.what << ": " << name;
    }
  }
}

// VERBATIM_WRITE_TABLES=1 writes the file instead.
TEST(Tables, are_true) {
  const std::string expected = "# Programs and system calls\n\nMade by `tables_test`, which checks it.\n\n" +
                               coverage_table() + "\n" + program_table() + "\n" + call_table();
  if (std::getenv("VERBATIM_WRITE_TABLES") != nullptr) std::ofstream(kFolder + "TABLES.md") << expected;
  EXPECT_EQ(support::text_of_file(kFolder + "TABLES.md"), expected)
      << "VERBATIM_WRITE_TABLES=1 tables_test writes it";
}

}  // namespace
}  // namespace verbatim
