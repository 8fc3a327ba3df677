// Users, capabilities and arguments of system calls: programs see those of the host, whatever user runs the
// simulator.
#include <gmock/gmock.h>
#include <linux/audit.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/command.h"
#include "tests/golden/surroundings.h"
#include "tests/process/programs.h"
#include "verbs_shim/protocol/foreign_call.h"

namespace verbatim::process {
namespace {

namespace fs = std::filesystem;
using support::RunReport;

TEST(ForeignCalls, are_told_by_architecture_and_number) {
  using protocol::ForeignCall;
  constexpr std::uint32_t kArchAarch64 = 0xc000'00b7;
  EXPECT_EQ(protocol::foreign_call(AUDIT_ARCH_X86_64, SYS_writev), ForeignCall::kNone);
  EXPECT_EQ(protocol::foreign_call(AUDIT_ARCH_X86_64, -1), ForeignCall::kNone);
  EXPECT_EQ(protocol::foreign_call(AUDIT_ARCH_X86_64, 0x4000'0000 | 39), ForeignCall::kX32);
  EXPECT_EQ(protocol::foreign_call(AUDIT_ARCH_I386, SYS_writev), ForeignCall::k32Bit);
  EXPECT_EQ(protocol::foreign_call(kArchAarch64, 0), ForeignCall::kOtherArchitecture);
  EXPECT_STREQ(protocol::text_of_foreign_call(AUDIT_ARCH_I386, 20).text, "a 32-bit system call (int 0x80), number 20");
  EXPECT_STREQ(protocol::text_of_foreign_call(AUDIT_ARCH_X86_64, 0x4000'0027).text, "an x32 system call, number 39");
  EXPECT_STREQ(protocol::text_of_foreign_call(kArchAarch64, 7).text, "a system call of architecture 0xc00000b7, number 7");
}

TEST(ForeignCalls, end_the_program_by_name) {
  for (const auto& [word, told] : {std::pair("32", "made a 32-bit system call (int 0x80), number 20, at address 0x"),
                                   std::pair("x32", "made an x32 system call, number 39, at address 0x")}) {
    // A kernel without 32-bit calls raises a fault for int 0x80.
    const bool has_them = cli::run_command({path_of("foreign_calls"), word}).code != 128 + SIGSEGV;
    for (const char* mode : {"--quiet", "--call-by-call"}) {
      support::RunRequest request;
      request.commands = {"server=" + path_of("foreign_calls") + " " + word, "client=echo alive"};
      request.options = {mode};
      const RunReport run = support::run(request);
      EXPECT_EQ(run.code, 1) << run.story();
      EXPECT_EQ(run.output("server"), "begins\n") << run.story();
      EXPECT_EQ(run.output("client"), "alive\n") << run.story();
      EXPECT_EQ(run.report["programs"][0]["signal"], has_them ? SIGSYS : SIGSEGV) << run.story();
      EXPECT_EQ(run.report["outcome"], "finished") << run.story();
      EXPECT_THAT(run.report["warnings"].dump(), testing::HasSubstr(has_them ? told : "died of signal 11"));
    }
  }
}

struct GateCallCase {
  const char *word, *told;
};
constexpr GateCallCase kGateCallCases[] = {
    {"socket", "system call socket"},
    {"connect", "system call connect"},
    {"ptrace", "system call ptrace"},
    {"kill", "system call kill"},
    {"keyctl", "system call keyctl"},
    {"execve", "system call execve"},
    {"process_vm_writev", "system call process_vm_writev"},
    {"io_uring_setup", "system call io_uring_setup"},
    {"pidfd_open", "system call pidfd_open"},
    {"fork", "system call fork"},
    {"number 511", "system call 511"},
    {"negative", "system call -2"},
    {"x32", "an x32 system call, number 39"},
    {"clone of a child of its own", "system call clone"},
    {"clone with a namespace", "system call clone"},
    {"owner of a file's signals", "system call fcntl"},
    {"typed characters", "system call ioctl"},
    {"subreaper", "system call prctl"},
};

TEST(Gate, ends_a_program_that_makes_other_calls_by_it) {
  for (const auto& [word, told] : kGateCallCases) {
    for (const char* mode : {"--quiet", "--call-by-call"}) {
      support::RunRequest request;
      request.commands = {"server=" + path_of("gate_calls") + " call " + support::quoted(word), "client=echo alive"};
      request.options = {mode};
      const RunReport run = support::run(request);
      EXPECT_EQ(run.code, 1) << run.story();
      EXPECT_EQ(run.output("server"), "begins\n") << run.story();
      EXPECT_EQ(run.output("client"), "alive\n") << run.story();
      EXPECT_EQ(run.report["programs"][0]["signal"], SIGSYS) << run.story();
      EXPECT_THAT(run.report["warnings"].dump(), testing::HasSubstr(std::string("made ") + told)) << run.story();
    }
  }
}

TEST(Gate, makes_the_shims_own_calls) {
  const RunReport run = support::run({.commands = {"server=" + path_of("gate_calls")}});
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), "begins\na closed descriptor: EBADF\na name: 0\nnobody to wake: 0\nflags: 0\n");
}

// The simulator is another process of the same user; a program that knows its process id cannot access it.
TEST(Gate, does_not_lead_into_the_simulator) {
  const golden::Unprivileged user;
  if (!user.reason().empty()) GTEST_SKIP() << user.reason();
  const support::TemporaryFolder folder;
  const std::string program = folder.path() + "/gate_calls";
  fs::copy(std::string(PROCESS_FOLDER) + "/gate_calls", program);
  ASSERT_EQ(cli::run_command({"chmod", "-R", "a+rX", folder.path()}).code, 0);
  support::RunRequest request = user.setting().request;
  request.commands = {"server=" + program + " simulator"};
  request.working_directory = "/";
  const RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), "begins\nmem: EACCES\nmaps: EACCES\nfd/0: EACCES\nenviron: EACCES\n") << run.story();
}

// If the user requests it, calls that are not simulated reach the machine.
TEST(Gate, makes_unknown_calls_where_they_reach_the_machine) {
  const auto personality = [](const char* strict) {
    return support::run({.commands = {"server=python3 -c 'import ctypes; print(ctypes.CDLL(None).personality(0xffffffff))'"},
                         .options = {strict}}).output("server");
  };
  EXPECT_EQ(personality("--strict=refuse"), "-1\n");
  EXPECT_NE(personality("--strict=warn"), "-1\n");
}

TEST(Denied, arguments_are_answered_or_refused_by_name) {
  support::RunRequest request;
  request.commands = {"server=" + path_of("arguments_denied")};
  const RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"),
            "unknown option: EINVAL\nsubreaper: 0\nsignal of a parent's death: 0\nno such signal: EINVAL\n"
            "dumpable: 1\ncounter: 1\nslack: 50000\nno new privileges: 1\nspeculation: 0\ncpuid faults: ENODEV\n"
            "feature masks: EINVAL\n"
            "first processor: 0\nof itself by number: 0\nof nobody: ESRCH\nof nobody, asked: ESRCH\n"
            "second processor: EINVAL\nnowhere: EINVAL\nwrong address: EFAULT\npriorities: 9901\nof no policy: EINVAL\n"
            "a hole: ENOMEM\nfreed: 0\nhuge pages: 0\nof a hole: ENOMEM\na broken page: EPERM\nunknown advice: EINVAL\n"
            "memory that is not run: EINVAL\nprotection keys: ENOSPC\nfirst node: 0\nsecond node: EINVAL\n"
            "a page on it: EINVAL\na page moved: 0\npages of others: EPERM\nbarriers: 127\none without registration: EPERM\nand with: 0\n"
            "restartable sequences: ENOSYS\n"
            "copied: 8\nto: 8\na whole clone: EOPNOTSUPP\nflags of the file system: ENOTTY\na terminal: 0\n"
            "an owner: EINVAL\nno owner of a pipe: 0\nan owner of a pipe: 0\nits signal: 0\na lease: EINVAL\n"
            "a watch: EINVAL\na character device: EPERM\na block device: EPERM\n"
            "a file: 0\nthe holder of a lock is known: 1\na file of the adapter: EACCES\n"
            "a link that is not followed: ELOOP\n/dev/net/tun: ENOENT\n/dev/kmsg: ENOENT\n/dev/mem: ENOENT\n"
            "packets: EAFNOSUPPORT\nmachines: EAFNOSUPPORT\nraw: EAFNOSUPPORT\nkeys: EPERM\nquotas: EPERM\n"
            "the time: EPERM\none capability more: EPERM\neveryone else: 0\nno one else: ESRCH\n")
      << run.story();
  const std::string all = run.report["warnings"].dump();
  for (const char* refused :
       {"prctl with 0x1267", "arch_prctl with 0x1012", "madvise with 0x64", "madvise with 0x1267",
        "memfd_create with 0x8", "rseq", "ioctl with 0x40086602", "fcntl with 0x8", "fcntl with 0x400", "fcntl with 0x402",
        "mknodat with 0x2180", "mknodat with 0x6180", "/dev/net/tun", "/dev/kmsg", "/dev/mem", "socket(family 17",
        "socket(family 40", "socket(family 2, type 3)", "keyctl", "quotactl", "settimeofday"}) {
    EXPECT_THAT(all, testing::HasSubstr(refused + std::string(refused[0] == 's' && refused[1] == 'o' ? "" : " is not simulated")));
  }
  EXPECT_EQ(run.report["determinism"], "exact");
  request.options = {"--call-by-call"};
  EXPECT_EQ(support::run(request).digest(), run.digest());
}

TEST(Denied, devices_of_the_machine_are_not_opened_wherever_they_lie) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a device";
  const support::TemporaryFolder folder;
  ASSERT_EQ(cli::run_command({"mknod", folder.path() + "/disk", "c", "1", "8"}).code, 0);  // /dev/random
  const RunReport run = support::run({.commands = {"server=head -c 1 disk"}, .working_directory = folder.path()});
  EXPECT_EQ(run.code, 1) << run.story();
  EXPECT_THAT(run.errors("server"), testing::HasSubstr("Operation not permitted"));
}

// Owners and permissions in a host's own folders, as a shell shows them.
constexpr const char* kLook =
    "id; umask; grep -E '^(Uid|Gid|Groups|Cap|NoNew)' /proc/self/status; echo text > /tmp/mine; mkdir /tmp/closed; "
    "chmod 0 /tmp/mine; test -r /tmp/mine && test -w /tmp/mine && echo open; test -x /tmp/mine || echo no program; "
    "cat /tmp/mine; echo more >> /tmp/mine; chown 7:8 /tmp/mine /tmp/closed; chown -h 9 /tmp/mine; chmod 4751 /tmp/mine; "
    "chmod 0 /tmp/closed; ls /tmp/closed; cp -p /tmp/mine /tmp/copy; ls -lan /tmp; stat -c '%u %g %U %a' /tmp/* . /etc/passwd; "
    "find /tmp -user 9; chown 5 /etc/passwd; chown 0 /etc/passwd && echo its own; python3 -c 'import os; "
    "print(os.getresuid(), os.getgroups(), os.access(\"/tmp/mine\", os.W_OK)); os.setgid(3); os.setuid(4); "
    "print(os.getresuid()); open(\"/tmp/of4\", \"w\"); print(os.stat(\"/tmp/of4\").st_uid, os.stat(\"/tmp/of4\").st_gid)'";

TEST(Credentials, are_the_same_for_every_caller) {
  const golden::Unprivileged user;
  if (!user.reason().empty()) GTEST_SKIP() << user.reason();
  const support::TemporaryFolder folder;
  fs::copy(std::string(PROCESS_FOLDER) + "/credentials", folder.path() + "/credentials");
  std::ofstream(folder.path() + "/look") << kLook;
  ASSERT_EQ(cli::run_command({"chmod", "-R", "a+rX", folder.path()}).code, 0);
  for (const std::string& command : {folder.path() + "/credentials", folder.path() + "/credentials own",
                                     folder.path() + "/credentials folders", "sh " + folder.path() + "/look"}) {
    support::RunRequest request;
    request.commands = {"server=" + command};
    request.working_directory = "/";
    const RunReport root = support::run(request);
    EXPECT_EQ(root.code, 0) << root.story();
    support::RunRequest other = user.setting().request;
    other.commands = request.commands;
    const RunReport nobody = support::run(other);
    EXPECT_EQ(nobody.output("server"), root.output("server")) << nobody.story();
    EXPECT_EQ(nobody.errors("server"), root.errors("server"));
    EXPECT_EQ(nobody.digest(), root.digest()) << command;
    std::string reason;
    other = request;
    other.wrapper = golden::in_namespaces(&reason);
    if (other.wrapper.empty()) continue;
    EXPECT_EQ(support::run(other).digest(), root.digest()) << command;
  }
}

// Files of the machine, and of the host's own folder, as a user without privilege finds them.
constexpr const char* kUseFiles = R"(
import errno, os

def result(use):
  try: return use() or "done"
  except OSError as error: return errno.errorcode[error.errno]

def open_nameless(folder): os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR))

os.umask(0)
os.chdir("/tmp")
for folder, mode in ("no_read", 0o733), ("no_search", 0o766), ("all", 0o777):
  os.mkdir(folder)
  os.chmod(folder, mode)
for file, mode in ("open", 0o666), ("closed", 0o644):
  with open(file, "w") as out: out.write("four")
  os.chmod(file, mode)
read = lambda: open(GROUP_FILE).read().strip()
for group in 4321, 0:
  child = os.fork()
  if child == 0:
    os.setgroups([group])
    os.setgid(1000)
    os.setuid(1000)
    print(group, result(read), flush=True)
    os._exit(0)
  os.waitpid(child, 0)
os.setgroups([])
os.setgid(1000)
os.setuid(1000)
for folder in "no_read", "no_search", "all": print(folder, result(lambda: open_nameless(folder)))
for file in "open", "closed": print(file, result(lambda: os.truncate(file, 2)), os.stat(file).st_size)
)";

TEST(Credentials, decide_what_a_user_may_do_with_a_file) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to another group";
  const support::TemporaryFolder folder;
  const std::string file = folder.path() + "/of_group", script = folder.path() + "/use.py";
  std::ofstream(file) << "text";
  std::ofstream(script) << "GROUP_FILE = \"" << file << "\"\n" << kUseFiles;
  ASSERT_EQ(chown(file.c_str(), 0, 4321), 0);
  ASSERT_EQ(cli::run_command({"chmod", "755", folder.path()}).code, 0);
  ASSERT_EQ(cli::run_command({"chmod", "640", file}).code, 0);
  support::RunRequest request = {.commands = {"server=python3 use.py"}, .working_directory = folder.path()};
  const RunReport run = support::run(request);
  EXPECT_EQ(run.output("server"),
            "4321 text\n0 EACCES\n"
            "no_read done\nno_search EACCES\nall done\n"
            "open done 2\nclosed EACCES 4\n") << run.story();
  request.options = {"--call-by-call"};
  EXPECT_EQ(support::run(request).digest(), run.digest());
}

// The process belongs to the simulator, whatever user ids its program sets.
TEST(Credentials, do_not_let_a_program_outlive_the_simulator) {
  const support::TemporaryFolder folder;
  const std::string script = folder.path() + "/daemon.py";
  std::ofstream(script) << "import os, sys\nos.setgroups([5])\nos.setgid(1)\nos.setuid(1)\nprint(os.getuid(), flush=True)\n"
                           "while True: os.read(0, 1)\n";
  const std::string find = "pgrep -xf " + support::quoted("python3 " + script) + " >/dev/null && echo ";
  const std::string run =
      "exec \"$@\" >/dev/null 2>&1 & sleep 2; " + find + "running; kill -9 $!; sleep 1; " + find + "left";
  const cli::Finished finished =
      cli::run_command({"sh", "-c", run, "sh", support::verbatim_program(), "run", "--topology", support::topology("two_hosts"),
                        "server=python3 " + support::quoted(script)});
  EXPECT_EQ(finished.out, "running\n") << finished.err;
}

TEST(Denied, changing_the_mappings_of_the_runtime) {
  support::RunRequest request;
  request.commands = {"server=" + path_of("own_mappings")};
  const RunReport slices = support::run(request);
  EXPECT_EQ(slices.code, 0) << slices.story();
  EXPECT_EQ(slices.output("server"), "goes on\n") << slices.story();
  EXPECT_NE(slices.report["warnings"].dump().find("munmap would change memory that the simulator has in each process"),
            std::string::npos) << slices.story();
  request.options = {"--call-by-call"};
  EXPECT_EQ(support::run(request).digest(), slices.digest());
}

}  // namespace
}  // namespace verbatim::process
