// Repeated and explored runs work in a copy of their folder: programs see the same files as on Linux, and the
// original folder is unchanged.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/command.h"

namespace verbatim::cli {
namespace {

namespace fs = std::filesystem;

// `base`: below /tmp a host has folders of its own; elsewhere programs see the machine's folders.
class WorkingFolder : public ::testing::TestWithParam<const char*> {
 protected:
  WorkingFolder() {
    const std::string base = std::string_view(GetParam()) == "temporary" ? ::testing::TempDir() : fs::current_path().string();
    std::string pattern = base + "/verbatim-works-XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    all_ = fs::canonical(pattern).string();
    work_ = all_ + "/work";
    fs::create_directories(work_ + "/sub/deep");
    fs::create_directories(work_ + "/other");
    write("log", "hello\n");
    write("sub/f", "data\n");
    write("sub/deep/g", "deep\n");
    fs::create_symlink("sub/f", work_ + "/link");
    fs::create_hard_link(work_ + "/log", work_ + "/hard");
    ::chmod((work_ + "/log").c_str(), 0600);
    std::ofstream(work_ + "/holes").close();
    fs::resize_file(work_ + "/holes", 30 << 20);
    fs::copy_file("/bin/true", work_ + "/prog");
  }
  ~WorkingFolder() override { fs::remove_all(all_); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(work_ + "/" + name) << text; }

  // Names, types, sizes, modes, times and content of all files.
  std::map<std::string, std::string> state() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(work_)) {
      struct stat status;
      EXPECT_EQ(lstat(entry.path().c_str(), &status), 0);
      std::ostringstream text;
      text << status.st_mode << ' ' << status.st_size << ' ' << status.st_mtim.tv_sec << '.' << status.st_mtim.tv_nsec << ' ';
      if (entry.is_symlink()) text << fs::read_symlink(entry.path());
      if (entry.is_regular_file() && !entry.is_symlink() && status.st_size < 1000) text << std::ifstream(entry.path()).rdbuf();
      all[entry.path().string()] = text.str();
    }
    return all;
  }

  static std::vector<std::string> words(std::vector<std::string> first, const std::string& command) {
    first.insert(first.end(), {"--topology", std::string(VERBATIM_SOURCE_DIR) + "/" + kTopology, "server=" + command});
    return first;
  }
  std::string script(const std::string& text) const {
    std::ofstream(all_ + "/script.sh") << text;
    return "/bin/sh " + all_ + "/script.sh";
  }
  // The replay file of a script that exits with 3 under every schedule.
  std::string replay_of(const std::string& command) const {
    const Finished found = verbatim(words({"explore", "--runs", "1", "--out", all_ + "/found"}, command), work_);
    EXPECT_EQ(found.code, 1) << found.out << found.err;
    return all_ + "/found/failure-1.replay";
  }
  static std::string output_of(const Finished& run) {
    std::istringstream lines(run.out);
    std::string line, text;
    while (std::getline(lines, line)) {
      if (line.starts_with("server| ")) text += line.substr(8) + "\n";
    }
    return text;
  }

  std::string all_, work_;
};

TEST_P(WorkingFolder, a_program_finds_there_what_linux_would_show_it_and_it_stays_as_it_was) {
  const std::string command = script(R"(
    exec 2>&1
    show() { stat -c '%n %F %a %s %h %Y %i %b' "$@"; }
    show log hard link sub sub/f other prog holes
    cat log hard link sub/deep/g
    ls -a; ls -ai sub | awk '{print $1, $2}' | grep -v '\.\.'
    echo more >> log; cat hard; wc -c log hard
    mv sub moved; cat moved/f moved/deep/g; ls -R moved; cat link || echo dangling
    rm link; ln -s moved/f link2; cat link2; readlink link2
    mkdir sub; ls sub; echo x > sub/new; cat sub/new
    rmdir sub || echo kept; rmdir other && echo removed
    rm -r moved; ls
    cp holes copy; cmp holes copy && echo same; rm copy
    ./prog && echo ran
    cp prog prog2; ./prog2 && echo ran
    cd sub; pwd; cat new ../log; cd ..; pwd
    wc -l < ../script.sh; cd ..; cat work/log; cd work/.; test -e ../script.sh && echo above; here=work; cat ../$here/log
    touch -d @1000000000 log; stat -c '%Y %s' log
    truncate -s 3 hard; cat hard; echo
    chmod 400 hard; stat -c %a log
    echo whole > log; cat hard; > log; wc -c log
    exec 3< log; echo again > log; cat <&3
    find . | sort
    exit 3
)");
  const auto before = state();
  const Finished replayed = verbatim({"replay", replay_of(command)}, "/");
  EXPECT_EQ(replayed.code, 1) << replayed.err;
  EXPECT_NE(replayed.out.find("the same failure, with the same digest"), std::string::npos) << replayed.out << replayed.err;
  EXPECT_EQ(state(), before);
  const Finished natively = run_command({"/bin/sh", all_ + "/script.sh"}, work_);
  EXPECT_EQ(natively.code, 3);
  EXPECT_EQ(output_of(replayed), natively.out);
  EXPECT_NE(state(), before);
}

// In a shared folder each schedule would find files of another one.
TEST_P(WorkingFolder, schedules_and_seeds_that_run_side_by_side_do_not_meet) {
  const auto before = state();
  const std::string command = script("test $(wc -l < log) -eq 1 && test ! -e made && echo line >> log && echo > made");
  const Finished explored = verbatim(words({"explore", "--runs", "20", "--jobs", "2", "--out", all_ + "/found"}, command), work_);
  EXPECT_EQ(explored.code, 0) << explored.out << explored.err;
  const Finished seeds = verbatim(words({"run", "--seeds", "1..10", "--jobs", "2"}, command), work_);
  EXPECT_EQ(seeds.code, 0) << seeds.out << seeds.err;
  const std::string out = all_ + "/seeds";
  const std::string fails = script("echo line >> log; echo > made; exit 3");
  EXPECT_EQ(verbatim(words({"run", "--seeds", "1..2", "--keep-files", "--out", out}, fails), work_).code, 1);
  for (const char* seed : {"1", "2"}) {
    const std::string kept = out + "/seed-" + seed + "/files/working-folder";
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(kept)) names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    EXPECT_EQ(names, (std::vector<std::string>{"hard", "log", "made"})) << kept;
  }
  EXPECT_EQ(state(), before);
  // A single run without copy writes to the folder, and the next run finds the files.
  script("test $(wc -l < log) -eq 1 && test ! -e made && echo line >> log && echo > made");
  EXPECT_EQ(verbatim(words({"run"}, command), work_).code, 0);
  EXPECT_NE(state(), before);
  EXPECT_EQ(verbatim(words({"run"}, command), work_).code, 1);
}

// The copied folder takes no virtual time and adds nothing to the trace: a single run repeats the digest.
TEST_P(WorkingFolder, a_run_has_the_same_digest_with_and_without) {
  const std::string command = script("cat log sub/f; stat -c '%s %Y %i %h' log sub; ls sub; cat sub/deep/g; ./prog; exit 3");
  const std::string replay = replay_of(command);
  std::ifstream file(replay);
  const std::string digest = nlohmann::json::parse(file)["digest"];
  const Finished run = verbatim(words({"run"}, command), work_);
  EXPECT_NE(run.err.find("digest " + digest), std::string::npos) << run.err << digest;
}

TEST_P(WorkingFolder, a_replay_says_what_has_changed_and_shows_the_times_of_its_snapshot) {
  const std::string command = script("stat -c %Y sub/deep/g; cat log sub/deep/g; ls sub/deep; test -e other && test -e sub/f; exit 3");
  const std::string replay = replay_of(command);
  const std::string first = output_of(verbatim({"replay", replay}, "/"));
  const timespec times[2] = {{5000, 0}, {5000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (work_ + "/sub/deep/g").c_str(), times, 0), 0);
  const Finished same = verbatim({"replay", replay}, "/");
  EXPECT_EQ(output_of(same), first);
  EXPECT_NE(same.out.find("with the same digest"), std::string::npos) << same.out << same.err;
  write("sub/deep/g", "DEEP\n");
  write("log", "changed\n");
  write("sub/deep/later", "");
  write("unseen", "");
  fs::remove(work_ + "/other");
  write("sub/f", "longer\n");
  const Finished changed = verbatim({"replay", replay}, "/");
  for (const std::string sentence : {"/log had 6 bytes, and has 8", "/sub/deep/later is new", "/other is not there any more",
                                     "/sub/f had 5 bytes, and has 7", "/sub/deep/g has other content"})
    EXPECT_NE(changed.err.find(work_ + sentence), std::string::npos) << sentence << "\n" << changed.err;
  EXPECT_EQ(changed.err.find("unseen"), std::string::npos) << changed.err;
}

// A run warns only if another run writes to the same folder at the same time.
TEST_P(WorkingFolder, two_runs_in_one_folder_are_warned_of) {
  const std::string gate = all_ + "/gate";
  ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
  // The first run blocks on its output, which is read after the end of the second run.
  const std::string run = "'" + std::string(VERBATIM_PROGRAM) + "' run --topology '" + VERBATIM_SOURCE_DIR + "/" + kTopology + "' ";
  const auto beside = [&](const std::string& command) {
    return run_command({"sh", "-c", run + "'server=seq 100000' > '" + gate + "' & exec 3< '" + gate + "'; head -c 1 <&3 > /dev/null; " +
                                        run + "\"server=" + command + "\"; cat <&3 > /dev/null; wait"}, work_);
  };
  const std::string sentence = "programs of this run write to " + work_ + ", where another run (process ";
  const Finished writes = beside("sh -c 'echo x > new'");
  EXPECT_NE(writes.err.find(sentence), std::string::npos) << writes.err;
  EXPECT_EQ(beside("cat log").err.find(sentence), std::string::npos);
  EXPECT_EQ(verbatim(words({"run"}, "sh -c 'echo x > new'"), work_).err.find(sentence), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Below, WorkingFolder, ::testing::Values("temporary", "others"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace verbatim::cli
