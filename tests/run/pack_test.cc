// Bundles: the packed run is the run, and a run from the bundle needs no file of the machine.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/command.h"
#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Pack : public ::testing::Test {
 protected:
  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string digest_in(const std::string& text) {
    const std::size_t at = text.rfind("digest ");
    return at == std::string::npos ? "" : text.substr(at + 7, 32);
  }
  cli::Finished verbatim(std::vector<std::string> words, const std::string& folder = "/") const {
    words.insert(words.begin(), support::verbatim_program());
    return cli::run_command(words, folder);
  }
  // Runs the command on a host, in the folder of the test.
  cli::Finished run(const std::string& command) const {
    return verbatim({"run", "--topology", support::topology("two_hosts"), "client=" + command}, work_);
  }
  cli::Finished pack(const std::string& command, std::vector<std::string> options = {}) const {
    std::vector<std::string> words = {"pack", "-o", bundle_, "--topology", support::topology("two_hosts")};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back("client=" + command);
    return verbatim(words, work_);
  }

  const support::TemporaryFolder folder_;
  const std::string work_ = folder_.path() + "/work", bundle_ = folder_.path() + "/run.vbundle";

  void SetUp() override { fs::create_directory(work_); }
};

TEST_F(Pack, keeps_what_the_program_saw) {
  write(work_ + "/input", "first\n");
  fs::create_symlink("input", work_ + "/link");
  fs::create_directory(work_ + "/folder");
  write(work_ + "/folder/a", "");
  write(work_ + "/folder/b", "12345");
  const std::string command = "sh -c 'cat link; ls -lai . folder; readlink link; test -e missing || echo none; pwd'";
  const cli::Finished plain = run(command), packed = pack(command);
  ASSERT_EQ(packed.code, 0) << packed.out << packed.err;
  EXPECT_EQ(digest_in(packed.out), digest_in(plain.out)) << packed.out << plain.out;
  fs::remove_all(work_);
  fs::create_directory(work_);
  write(work_ + "/input", "second\n");
  const cli::Finished again = verbatim({"run", bundle_});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(digest_in(again.out), digest_in(plain.out)) << again.out << plain.out;
  EXPECT_THAT(again.out, AllOf(HasSubstr("client| first\n"), HasSubstr("client| none\n"), Not(HasSubstr("second"))));
}

// A series of clock reads costs more and more; a look at a file, of which only a view makes a request, does not end it.
TEST_F(Pack, gives_clock_reads_the_same_times) {
  const std::string command =
      "python3 -I -S -c 'import time, os; print([(time.monotonic_ns(), os.path.exists(\"f\"))[0] for i in range(50)])'";
  if (run("python3 -V").code != 0) GTEST_SKIP() << "no python3";
  const cli::Finished plain = run(command), packed = pack(command);
  EXPECT_EQ(digest_in(packed.out), digest_in(plain.out)) << packed.out << plain.out;
}

TEST_F(Pack, runs_scripts_and_their_children) {
  write(work_ + "/script", "#!/bin/sh -e\necho \"$0 $1\"; ./other; exec ./other\n");
  write(work_ + "/other", "#!/bin/sh\ncat /proc/self/comm /proc/$$/comm\n");
  for (const char* name : {"/script", "/other"}) fs::permissions(work_ + name, fs::perms::all);
  const cli::Finished plain = run("./script word"), packed = pack("./script word");
  ASSERT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(digest_in(packed.out), digest_in(plain.out)) << packed.out << packed.err << plain.out;
  fs::remove_all(work_);
  const cli::Finished again = verbatim({"run", bundle_});
  EXPECT_EQ(digest_in(again.out), digest_in(plain.out)) << again.out << again.err;
}

TEST_F(Pack, leaves_the_machines_files_alone) {
  write(work_ + "/kept", "kept");
  const std::string command = "sh -c 'echo more >> kept; echo new > made; rm kept; ls'";
  ASSERT_EQ(pack(command).code, 0);
  EXPECT_TRUE(fs::exists(work_ + "/kept"));
  EXPECT_FALSE(fs::exists(work_ + "/made"));
  const cli::Finished again = verbatim({"run", bundle_});
  EXPECT_THAT(again.out, AllOf(HasSubstr("client| made\n"), Not(HasSubstr("client| kept\n"))));
}

// The run of another seed may look elsewhere.
TEST_F(Pack, ends_at_an_unknown_path) {
  const std::string command = "sh -c 'read n < /proc/sys/kernel/random/uuid; test -e file-$n; true'";
  ASSERT_EQ(pack(command).code, 0);
  EXPECT_EQ(verbatim({"run", bundle_}).code, 0);
  const cli::Finished other = verbatim({"run", "--seed", "2", bundle_});
  EXPECT_EQ(other.code, 71) << other.out << other.err;
  EXPECT_THAT(other.err, AllOf(HasSubstr("sh"), HasSubstr(work_ + "/file-"), HasSubstr("which the bundle does not know")));
}

TEST_F(Pack, names_a_path_that_was_left_out) {
  write(work_ + "/secret.pem", "key\n");
  const cli::Finished packed = pack("cat secret.pem", {"--exclude", "*.pem"});
  ASSERT_EQ(packed.code, 0) << packed.err;
  EXPECT_THAT(packed.out, HasSubstr("pack: without " + work_ + "/secret.pem"));
  const cli::Finished refused = verbatim({"run", bundle_});
  EXPECT_EQ(refused.code, 71) << refused.out << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("cat"), HasSubstr(work_ + "/secret.pem"), HasSubstr("--strict=warn")));
  const cli::Finished weak = verbatim({"run", "--strict=warn", bundle_});
  EXPECT_EQ(weak.code, 1) << weak.out << weak.err;
  EXPECT_THAT(weak.err, HasSubstr("weak"));
}

// Parallel runs from one bundle use the same files, and each has its own programs of the same name.
TEST_F(Pack, is_explored_by_parallel_runs) {
  write(work_ + "/make", "cp /bin/true ./made; ./made; cp /bin/sh ./made; ./made -c 'exit 3'\n");
  ASSERT_EQ(pack("sh make").code, 0);
  const std::string found = folder_.path() + "/found";
  const cli::Finished explored = verbatim({"explore", "--runs", "24", "--jobs", "4", "--keep-going", "--out", found, bundle_});
  EXPECT_EQ(explored.code, 1) << explored.out << explored.err;
  EXPECT_THAT(explored.out, HasSubstr("failure 1: 24 of 24 runs")) << explored.err;
}

// The loader's questions count as those of the program.
TEST_F(Pack, names_a_library_that_was_left_out) {
  ASSERT_EQ(pack("true", {"--exclude", "libc.so.6"}).code, 0);
  const cli::Finished refused = verbatim({"run", bundle_});
  EXPECT_EQ(refused.code, 71) << refused.out << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("libc.so.6"), HasSubstr("which the bundle does not know")));
}

// Calls that are not simulated reach the machine only if the person who runs the bundle says so.
TEST_F(Pack, does_not_decide_what_reaches_the_machine) {
  const std::string command = "sh -c 'cat /proc/cgroups'";
  ASSERT_EQ(pack(command, {"--strict", "warn"}).code, 0);
  for (const char* verb : {"run", "replay"}) {
    const cli::Finished ran = verbatim({verb, bundle_});
    EXPECT_THAT(ran.err, HasSubstr("/proc/cgroups is not simulated; the program got ENOENT")) << verb << ran.err;
  }
}

TEST_F(Pack, packs_a_bundle_again) {
  const std::string second = folder_.path() + "/second.vbundle";
  write(work_ + "/input", "text\n");
  ASSERT_EQ(pack("cat input").code, 0);
  fs::remove_all(work_);
  const cli::Finished again = verbatim({"pack", "-o", second, bundle_});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(digest_in(verbatim({"run", second}).out), digest_in(again.out));
  EXPECT_THAT(verbatim({"run", second}).out, HasSubstr("client| text\n"));
}

TEST_F(Pack, takes_options_of_the_run) {
  write(work_ + "/input", "text\n");
  ASSERT_EQ(pack("cat input", {"--seed", "7"}).code, 0);
  const std::string out = folder_.path() + "/out";
  ASSERT_EQ(verbatim({"run", "--out", out, bundle_}).code, 0);
  std::ifstream file(out + "/run.json");
  EXPECT_EQ(nlohmann::json::parse(file)["seed"], 7);
  ASSERT_EQ(verbatim({"run", "--seed", "8", "--out", out, bundle_}).code, 0);
  std::ifstream other(out + "/run.json");
  EXPECT_EQ(nlohmann::json::parse(other)["seed"], 8);
  const cli::Finished seeds = verbatim({"run", "--seeds", "1..3", bundle_});
  EXPECT_EQ(seeds.code, 0) << seeds.out << seeds.err;
}

TEST_F(Pack, explores_replays_and_packs_failures) {
  ASSERT_EQ(pack("sh -c 'sleep 0.001 & wait; exit 3'").code, 0);
  const std::string found = folder_.path() + "/found";
  const cli::Finished explored = verbatim({"explore", "--runs", "4", "--bundle", "--out", found, bundle_});
  EXPECT_EQ(explored.code, 1) << explored.out << explored.err;
  ASSERT_TRUE(fs::exists(found + "/failure-1.replay")) << explored.out << explored.err;
  EXPECT_THAT(explored.out, HasSubstr("on any machine: verbatim replay " + found + "/failure-1.vbundle"));
  EXPECT_THAT(verbatim({"replay", found + "/failure-1.vbundle"}).out, HasSubstr("the same failure, with the same digest"));
  fs::remove_all(work_);
  const cli::Finished replayed = verbatim({"replay", found + "/failure-1.replay"});
  EXPECT_THAT(replayed.out, HasSubstr("the same failure, with the same digest")) << replayed.err;
  const std::string failure = folder_.path() + "/failure.vbundle";
  ASSERT_EQ(verbatim({"pack", "-o", failure, found + "/failure-1.replay"}).code, 0);
  EXPECT_THAT(verbatim({"replay", failure}).out, HasSubstr("the same failure, with the same digest"));
  EXPECT_EQ(digest_in(verbatim({"run", failure}).out), digest_in(replayed.out));
}

TEST_F(Pack, makes_a_root_of_files) {
  const std::string root = folder_.path() + "/root", bundle = folder_.path() + "/root.vbundle";
  fs::create_directories(root + "/etc");
  write(root + "/etc/release", "of the root\n");
  // Files that sh and cat need; links to the machine's folders would not be in the bundle.
  for (const char* file : {"/bin/sh", "/bin/cat", "/bin/ls", "/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6",
                           "/lib/x86_64-linux-gnu/libselinux.so.1", "/lib/x86_64-linux-gnu/libpcre2-8.so.0"}) {
    if (!fs::exists(file)) continue;
    fs::create_directories(root + fs::path(file).parent_path().string());
    fs::copy_file(fs::canonical(file), root + file);
  }
  const cli::Finished packed = verbatim({"pack", "--root", root, "-o", bundle});
  ASSERT_EQ(packed.code, 0) << packed.err;
  write(work_ + "/s.json", R"({"topology": ")" + support::topology("two_hosts") + R"(", "root": "../root.vbundle", "programs": [
    {"host": "client", "command": "sh -c 'cat /etc/release; ls / ; ls; pwd'", "cwd": "."}]})");
  const cli::Finished ran = verbatim({"run", work_ + "/s.json"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("client| of the root\n"), HasSubstr("client| s.json\n"), HasSubstr("client| " + work_ + "\n"),
                             Not(HasSubstr("client| usr\n"))));
  const cli::Finished run_packed = verbatim({"pack", "-o", bundle_, work_ + "/s.json"});
  EXPECT_EQ(digest_in(run_packed.out), digest_in(ran.out));
  fs::remove_all(work_);
  fs::remove(bundle);
  EXPECT_EQ(digest_in(verbatim({"run", bundle_}).out), digest_in(ran.out));
}

TEST_F(Pack, refuses_a_root_as_a_run_and_a_run_as_a_root) {
  fs::create_directory(folder_.path() + "/root");
  ASSERT_EQ(verbatim({"pack", "--root", folder_.path() + "/root", "-o", bundle_}).code, 0);
  const cli::Finished as_run = verbatim({"run", bundle_});
  EXPECT_EQ(as_run.code, 2);
  EXPECT_THAT(as_run.err, HasSubstr(bundle_));
  ASSERT_EQ(pack("true").code, 0);
  write(work_ + "/s.json", R"({"topology": ")" + support::topology("two_hosts") + R"(", "root": "../run.vbundle", "programs": [
    {"host": "client", "command": "true"}]})");
  const cli::Finished as_root = verbatim({"run", work_ + "/s.json"});
  EXPECT_EQ(as_root.code, 2);
  EXPECT_THAT(as_root.err, AllOf(HasSubstr("/root"), HasSubstr("verbatim pack --root")));
}

TEST_F(Pack, has_a_recording_on_request) {
  const std::string page = folder_.path() + "/report.html";
  ASSERT_EQ(pack("sh -c 'echo hello'").code, 0);
  const cli::Finished without = verbatim({"report", "-o", page, bundle_});
  EXPECT_EQ(without.code, 2);
  EXPECT_THAT(without.err, HasSubstr("verbatim pack --record"));
  ASSERT_EQ(pack("sh -c 'echo hello'", {"--record"}).code, 0);
  const cli::Finished with = verbatim({"report", "-o", page, bundle_});
  EXPECT_EQ(with.code, 0) << with.err;
  EXPECT_TRUE(fs::exists(page));
}

TEST_F(Pack, has_no_leftovers) {
  const support::TemporaryFolder temporary;
  ASSERT_EQ(pack("true").code, 0);
  const cli::Finished ran =
      cli::run_command({"env", "TMPDIR=" + temporary.path(), support::verbatim_program(), "run", "--quiet", bundle_}, "/");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(fs::is_empty(temporary.path()));
}

}  // namespace
}  // namespace verbatim
