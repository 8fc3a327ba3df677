// `verbatim run --confine`: programs can change files where this is allowed; the kernel refuses all other
// changes.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sim/supervisor/machine/confinement.h"
#include "tests/support/verbatim_run.h"

namespace verbatim::process {
namespace {

namespace fs = std::filesystem;
using support::RunReport;
using supervisor::Confinement;

// Prints the result of each attempt. argv[1]: a folder of the machine outside the folders of the run.
constexpr const char* kAttempts = R"(
import errno, os, socket, sys
outside = sys.argv[1]
def attempt(name, what):
    try:
        what()
        print(name + ": works")
    except OSError as e:
        print(name + ": " + errno.errorcode[e.errno])
def write(path, mode="w"):
    with open(path, mode) as file: file.write("text")
def bind(path):
    socket.socket(socket.AF_UNIX).bind(path)
def in_child():
    child = os.fork()
    if child == 0:
        try: write(outside + "/there")
        except OSError as e: os._exit(e.errno)
        os._exit(0)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if ended: raise OSError(ended, "")
attempt("a file where it works", lambda: write("mine"))
attempt("another name", lambda: os.rename("mine", "other"))
os.mkdir("folder")
attempt("another folder", lambda: os.rename("other", "folder/other"))
attempt("removed", lambda: os.unlink("folder/other"))
attempt("a socket where it works", lambda: bind("socket"))
attempt("a file of its host", lambda: write("/tmp/own"))
attempt("a folder of its host", lambda: os.mkdir("/var/tmp/own"))
attempt("memory with a name", lambda: write("/dev/shm/own"))
attempt("/dev/null", lambda: write("/dev/null"))
attempt("a file in memory", lambda: os.write(os.memfd_create("own"), b"text"))
attempt("reading outside", lambda: open(outside + "/there").read())
attempt("a list of names outside", lambda: os.listdir(outside))
attempt("a program", lambda: os.waitpid(os.spawnv(os.P_NOWAIT, "/bin/true", ["true"]), 0))
attempt("writing outside", lambda: write(outside + "/there"))
attempt("adding outside", lambda: write(outside + "/there", "a"))
attempt("cutting outside", lambda: os.truncate(outside + "/there", 0))
attempt("a file outside", lambda: write(outside + "/made"))
attempt("a folder outside", lambda: os.mkdir(outside + "/folder"))
attempt("a link outside", lambda: os.symlink("/", outside + "/link"))
attempt("a pipe outside", lambda: os.mkfifo(outside + "/pipe"))
attempt("a socket outside", lambda: bind(outside + "/socket"))
attempt("removing outside", lambda: os.unlink(outside + "/there"))
os.symlink(outside, "way")
attempt("by a link", lambda: write("way/made"))
attempt("a socket by a link", lambda: bind("way/socket"))
attempt("in a copy of the process", in_child)
attempt("in a program it executes", lambda: os.system("echo text > " + outside + "/there") and write(outside + "/there"))
)";

constexpr const char* kWithin =
    "a file where it works: works\nanother name: works\nanother folder: works\nremoved: works\na socket where it works: works\n"
    "a file of its host: works\na folder of its host: works\nmemory with a name: works\n/dev/null: works\n"
    "a file in memory: works\nreading outside: works\na list of names outside: works\na program: works\n";
constexpr const char* kRefused =
    "writing outside: EACCES\nadding outside: EACCES\ncutting outside: EACCES\na file outside: EACCES\n"
    "a folder outside: EACCES\na link outside: EACCES\na pipe outside: EACCES\na socket outside: EACCES\n"
    "removing outside: EACCES\nby a link: EACCES\na socket by a link: EACCES\nin a copy of the process: EACCES\n"
    "in a program it executes: EACCES\n";

// A folder that programs see; not below /tmp, which belongs to the host.
class Outside {
 public:
  Outside() : path_(std::string(PROCESS_FOLDER) + "/outside-" + std::to_string(getpid())) {
    fs::create_directories(path_);
    std::ofstream(path_ + "/there") << "as it was";
  }
  ~Outside() { fs::remove_all(path_); }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
  const std::string& path() const { return path_; }
  bool is_untouched() const {
    return support::text_of_file(path_ + "/there") == "as it was" &&
           std::distance(fs::directory_iterator(path_), fs::directory_iterator()) == 1;
  }

 private:
  std::string path_;
};

RunReport attempts(const Outside& outside, std::vector<std::string> options) {
  const support::TemporaryFolder folder;
  std::ofstream(folder.path() + "/attempts.py") << kAttempts;
  support::RunRequest request;
  request.commands = {"server=python3 attempts.py " + support::quoted(outside.path())};
  request.working_directory = folder.path();
  request.options = std::move(options);
  return support::run(request);
}

TEST(Confined, programs_change_files_where_they_may) {
  const Outside outside;
  const RunReport run = attempts(outside, {"--confine"});
  if (const std::string lacking = Confinement::reason_of_lack(); !lacking.empty()) {
    EXPECT_EQ(run.code, 71) << run.story();
    EXPECT_THAT(run.err, testing::HasSubstr(lacking));
    return;
  }
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), std::string(kWithin) + kRefused) << run.story();
  EXPECT_TRUE(outside.is_untouched());
  EXPECT_EQ(run.report["determinism"], "exact");
  EXPECT_EQ(attempts(outside, {"--confine", "--call-by-call"}).digest(), run.digest());
}

TEST(Confined, others_change_them_wherever_the_user_may) {
  const Outside outside;
  const RunReport run = attempts(outside, {});
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_THAT(run.output("server"), testing::StartsWith(kWithin));
  EXPECT_THAT(run.output("server"), testing::Not(testing::HasSubstr("EACCES")));
  EXPECT_FALSE(outside.is_untouched());
}

// Copies of an initial process would inherit the rules of another run's folders.
TEST(Confined, many_runs_are_each_confined) {
  if (!Confinement::reason_of_lack().empty()) return;  // as above
  const Outside outside;
  const support::TemporaryFolder folder;
  support::RunRequest request;
  request.working_directory = folder.path();
  request.commands = {"server=sh -c 'echo text > /tmp/own && cat /tmp/own; echo text > " + outside.path() + "/made || echo refused'"};
  request.options = {"--confine", "--seeds", "1..3", "--quiet"};
  const RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_TRUE(outside.is_untouched());
}

// The same rule applies to changes that the simulator makes for a program.
TEST(Confined, names_are_allowed_below_folders_alone) {
  if (!Confinement::reason_of_lack().empty()) return;  // as above
  const Outside outside;
  fs::create_directories(outside.path() + "/in/deeper");
  fs::create_directory_symlink(outside.path(), outside.path() + "/in/way");
  const Confinement confinement({outside.path() + "/in", outside.path() + "/missing"});
  EXPECT_TRUE(confinement.allows(outside.path() + "/in/name"));
  EXPECT_TRUE(confinement.allows(outside.path() + "/in/deeper/name"));
  EXPECT_FALSE(confinement.allows(outside.path() + "/inside"));
  EXPECT_FALSE(confinement.allows(outside.path() + "/in"));
  EXPECT_FALSE(confinement.allows(outside.path() + "/in/../name"));
  EXPECT_FALSE(confinement.allows(outside.path() + "/in/way/name"));
  EXPECT_FALSE(confinement.allows(outside.path() + "/missing/name"));
}

}  // namespace
}  // namespace verbatim::process
