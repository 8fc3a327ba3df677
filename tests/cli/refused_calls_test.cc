// Containers and machines that refuse system calls: `verbatim check --host` reports calls that a run needs;
// refusal of the others changes nothing.
#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>

#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// A seccomp filter. The first rule that matches applies.
class Filter {
 public:
  Filter() {
    // Protects other processes from kill(2) if the test has an error.
    rule(SYS_kill, 0, ~0u, 0xffffffff, SECCOMP_RET_KILL_PROCESS);
  }

  // Adds a rule for every call with this number, or for those whose argument `index`, masked, has the given
  // value.
  void rule(long number, std::uint32_t action) {
    add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 1);
    add(BPF_RET | BPF_K, action);
  }
  void rule(long number, unsigned index, std::uint32_t mask, std::uint32_t value, std::uint32_t action, bool differs = false) {
    add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 4);
    add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t)));
    add(BPF_ALU | BPF_AND | BPF_K, mask);
    add(BPF_JMP | BPF_JEQ | BPF_K, value, differs ? 1 : 0, differs ? 0 : 1);
    add(BPF_RET | BPF_K, action);
  }
  void refuse(long number, int error = EPERM) { rule(number, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)); }
  void others(std::uint32_t action) { add(BPF_RET | BPF_K, action); }

  void install() const {
    const sock_fprog program{static_cast<unsigned short>(code_.size()), const_cast<sock_filter*>(code_.data())};
    const bool is_there = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                          ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
    if (!is_there) ::_exit(125);
  }

 private:
  void add(int code, std::uint32_t k, int yes = 0, int no = 0) {
    code_.push_back({static_cast<std::uint16_t>(code), static_cast<std::uint8_t>(yes), static_cast<std::uint8_t>(no), k});
  }
  std::vector<sock_filter> code_;
};

Filter refusing(const std::vector<long>& numbers, int error = EPERM) {
  Filter filter;
  for (const long number : numbers) filter.refuse(number, error);
  filter.others(SECCOMP_RET_ALLOW);
  return filter;
}

// System call numbers by name, from the kernel's header.
std::map<std::string, long> call_numbers() {
  std::map<std::string, long> numbers;
  std::ifstream header(CALL_NUMBERS);
  for (std::string line; std::getline(header, line);) {
    char name[64];
    long number = 0;
    if (std::sscanf(line.c_str(), "#define __NR_%63s %ld", name, &number) == 2) numbers[name] = number;
  }
  return numbers;
}

// Docker's default profile as far as it concerns a run, plus Verbatim's own profile. `refused`: further
// refused calls.
Filter default_profile(std::span<const long> refused = {}) {
  const json whole = json::parse(std::ifstream(VERBATIM_SOURCE_DIR "/tools/container/seccomp.json"));
  const std::map<std::string, long> numbers = call_numbers();
  Filter filter;
  for (const long number : refused) filter.refuse(number);
  for (const json& part : whole["syscalls"]) {
    const bool allows = part["action"] == "SCMP_ACT_ALLOW";
    const std::uint32_t action = allows ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | part["errnoRet"].get<std::uint32_t>();
    for (const std::string name : part["names"]) {
      if (!part.contains("args")) {
        filter.rule(numbers.at(name), action);
        continue;
      }
      const json& argument = part["args"][0];
      const std::string op = argument["op"];
      const auto value = argument["value"].get<std::uint32_t>();
      const bool is_masked = op == "SCMP_CMP_MASKED_EQ";
      filter.rule(numbers.at(name), argument["index"], is_masked ? value : ~0u,
                  is_masked ? argument["valueTwo"].get<std::uint32_t>() : value, action, op == "SCMP_CMP_NE");
    }
  }
  filter.others(SECCOMP_RET_ERRNO | whole["defaultErrnoRet"].get<std::uint32_t>());
  return filter;
}

Finished verbatim_under(const Filter& filter, std::vector<std::string> words) {
  words.insert(words.begin(), VERBATIM_PROGRAM);
  return run_command(std::move(words), VERBATIM_SOURCE_DIR, [&] { filter.install(); });
}

// Two communicating programs, a shell that creates processes, a file that stays open across execve(), and one
// that is sent over a socket: both ends share its position.
const std::vector<std::string> kRun = {
    "run", "--json", "--topology", kTopology, "server=ibv_rc_pingpong -n 5", "client=ibv_rc_pingpong -n 5 server",
    "client=sh -c 'exec 5< README.md; (sleep 1; cat <&5) & exec sh -c \"read line <&5; wait; cat <&5 | wc -l\"'",
    "server=python3 -c 'import os, socket\n"
    "ends = socket.socketpair(); file = os.open(\"README.md\", os.O_RDONLY); os.read(file, 10)\n"
    "socket.send_fds(ends[0], [b\"x\"], [file]); got = socket.recv_fds(ends[1], 1, 1)[1][0]\n"
    "print(os.read(got, 10), os.lseek(file, 0, os.SEEK_CUR), got)'"};

std::string digest_of(const Finished& run) {
  const json document = json::parse(run.out, nullptr, false);
  return document.is_object() && document.contains("run") ? document["run"]["digest"].get<std::string>() : run.err;
}

TEST(RefusedCalls, under_a_default_profile_runs_are_the_same) {
  const Finished usual = verbatim(kRun);
  EXPECT_EQ(usual.code, 0) << usual.err;
  // Docker 20 permits ptrace, but not the other calls.
  for (const std::vector<long>& refused : {std::vector<long>(), std::vector<long>{SYS_process_vm_readv, SYS_process_vm_writev}}) {
    const Filter profile = default_profile(refused);
    const Finished host = verbatim_under(profile, {"doctor"});
    EXPECT_EQ(host.code, 0) << host.out << host.err;
    EXPECT_THAT(host.out, HasSubstr("host: layout        works by other means "));
    EXPECT_THAT(host.out, HasSubstr("host: pidfd         works by other means "));
    EXPECT_THAT(host.out, HasSubstr(refused.empty() ? "host: process-vm    works       " : "host: process-vm    works by other means "));
    const std::vector<std::string> kWays[] = {{}, {"--call-by-call"}, {"--assume-missing", "loader-stop"}};
    for (const std::vector<std::string>& more : kWays) {
      std::vector<std::string> words = kRun;
      words.insert(words.begin() + 1, more.begin(), more.end());
      const Finished run = verbatim_under(profile, words);
      EXPECT_EQ(run.code, 0) << run.err;
      EXPECT_EQ(digest_of(run), digest_of(usual));
    }
  }
}

TEST(RefusedCalls, whoever_may_neither_switch_randomisation_off_nor_move_programs_is_told) {
  Filter filter;
  filter.refuse(SYS_personality);
  constexpr std::uint32_t kMemoryMap = PR_SET_MM;
  filter.rule(SYS_prctl, 0, ~0u, kMemoryMap, SECCOMP_RET_ERRNO | EPERM);
  filter.others(SECCOMP_RET_ALLOW);
  const Finished host = verbatim_under(filter, {"doctor", "--quiet"});
  EXPECT_EQ(host.code, 2);
  EXPECT_THAT(host.out, HasSubstr("host: layout        missing "));
  EXPECT_THAT(host.out, HasSubstr("nor can programs be moved"));
  const Finished run = verbatim_under(filter, kRun);
  EXPECT_NE(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("the kernel does not accept the new addresses of its memory (PR_SET_MM_MAP"));
  EXPECT_THAT(run.err, HasSubstr("`verbatim check --host` says whether this machine or container can run simulations"));
}

TEST(RefusedCalls, each_that_is_needed_is_missed) {
  const std::pair<long, const char*> kNeeded[] = {
      {SYS_ptrace, "ptrace"},     {SYS_seccomp, "sigsys"},          {SYS_memfd_create, "memfd"},
      {SYS_socketpair, "passage"}, {SYS_close_range, "close-range"}, {SYS_wait4, "wait"}};
  for (const auto& [number, name] : kNeeded) {
    const Finished host = verbatim_under(refusing({number}), {"doctor", "--quiet"});
    EXPECT_EQ(host.code, 2) << name;
    EXPECT_THAT(host.out, HasSubstr("host: " + std::string(name) + " ")) << number;
    EXPECT_NE(verbatim_under(refusing({number}), kRun).code, 0) << name;
  }
}

TEST(RefusedCalls, programs_that_cannot_be_confined_are_not_started) {
  for (const auto& [error, why] : {std::pair(ENOSYS, "its kernel has no Landlock"), std::pair(EOPNOTSUPP, "was started without Landlock"),
                                   std::pair(EPERM, "Landlock is refused: Operation not permitted")}) {
    const Filter filter = refusing({SYS_landlock_create_ruleset}, error);
    const std::vector<std::string> words = {"run", "--confine", "--topology", kTopology, "server=echo started"};
    const Finished run = verbatim_under(filter, words);
    EXPECT_EQ(run.code, 71) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, HasSubstr("--confine: this machine cannot confine programs: "));
    EXPECT_THAT(run.err, HasSubstr(why));
    EXPECT_THAT(run.err, HasSubstr("nothing was started"));
  }
}

TEST(RefusedCalls, what_there_is_a_second_way_for_changes_nothing) {
  const Finished usual = verbatim(kRun);
  for (const long number : {SYS_personality, SYS_pidfd_open, SYS_pidfd_getfd, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp}) {
    for (const int error : {EPERM, ENOSYS}) {
      EXPECT_EQ(verbatim_under(refusing({number}, error), {"doctor", "--quiet"}).code, 0) << number;
      EXPECT_EQ(digest_of(verbatim_under(refusing({number}, error), kRun)), digest_of(usual)) << number;
    }
  }
}

TEST(RefusedCalls, on_kernels_that_answer_no_queries_of_mappings_their_text_does) {
  constexpr std::uint32_t kMapsQuery = 0xc0686611;  // ioctl PROCMAP_QUERY
  Filter filter;
  filter.rule(SYS_ioctl, 1, ~0u, kMapsQuery, SECCOMP_RET_ERRNO | ENOTTY);
  filter.refuse(SYS_process_vm_readv);
  filter.refuse(SYS_process_vm_writev);
  filter.others(SECCOMP_RET_ALLOW);
  const Finished run = verbatim_under(filter, kRun);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(digest_of(run), digest_of(verbatim(kRun)));
}

TEST(RefusedCalls, what_else_containers_refuse_changes_nothing) {
  const std::vector<long> numbers = {
      SYS_userfaultfd, SYS_io_uring_setup,    SYS_mbind,         SYS_set_mempolicy,    SYS_get_mempolicy,
      SYS_move_pages,  SYS_perf_event_open,   SYS_unshare,       SYS_setns,            SYS_mount,
      SYS_umount2,     SYS_kcmp,              SYS_bpf,           SYS_process_madvise,  SYS_keyctl,
      SYS_add_key,     SYS_membarrier,        SYS_rseq,          SYS_syslog,           SYS_open_by_handle_at,
      SYS_chroot,      SYS_name_to_handle_at, SYS_iopl,          SYS_sethostname,      SYS_landlock_create_ruleset};
  const Finished usual = verbatim(kRun);
  for (const int error : {EPERM, ENOSYS}) {
    EXPECT_EQ(verbatim_under(refusing(numbers, error), {"doctor", "--quiet"}).code, 0) << error;
    EXPECT_EQ(digest_of(verbatim_under(refusing(numbers, error), kRun)), digest_of(usual)) << error;
  }
  EXPECT_EQ(digest_of(verbatim_under(refusing({SYS_clone3}, ENOSYS), kRun)), digest_of(usual));
}

TEST(RefusedCalls, where_no_process_can_be_made_nobody_is_ended) {
  const Finished host = verbatim_under(refusing({SYS_clone, SYS_clone3, SYS_fork, SYS_vfork}, EAGAIN), {"doctor"});
  EXPECT_EQ(host.code, 2) << host.out << host.err;
  EXPECT_THAT(host.out, HasSubstr("host: ptrace        missing "));
  EXPECT_THAT(host.out, HasSubstr("Resource temporarily unavailable"));
}

// Code that waits for the end of output would wait for ever for a child that remains stopped.
TEST(RefusedCalls, where_ends_of_children_are_not_told_that_is_what_is_told_and_no_child_is_left) {
  const Finished host = verbatim_under(refusing({SYS_wait4}), {"doctor"});
  EXPECT_EQ(host.code, 2) << host.out << host.err;
  EXPECT_THAT(host.out, HasSubstr("host: wait          missing              the end of a child is reported (wait4): "
                                  "Operation not permitted; in a container permit wait4"));
  EXPECT_THAT(host.out, HasSubstr("(close_range): it cannot be tried: wait4 does not report the end of a child\n"));
}

TEST(RefusedCalls, a_heap_that_cannot_grow_is_missed_and_makes_a_run_weak) {
  for (const int error : {EPERM, ENOSYS}) {
    const Finished host = verbatim_under(refusing({SYS_brk}, error), {"doctor"});
    EXPECT_EQ(host.code, 2) << host.out << host.err;
    EXPECT_THAT(host.out, HasSubstr("host: heap          missing              a program's data segment can grow (brk): "));
    const Finished run = verbatim_under(refusing({SYS_brk}, error), kRun);
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("\"determinism\": \"weak\""));
    EXPECT_THAT(run.out, HasSubstr("the machine refuses brk: " + std::string(std::strerror(error))));
  }
  EXPECT_THAT(verbatim(kRun).out, HasSubstr("\"determinism\": \"exact\""));
}

TEST(RefusedCalls, a_run_does_not_go_on_without_descriptors_that_exec_keeps) {
  Filter filter;
  filter.refuse(SYS_pidfd_getfd);
  filter.rule(SYS_ptrace, 0, ~0u, PTRACE_SEIZE, SECCOMP_RET_ERRNO | EPERM);
  filter.others(SECCOMP_RET_ALLOW);
  const Finished run = verbatim_under(filter, {"run", "--topology", kTopology, "server=sh -c 'exec 5< README.md; exec cat <&5'"});
  EXPECT_EQ(run.code, 71) << run.out << run.err;
  EXPECT_THAT(run.err, HasSubstr("cannot execute a program without losing its open files (pidfd_getfd, ptrace): Operation not permitted"));
}

}  // namespace
}  // namespace verbatim::cli
