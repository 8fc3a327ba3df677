// Runs start and end in parallel on one machine, and each removes what ended runs have left.
#include "sim/supervisor/machine/run_folder.h"

#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>

#include "tests/support/verbatim_run.h"

namespace fs = std::filesystem;

namespace {
// The number of times that another run removes the folder as a leftover before its lock is taken.
int g_removed_before_locked = 0;
}  // namespace

extern "C" int flock(int fd, int operation) noexcept {
  if (g_removed_before_locked > 0) {
    --g_removed_before_locked;
    fs::remove_all(fs::read_symlink("/proc/self/fd/" + std::to_string(fd)).parent_path());
  }
  return static_cast<int>(syscall(SYS_flock, fd, operation));
}

namespace verbatim::supervisor {
namespace {

// A machine with a temporary folder of its own.
struct Machine {
  Machine() { setenv("TMPDIR", folder.path().c_str(), 1); }
  ~Machine() { unsetenv("TMPDIR"); }
  const support::TemporaryFolder folder;
};

std::size_t entries_of(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(RunFolder, is_there_though_a_run_beside_took_it_for_a_leftover) {
  const Machine machine;
  g_removed_before_locked = 2;
  {
    RunFolder folder;
    EXPECT_EQ(g_removed_before_locked, 0);
    HostPaths paths;
    folder.add_host({.name = "host"}, {}, 0, paths);
    EXPECT_TRUE(fs::is_directory(fs::path(folder.hosts()[0].folder).parent_path()));
    EXPECT_TRUE(fs::exists(fs::path(folder.hosts()[0].folder).parent_path() / "lock"));
    EXPECT_EQ(entries_of(machine.folder.path()), 1u);
  }
  EXPECT_EQ(entries_of(machine.folder.path()), 0u);
}

// Thousands of hosts have tens of thousands of folders, which most programs never use.
TEST(RunFolder, a_hosts_own_folders_are_made_when_a_path_leads_there) {
  const Machine machine;
  RunFolder folder;
  HostPaths paths;
  constexpr std::int64_t kEpoch = 1'700'000'000;
  folder.add_host({.name = "host"}, {}, kEpoch, paths);
  const std::string& own = folder.hosts()[0].folder;
  EXPECT_EQ(paths.native_in_use("/etc/hosts"), "/etc/hosts");
  EXPECT_EQ(paths.native("/tmp/file"), own + "/tmp/file");
  EXPECT_EQ(paths.native_in_use("/run/nscd/socket"), own + "/run/nscd/socket");
  EXPECT_FALSE(fs::exists(own)) << "nothing can be there yet, and looking for it makes nothing";
  EXPECT_EQ(paths.native_in_use("/tmp/file"), own + "/tmp/file");
  for (const std::string& made : folder.hosts()[0].made_first) {
    struct stat status;
    ASSERT_EQ(stat((own + made).c_str(), &status), 0) << made;
    const bool is_for_all = made == "/tmp" || made == "/var/tmp" || made == "/dev/shm" || made == "/dev/hugepages";
    EXPECT_EQ(status.st_mode, S_IFDIR | (is_for_all ? 01777u : 0755u)) << made;
    EXPECT_EQ(status.st_mtime, kEpoch - protocol::kFileTimeShift) << made;
  }
  EXPECT_EQ(folder.hosts()[0].made_first.size(), 7u) << "/dev, /dev/hugepages, /dev/shm, /run, /tmp, /var, /var/tmp";
}

// A program that got the machine's error would behave otherwise than elsewhere.
TEST(RunFolder, a_refused_folder_of_a_host_is_reported) {
  const Machine machine;
  RunFolder folder;
  HostPaths paths;
  folder.add_host({.name = "host"}, {}, 0, paths);
  int error = 0;
  paths.report_refused_folders_to([&](int refused) { error = refused; });
  fs::remove_all(folder.path());
  EXPECT_EQ(paths.native_in_use("/etc/hosts"), "/etc/hosts");
  EXPECT_EQ(error, 0);
  paths.native_in_use("/tmp/file");
  EXPECT_EQ(error, ENOENT);
  ProgramSpec spec;
  spec.files["/tmp/input"] = {};
  HostPaths others;
  EXPECT_THROW(folder.add_host({.name = "other"}, {&spec}, 0, others), std::system_error);
}

TEST(RunFolder, is_empty_again_for_the_next_run) {
  const Machine machine;
  RunFolder folder;
  std::string own;
  for (int run = 0; run < 2; ++run) {
    HostPaths paths;
    folder.add_host({.name = "host"}, {}, 1'700'000'000, paths);
    ASSERT_EQ(folder.hosts().size(), 1u);
    EXPECT_TRUE(run == 0 || folder.hosts()[0].folder == own) << "programs that work there are copied only where paths stay";
    own = folder.hosts()[0].folder;
    EXPECT_FALSE(fs::exists(own)) << run;
    std::ofstream(paths.native_in_use("/tmp/left")) << "something";
    EXPECT_TRUE(fs::exists(own + "/tmp/left"));
    folder.clear();
    EXPECT_FALSE(fs::exists(own));
    EXPECT_TRUE(folder.hosts().empty());
  }
}

// A program's working folder and file are visible: their counterparts are created in the host's own folders.
TEST(RunFolder, a_host_whose_programs_lie_in_its_own_folders_makes_none_at_the_start) {
  const Machine machine;
  const std::string works_in = fs::canonical(machine.folder.path());
  ASSERT_TRUE(works_in.starts_with("/tmp/")) << "TMPDIR is elsewhere";
  const std::string program = works_in + "/bin/program";
  fs::create_directory(works_in + "/bin");
  fs::copy("/bin/true", program);
  ProgramSpec spec;
  spec.arguments = {program};
  spec.working_directory = works_in;
  spec.environment = {{"TMPDIR", "/var/tmp/of it/deep"}, {"HOME", "/tmp/home"}};
  RunFolder folder;
  HostPaths paths;
  constexpr std::int64_t kEpoch = 1'700'000'000;
  folder.add_host({.name = "host"}, {&spec}, kEpoch, paths);
  const std::string& own = folder.hosts()[0].folder;
  EXPECT_EQ(paths.native_in_use(program), program);
  EXPECT_EQ(paths.native_in_use(works_in + "/file"), works_in + "/file");
  EXPECT_FALSE(fs::exists(own));
  EXPECT_EQ(paths.native_in_use("/tmp/file"), own + "/tmp/file");
  const std::map<std::string, mode_t> modes = {
      {"/tmp", 01777}, {works_in, 0755}, {"/tmp/home", 0700}, {"/var/tmp/of it/deep", 0755}};
  for (const auto& [made, mode] : modes) {
    struct stat status;
    ASSERT_EQ(stat((own + made).c_str(), &status), 0) << made;
    EXPECT_EQ(status.st_mode, S_IFDIR | mode) << made;
    EXPECT_EQ(status.st_mtime, kEpoch - protocol::kFileTimeShift) << made;
    EXPECT_TRUE(folder.hosts()[0].made_first.contains(made)) << made;
  }
}

TEST(RunFolder, of_a_run_that_goes_on_is_no_leftover) {
  const Machine machine;
  const RunFolder first;
  {
    const RunFolder second;
    EXPECT_EQ(entries_of(machine.folder.path()), 2u);
  }
  EXPECT_EQ(entries_of(machine.folder.path()), 1u);
}

// The keeper program, which the build has put beside the libraries.
std::string keeper() { return (fs::path(support::verbatim_program()).parent_path() / "lib" / "keeper").string(); }

TEST(RunFolder, goes_with_a_simulator_that_is_killed) {
  const Machine machine;
  const pid_t simulator = fork();
  if (simulator == 0) {
    const RunFolder folder(keeper());
    const fs::path run = fs::directory_iterator(machine.folder.path())->path();
    fs::create_directories(run / "0/tmp/of a program/empty");
    std::ofstream(run / "0/tmp/of a program/file") << "text";
    fs::permissions(run / "0/tmp/of a program", fs::perms::none);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(simulator, &status, 0), simulator);
  ASSERT_TRUE(WIFSIGNALED(status));
  for (int i = 0; i < 1000 && entries_of(machine.folder.path()) != 0; ++i) usleep(10'000);
  EXPECT_EQ(entries_of(machine.folder.path()), 0u);
}

// Kills at intervals of a hundredth of a millisecond, from before the folder's creation on.
TEST(RunFolder, goes_whenever_its_simulator_is_killed) {
  const Machine machine;
  const auto now_us = [] {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000 + now.tv_nsec / 1000;
  };
  for (int wait_us = 0; wait_us < 1500; wait_us += 10) {
    const pid_t child = fork();
    if (child == 0) {
      const RunFolder folder(keeper());
      while (true) pause();
    }
    for (const auto until = now_us() + wait_us; now_us() < until;) {
    }
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    for (int tries = 0; tries < 500 && entries_of(machine.folder.path()) != 0; ++tries) usleep(10'000);
    ASSERT_EQ(entries_of(machine.folder.path()), 0u) << "killed after " << wait_us << " us";
  }
}

TEST(RunFolder, does_without_a_keeper) {
  const Machine machine;
  { const RunFolder folder("/no/such/program"); }  // writes to nobody, and SIGPIPE is not ignored here
  EXPECT_EQ(entries_of(machine.folder.path()), 0u);
  RunFolder::await_ended_keepers();
}

TEST(RunFolder, is_left_to_the_simulator_that_ends_by_itself) {
  const Machine machine;
  { const RunFolder folder(keeper()); }
  EXPECT_EQ(entries_of(machine.folder.path()), 0u);
  RunFolder::await_ended_keepers();
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no keeper is left";
}

}  // namespace
}  // namespace verbatim::supervisor
