// Files that a host's own trees lack, and folders of the host's own.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/command.h"
#include "tests/process/programs.h"

namespace verbatim::process {
namespace {

using support::RunReport;

TEST(Paths, what_the_trees_lack_is_not_there_by_any_spelling_or_call) {
  support::RunRequest request;
  request.commands = {"server=" + path_of("paths_denied")};
  const RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), "910 of 910 denied, 0 made\n") << run.story();
  // One warning with the path for each errno that the program got; every refusal is counted.
  ASSERT_EQ(run.report["warnings"].size(), 2u) << run.report["warnings"];
  EXPECT_EQ(run.report["warnings"][0],
            "server: paths_denied (pid 1000): /proc/slabinfo is not simulated; the program got ENOENT (with "
            "--strict=warn it would get the machine's own)");
  EXPECT_GT(run.report["refused_files"].get<int>(), 910);
  EXPECT_EQ(run.report["determinism"], "exact");
  request.options = {"--call-by-call"};
  EXPECT_EQ(support::run(request).digest(), run.digest());
}

// Files that hwloc of Debian 13 searches; Open MPI and UCX use it to examine the machine.
TEST(Paths, what_many_machines_lack_is_lacked_without_a_word) {
  const RunReport run = support::run(
      {.commands = {"server=sh -c 'cat /sys/devices/cpu_atom/cpus /sys/devices/cpu_core/cpus /sys/devices/cpu_lowpower/cpus "
                    "/sys/kernel/mm/mempolicy/weighted_interleave/node0 /dev/cpuset/cpus 2>&1; ls /sys/bus/soc/devices 2>&1; true'"}});
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.report["warnings"].size(), 0u) << run.report["warnings"];
  EXPECT_EQ(run.report["refused_files"], 0);
  EXPECT_NE(run.output("server").find("cpu_atom"), std::string::npos) << run.story();
}

TEST(Paths, strict_warn_lets_the_machines_files_through_and_says_so) {
  support::RunRequest request;
  request.commands = {"server=sh -c 'cat /proc/slabinfo > /dev/null && cd /sys && cat ../proc/slabinfo > /dev/null && "
                      "cat /proc/self/net/netstat | wc -c'"};
  EXPECT_NE(support::run(request).code, 0);
  request.options = {"--strict=warn"};
  const RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.report["determinism"], "weak");
  ASSERT_GE(run.report["weak"].size(), 1u);
  EXPECT_NE(run.report["weak"][0].get<std::string>().find(
                "/proc/slabinfo is not simulated; the program got the machine's own"),
            std::string::npos)
      << run.report["weak"];
}

// A Go program reads its auxiliary vector from /proc. The machine's own has an entry for the vDSO (33). glibc's getauxval
// returns another number for AT_HWCAP (16).
TEST(Paths, the_auxiliary_vector_is_that_of_the_program) {
  const support::TemporaryFolder folder;
  const std::string script = folder.path() + "/auxiliary.py";
  std::ofstream(script) << R"(
import ctypes, os, struct
def vector(process):
    with open('/proc/%s/auxv' % process, 'rb') as file: content = file.read()
    return [struct.unpack_from('QQ', content, at) for at in range(0, len(content), 16)]
own = vector('self')
value = ctypes.CDLL(None).getauxval
value.restype, value.argtypes = ctypes.c_ulong, [ctypes.c_ulong]
is_same = all(value(kind) == number for kind, number in own[:-1] if kind != 16)
print(len(own), own[-1], is_same, 33 in dict(own), dict(own)[6], flush=True)
if os.fork() == 0:
    print('child', vector('self') == own, vector(os.getppid()) == own, flush=True)
    os.execv('/bin/sh', ['sh', '-c', 'od -An -td8 -w16 /proc/self/auxv | wc -l'])
os.wait()
)";
  support::RunRequest request;
  request.commands = {"server=python3 " + support::quoted(script)};
  const RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), "20 (0, 0) True False 4096\nchild True True\n20\n");
  EXPECT_EQ(run.report["warnings"].size(), 0u) << run.report["warnings"];
}

TEST(Paths, the_host_has_its_own_identity) {
  const RunReport run = support::run(
      {.commands = {"server=sh -c 'cat /etc/hostname /etc/machine-id; date +%Z; env -i A=1 cat /proc/self/environ | tr \"\\\\0\" \" \"; "
                    "cat /proc/self/cgroup; head -1 /proc/self/mounts'",
                    "client=cat /etc/hostname /etc/machine-id"}});
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_NE(run.output("server").find("UTC\nA=1 0::/\nverbatim / ext4 rw,relatime 0 0\n"), std::string::npos)
      << run.story();
  EXPECT_EQ(run.output("client").substr(0, 7), "client\n");
  EXPECT_NE(run.output("server").substr(7, 32), run.output("client").substr(7, 32)) << "machine-id";
  EXPECT_EQ(run.report["warnings"].size(), 0u) << run.report["warnings"];
}

// The folders are empty at the start, separate for each host, and removed with the run.
TEST(OwnFolders, are_each_hosts_own_and_empty_at_the_start) {
  const std::string look = "ls -A /tmp /var/tmp /dev/shm /run ~; echo $HOSTNAME > /tmp/here; echo x > /dev/shm/x; sleep 1; cat /tmp/here";
  support::RunRequest request;
  request.commands = {"server=sh -c 'HOSTNAME=first; " + look + "'", "client=sh -c 'HOSTNAME=second; " + look + "'"};
  request.working_directory = "/";
  const RunReport run = support::run(request);
  const std::string empty = "/dev/shm:\n\n/root:\n\n/run:\n\n/tmp:\n\n/var/tmp:\n";
  EXPECT_EQ(run.output("server"), empty + "first\n") << run.story();
  EXPECT_EQ(run.output("client"), empty + "second\n");
  // Two runs with one seed share nothing; the second one finds nothing of the first.
  const RunReport again = support::run(request);
  EXPECT_EQ(again.output("server"), run.output("server")) << again.story();
  EXPECT_EQ(again.digest(), run.digest());
  request.options = {"--call-by-call"};
  EXPECT_EQ(support::run(request).digest(), run.digest());
}

// For any link of the machine: a socket of the same name that another program has is not found.
TEST(OwnFolders, are_reached_through_links_of_the_machine_by_sockets_too) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("verbatim-link-" + std::to_string(getpid()));
  const std::string socket_name = folder.filename().string() + ".socket";
  std::filesystem::create_directories(folder);
  std::filesystem::create_symlink("/tmp", folder / "link");
  sockaddr_un name{AF_UNIX, {}};
  std::snprintf(name.sun_path, sizeof name.sun_path, "/tmp/%s", socket_name.c_str());
  const int machines = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(machines, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  support::RunRequest request;
  // Not named in the command, because hosts see the files of their commands.
  request.commands = {"server=sh -c 'nc -U $PWD/link/" + socket_name + "'"};
  request.working_directory = folder.string();
  const RunReport run = support::run(request);
  EXPECT_NE(run.story().find("No such file or directory"), std::string::npos) << run.story();
  close(machines);
  std::filesystem::remove(name.sun_path);
  std::filesystem::remove_all(folder);
}

// A command names a file through a link: the folder that contains it keeps its permissions.
TEST(OwnFolders, what_shows_through_by_a_link_is_not_changed) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("verbatim-named-" + std::to_string(getpid()));
  const std::filesystem::path target = folder / "target";
  std::filesystem::create_directories(target);
  std::filesystem::create_symlink(target, folder / "link");
  std::ofstream(target / "file") << "there\n";
  std::filesystem::permissions(target, std::filesystem::perms::owner_all);
  support::RunRequest request;
  request.commands = {"server=cat " + (folder / "link" / "file").string()};
  request.working_directory = folder.string();
  const RunReport run = support::run(request);
  EXPECT_EQ(run.output("server"), "there\n") << run.story();
  EXPECT_EQ(std::filesystem::status(target).permissions(), std::filesystem::perms::owner_all);
  std::filesystem::remove_all(folder);
}

// Two runs that only differ in one byte of a file, and one that leaves a folder behind.
TEST(OwnFolders, are_in_the_digest) {
  const auto digest = [](const std::string& script, std::vector<std::string> options = {}) {
    const RunReport run = support::run({.commands = {"server=sh -c '" + script + "'"}, .options = std::move(options)});
    EXPECT_EQ(run.code, 0) << run.story();
    return run.digest();
  };
  const std::string written = digest("echo 1 > /tmp/file");
  EXPECT_EQ(digest("echo 1 > /tmp/file"), written);
  EXPECT_EQ(digest("echo 1 > /tmp/file", {"--call-by-call"}), written);
  EXPECT_NE(digest("echo 2 > /tmp/file"), written);
  EXPECT_NE(digest("echo 1 > /run/file"), written);
  EXPECT_NE(digest("mkdir /tmp/folder1"), digest("mkdir /tmp/folder2"));
}

// Times, numbers and sizes of files are the run's, not the machine's: two runs print the same.
TEST(OwnFolders, tell_nothing_of_the_machine) {
  support::RunRequest request;
  request.commands = {"server=sh -c 'cd; mkdir d; for i in 3 1 2; do echo $i > d/$i; sleep 0.1; done; rm d/1; echo > d/4; "
                      "mv d/2 d/5; stat -c \"%n %i %d %Y %Z %X %b %h %s\" d d/*; stat -f /tmp; ls -fi d; df /dev/shm; "
                      "cp /bin/true d/true; d/true; ls -l --full-time d; stat /dev/null'"};
  const RunReport run = support::run(request), again = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.errors("server"), "");
  EXPECT_NE(run.output("server").find("d/5"), std::string::npos) << run.story();
  EXPECT_EQ(again.output("server"), run.output("server"));
  EXPECT_EQ(again.digest(), run.digest());
}

// Programs, their folders and working directories may be below the machine's /tmp, and are visible there.
TEST(OwnFolders, show_what_the_scenario_names_of_the_machine) {
  const support::TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() + "/bin");
  std::filesystem::create_directories(folder.path() + "/place");
  std::filesystem::copy_file("/bin/cat", folder.path() + "/bin/cat");
  std::ofstream(folder.path() + "/bin/beside") << "beside\n";
  std::ofstream(folder.path() + "/place/data") << "data\n";
  std::ofstream(folder.path() + "/hidden") << "hidden\n";
  std::ofstream(folder.path() + "/s.json")
      << R"({"topology": ")" + support::topology("two_hosts") + R"(", "programs": [{"host": "server", "cwd": "place", "command": ")" +
             folder.path() + "/bin/cat data " + folder.path() + "/place/data " + folder.path() +
             R"(/bin/beside /tmp/given"}, {"host": "server", "cwd": "place", "command": "sh -c 'pwd; echo new > new; ls ..'"}, )" +
             R"({"host": "client", "command": "sh -c '/tmp/given; ls -A /tmp'", "files": {"/tmp/given": "given"}, "cwd": "/"}, )" +
             R"({"host": "server", "cwd": "/", "command": "true", "files": {"/tmp/given": "hidden"}}]})";
  std::ofstream(folder.path() + "/given") << "#!/bin/sh\necho given $0\n";
  std::filesystem::permissions(folder.path() + "/given", std::filesystem::perms::owner_all);
  support::RunRequest request;
  request.scenario = folder.path() + "/s.json";
  const RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), "data\ndata\nbeside\nhidden\n") << run.story();
  EXPECT_EQ(run.output("server.2"), folder.path() + "/place\nbin\nplace\n") << "what is not named is not seen";
  EXPECT_EQ(run.output("client"), "given /tmp/given\ngiven\n");
  EXPECT_EQ(support::text_of_file(folder.path() + "/place/new"), "new\n") << "written through";
}

TEST(OwnFolders, go_with_the_run_however_it_ends) {
  const support::TemporaryFolder folder;
  const auto left = [&] {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      names.push_back(entry.path().filename());
    return names;
  };
  support::RunRequest request;
  request.environment = {{"TMPDIR", folder.path()}};
  request.commands = {"server=sh -c 'mkdir -p /tmp/a/b; touch /tmp/a/b/c; chmod 0 /tmp/a/b'"};
  EXPECT_EQ(support::run(request).code, 0);
  EXPECT_EQ(left(), std::vector<std::string>{});
  // After a kill nothing is left either, a moment later.
  const std::string endless = support::verbatim_program() + " run --topology " + support::topology("two_hosts") +
                              " \"server=sh -c 'touch /tmp/x; kill -STOP \\$PPID; while :; do :; done'\"";
  cli::run_command({"sh", "-c", "TMPDIR=" + folder.path() + " timeout -s KILL 1 " + endless + " 2> /dev/null"});
  for (int tries = 0; tries < 500 && !left().empty(); ++tries) ::usleep(10'000);
  EXPECT_EQ(left(), std::vector<std::string>{});
  // The next run removes the remains of a run that was killed.
  std::filesystem::create_directories(folder.path() + "/verbatim-run-dead/0/tmp");
  std::ofstream(folder.path() + "/verbatim-run-dead/lock");
  EXPECT_EQ(support::run(request).code, 0);
  EXPECT_EQ(left(), std::vector<std::string>{});
}

TEST(OwnFolders, are_kept_with_holes_names_and_links_and_without_what_has_no_data) {
  const support::TemporaryFolder folder;
  const cli::Finished run =
      cli::run_command({support::verbatim_program(), "run", "--out", folder.path() + "/o", "--keep-files", "--topology",
                        support::topology("two_hosts"),
                        "server=sh -c 'cd /tmp; truncate -s 8T sparse; echo end | dd of=sparse bs=1 seek=1T conv=notrunc 2> /dev/null; echo text > one; ln one two; "
                        "ln -s one link; ln -s /nowhere dangling; mkdir -m 500 folder; echo last > zzz; chmod 640 zzz'"});
  EXPECT_EQ(run.code, 0) << run.err;
  const std::string kept = folder.path() + "/o/files/server/tmp/";
  struct stat is {};
  ASSERT_EQ(::stat((kept + "sparse").c_str(), &is), 0);
  EXPECT_EQ(is.st_size, off_t{1} << 43);
  EXPECT_LE(is.st_blocks, 64);
  EXPECT_TRUE(std::filesystem::equivalent(kept + "one", kept + "two"));
  EXPECT_EQ(std::filesystem::read_symlink(kept + "link"), "one");
  EXPECT_TRUE(std::filesystem::is_symlink(kept + "dangling"));
  EXPECT_EQ(support::text_of_file(kept + "zzz"), "last\n");
  ASSERT_EQ(::stat((kept + "zzz").c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 07777, 0640u);
  ASSERT_EQ(::stat((kept + "folder").c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 07777, 0500u);
}

TEST(OwnFolders, can_be_kept) {
  const support::TemporaryFolder folder;
  const cli::Finished run =
      cli::run_command({support::verbatim_program(), "run", "--quiet", "--out", folder.path() + "/o", "--keep-files", "--topology",
                        support::topology("two_hosts"), "server=sh -c 'echo kept > /tmp/kept'"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(support::text_of_file(folder.path() + "/o/files/server/tmp/kept"), "kept\n");
}

}  // namespace
}  // namespace verbatim::process
