// Settings of the simulator's caller are not visible in programs, and those of programs have no effect
// outside.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "sim/core/sanitizer.h"
#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::process {
namespace {

// The output of a program that looks around, in a simulation that was started after `preparation`.
std::string seen_after(const std::string& preparation) {
  const support::TemporaryFolder folder;
  const std::string script = folder.path() + "/look";
  std::ofstream(script) << "ulimit -a; ulimit -aH; umask; nice; cat /proc/self/limits\n"
                           "grep -E 'Sig|Cpus' /proc/self/status; ls /proc/self/fd; chrt -p $$ | sed 's/[0-9]*.s//'\n"
                           "ps -o tty= -p $$\n";
  const std::string command = "server=sh " + support::quoted(script);
  const cli::Finished run =
      cli::run_command({"sh", "-c", preparation + "; exec \"$@\"", "sh", support::verbatim_program(), "run", "--out",
                        folder.path() + "/out", "--topology", support::topology("two_hosts"), command});
  EXPECT_EQ(run.code, 0) << run.err;
  return run.out;
}

TEST(Surroundings, of_the_caller_do_not_show) {
  const std::string plain = seen_after("true");
  EXPECT_THAT(plain, testing::HasSubstr("Max open files")) << plain;
  EXPECT_EQ(plain, seen_after("ulimit -Ss 4000; ulimit -Sc 100; ulimit -Sn 900; ulimit -St 500; ulimit -Sl 32; ulimit -Sf 999999"));
  EXPECT_EQ(plain, seen_after("umask 077; trap '' HUP USR1 PIPE; exec 7</dev/null 8>/dev/null"));
}

// Free space of the machine's file systems, and access times.
TEST(Surroundings, of_files_do_not_show) {
  support::RunRequest request;
  const std::string look =
      "import os, sys\nfs = os.statvfs('/usr'); s = os.stat('/usr/bin/env'); fd = os.open('/usr/bin/env', os.O_RDONLY)\n"
      "print(fs.f_blocks, fs.f_bfree, fs.f_bavail, fs.f_files, fs.f_ffree, os.fstatvfs(fd).f_bfree == fs.f_bfree)\n"
      "print(s.st_atime_ns == s.st_mtime_ns == os.fstat(fd).st_atime_ns)";
  const support::TemporaryFolder folder;
  std::ofstream(folder.path() + "/look.py") << look;
  request.commands = {"server=python3 " + support::quoted(folder.path() + "/look.py"), "client=stat -f -c '%T %f' /usr/bin/env"};
  const support::RunReport run = support::run(request);
  EXPECT_EQ(run.output("server"), "4194304 2097152 2097152 4194304 2097152 True\nTrue\n") << run.story();
  EXPECT_EQ(run.output("client"), "ext2/ext3 2097152\n");
}

// Files that a run writes in a folder of the machine would have other times in each run; existing times, and
// times set explicitly, are inputs.
TEST(Surroundings, times_of_files_that_the_run_writes_do_not_show) {
  const support::TemporaryFolder folder;
  std::ofstream(folder.path() + "/before") << "text";
  ASSERT_EQ(utimensat(AT_FDCWD, (folder.path() + "/before").c_str(), std::array<timespec, 2>{{{99, 5}, {99, 5}}}.data(), 0), 0);
  std::ofstream(folder.path() + "/look.py") <<
      "import os, sys\nos.chdir(os.path.dirname(sys.argv[0]))\nopen('new', 'w').write('text')\nopen('set', 'w').close()\n"
      "os.utime('set', ns=(7, 9999999999123456789)); os.mkdir('folder'); os.symlink('new', 'link')\n"
      "for name in ('before', 'new', 'set', 'folder', 'link', '.'):\n"
      "  s = os.lstat(name); print(name, s.st_atime_ns, s.st_mtime_ns, s.st_ctime_ns if name != 'before' else '')\n"
      "print(os.fstat(os.open('new', os.O_RDONLY)).st_mtime_ns)";
  const support::RunReport run =
      support::run({.commands = {"server=python3 " + support::quoted(folder.path() + "/look.py"), "client=true"}});
  const std::string epoch = " 1700000000000000000", later = " 9999999999123456789";
  EXPECT_EQ(run.output("server"), "before 99000000005 99000000005 \nnew" + epoch + epoch + epoch + "\nset" + later + later + epoch +
                                      "\nfolder" + epoch + epoch + epoch + "\nlink" + epoch + epoch + epoch + "\n." + epoch +
                                      epoch + epoch + "\n" + epoch.substr(1) + "\n")
      << run.story();
}

// The least of nice values that an ordinary user may not undo.
TEST(Surroundings, of_a_nicer_caller_do_not_show) {
  EXPECT_EQ(seen_after("true"), seen_after("renice -n 3 -p $$ >/dev/null"));
}

// Two hundred children, one after the other: what was shared with those that have ended does not fill the address space.
TEST(Surroundings, ended_processes_leave_no_mapping) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "AddressSanitizer needs more address space than this limit leaves";
  const support::TemporaryFolder folder;
  const cli::Finished run =
      cli::run_command({"sh", "-c", "ulimit -v 300000000; exec \"$@\"", "sh", support::verbatim_program(), "run", "--out",
                        folder.path() + "/out", "--topology", support::topology("two_hosts"),
                        "server=sh -c 'i=0; while [ $i -lt 200 ]; do (:); i=$((i+1)); done; echo $i; grep processes /proc/stat'"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "server| 200\nserver| processes 202\n");
}

TEST(Surroundings, outside_are_out_of_reach) {
  const pid_t bystander = fork();
  if (bystander == 0) {
    pause();
    _exit(0);
  }
  rlimit before{}, after{};
  ASSERT_EQ(prlimit(bystander, RLIMIT_NOFILE, nullptr, &before), 0);
  const std::string pid = std::to_string(bystander);
  const support::RunReport run = support::run({.commands = {
      "server=python3 -c 'import os, resource\n"
      "try: resource.prlimit(" + pid + ", resource.RLIMIT_NOFILE, (5, 5))\n"
      "except ProcessLookupError: print(\"nobody there\")\n"
      "try: os.setpriority(os.PRIO_PROCESS, " + pid + ", 9)\n"
      "except ProcessLookupError: print(\"nobody there\")'"}});
  EXPECT_EQ(run.output("server"), "nobody there\nnobody there\n") << run.story();
  ASSERT_EQ(prlimit(bystander, RLIMIT_NOFILE, nullptr, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_cur);
  EXPECT_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(bystander)), getpriority(PRIO_PROCESS, 0));
  kill(bystander, SIGKILL);
  waitpid(bystander, nullptr, 0);
}

}  // namespace
}  // namespace verbatim::process
