// Output files: replaced ones, ones written in place, refused ones.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "sim/supervisor/machine/kept_files.h"
#include "tests/cli/command.h"
#include "tools/verbatim/output_file.h"

namespace verbatim::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Outputs : public testing::Test {
 protected:
  Outputs() {
    std::string pattern = testing::TempDir() + "verbatim-outputs-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Outputs() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  std::string text(const std::string& name) const {
    std::ifstream file(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& name, const std::string& content) const { std::ofstream(at(name), std::ios::binary) << content; }
  struct stat status(const std::string& name) const {
    struct stat is {};
    EXPECT_EQ(::stat(at(name).c_str(), &is), 0) << name;
    return is;
  }
  std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }

  std::string folder_;
};

TEST_F(Outputs, a_document_takes_the_place_of_a_file_with_its_mode) {
  put("report", "before");
  ::chmod(at("report").c_str(), 0640);
  const ino_t before = status("report").st_ino;
  EXPECT_EQ(write_document(at("report"), "after"), "");
  EXPECT_EQ(text("report"), "after");
  EXPECT_NE(status("report").st_ino, before);
  EXPECT_EQ(status("report").st_mode & 07777, 0640u);
  EXPECT_EQ(files(), 1);
}

TEST_F(Outputs, a_new_document_has_the_mode_of_new_files) {
  const mode_t mask = ::umask(027);
  EXPECT_EQ(write_document(at("report"), "text"), "");
  ::umask(mask);
  EXPECT_EQ(status("report").st_mode & 07777, 0640u);
}

TEST_F(Outputs, symbolic_links_are_followed) {
  put("target", "before");
  fs::create_symlink("target", at("link"));
  fs::create_symlink("link", at("link of link"));
  fs::create_symlink("not there", at("dangling"));
  EXPECT_EQ(write_document(at("link of link"), "after"), "");
  EXPECT_TRUE(fs::is_symlink(at("link of link")) && fs::is_symlink(at("link")));
  EXPECT_EQ(text("target"), "after");
  EXPECT_EQ(write_document(at("dangling"), "new"), "");
  EXPECT_TRUE(fs::is_symlink(at("dangling")));
  EXPECT_EQ(text("not there"), "new");
}

TEST_F(Outputs, a_file_with_other_names_keeps_them) {
  put("one", "before");
  fs::create_hard_link(at("one"), at("two"));
  EXPECT_EQ(write_document(at("one"), "after"), "");
  EXPECT_EQ(text("two"), "after");
}

TEST_F(Outputs, a_fifo_is_written_in_place) {
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  for (const bool is_stream : {false, true}) {
    std::string read;
    std::thread reader([&] { read = text("fifo"); });
    if (is_stream) {
      OutputStream stream;
      EXPECT_EQ(stream.open(at("fifo")), "");
      std::fputs("text", stream.get());
      EXPECT_EQ(stream.close(), "");
    } else {
      EXPECT_EQ(write_document(at("fifo"), "text"), "");
    }
    reader.join();
    EXPECT_EQ(read, "text");
    EXPECT_TRUE(fs::is_fifo(at("fifo")));
  }
}

// Creating device nodes needs root and a mount namespace; otherwise a pseudo-terminal is used as the device.
TEST_F(Outputs, devices_stay_devices) {
  const auto try_device = [](const std::string& path, bool is_full) {
    const std::string document = write_document(path, "text");
    OutputStream stream;
    std::string streamed = stream.open(path);
    if (streamed.empty()) {
      std::fputs("text", stream.get());
      streamed = stream.close();
    }
    for (const std::string& failure : {document, streamed})
      if (is_full != (failure.find("No space left on device") != std::string::npos)) return 1;
    struct stat is {};
    return ::stat(path.c_str(), &is) == 0 && S_ISCHR(is.st_mode) ? 0 : 2;
  };
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0);
  EXPECT_EQ(try_device(::ptsname(terminal), false), 0);
  ::close(terminal);
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr int kNotHere = 77;
    const bool has_place = ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                           ::mount("none", folder_.c_str(), "tmpfs", 0, nullptr) == 0 &&
                           ::mknod(at("null").c_str(), S_IFCHR | 0600, ::makedev(1, 3)) == 0 &&
                           ::mknod(at("full").c_str(), S_IFCHR | 0600, ::makedev(1, 7)) == 0;
    const int tried = has_place ? ::open(at("null").c_str(), O_WRONLY) : -1;
    if (tried < 0) ::_exit(kNotHere);
    ::_exit(10 * try_device(at("null"), false) + try_device(at("full"), true));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77)) << WEXITSTATUS(status);
}

TEST_F(Outputs, what_cannot_be_written_is_refused_before_anything_is_changed) {
  fs::create_directory(at("folder"));
  EXPECT_EQ(output_refusal(at("folder")), "cannot write \"" + at("folder") + "\": it is a folder");
  EXPECT_THAT(output_refusal(at("none/report")), HasSubstr("No such file or directory (folder \"" + at("none") + "\")"));
  EXPECT_THAT(output_refusal(at("new/")), HasSubstr("Is a directory"));
  EXPECT_THAT(output_refusal(""), HasSubstr("No such file or directory"));
  put("file", "");
  EXPECT_THAT(output_refusal(at("file/report")), HasSubstr("Not a directory"));
  if (::geteuid() != 0) {
    ::chmod(at("file").c_str(), 0400);
    EXPECT_THAT(output_refusal(at("file")), HasSubstr("Permission denied"));
    ::chmod(at("folder").c_str(), 0500);
    EXPECT_THAT(output_refusal(at("folder/report")), HasSubstr("Permission denied"));
  }
  for (const char* name : {"folder", "none/report"}) {
    EXPECT_EQ(write_document(at(name), "text"), output_refusal(at(name)));
    OutputStream stream;
    EXPECT_EQ(stream.open(at(name)), output_refusal(at(name)));
  }
  EXPECT_EQ(files(), 2);
}

TEST_F(Outputs, an_input_is_refused_by_each_of_its_names) {
  put("input", "content");
  fs::create_symlink("input", at("link"));
  fs::create_hard_link(at("input"), at("hard link"));
  protect_input(at("input"));
  protect_input(at("not there"));
  EXPECT_THAT(output_refusal(at("input")), HasSubstr("this command reads that file; name another"));
  for (const char* name : {"link", "hard link"}) {
    const std::string refusal =
        "cannot write \"" + at(name) + "\": this command reads the same file as \"" + at("input") + "\"; name another";
    EXPECT_EQ(write_document(at(name), "other"), refusal);
    OutputStream stream;
    EXPECT_EQ(stream.open(at(name)), refusal);
  }
  EXPECT_EQ(text("input"), "content");
}

TEST_F(Outputs, a_document_that_has_no_room_leaves_what_was_there) {
  put("report", "before");
  rlimit before{}, small{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  small = {.rlim_cur = 8192, .rlim_max = before.rlim_max};
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string document = write_document(at("report"), std::string(100'000, 'x'));
  OutputStream stream;
  EXPECT_EQ(stream.open(at("stream")), "");
  std::fputs(std::string(100'000, 'x').c_str(), stream.get());
  const std::string streamed = stream.close();
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(document, "cannot write \"" + at("report") + "\": File too large");
  EXPECT_EQ(text("report"), "before");
  EXPECT_EQ(streamed, "\"" + at("stream") + "\" is not complete: File too large");
  EXPECT_EQ(files(), 2);
}

// Runs the command in a mount namespace with a file system of `size` at `folder`. Needs root; otherwise the
// exit code is 77.
Finished run_with_small_disk(const std::string& folder, const char* size, std::vector<std::string> words) {
  return run_command(std::move(words), "/", [&] {
    constexpr int kNotHere = 77;
    const std::string options = std::string("size=") + size;
    const bool has_place = ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                           ::mount("none", folder.c_str(), "tmpfs", 0, options.c_str()) == 0;
    if (!has_place) ::_exit(kNotHere);
    ::setenv("TMPDIR", folder.c_str(), 1);
  });
}

TEST_F(Outputs, a_record_for_which_the_disk_has_no_room_is_no_difference_between_runs) {
  const std::string topology = std::string(VERBATIM_SOURCE_DIR) + "/" + kTopology;
  const std::string lines = "server=sh -c 'i=0; while [ $i -lt 3000 ]; do echo; i=$((i+1)); done'";
  const Finished run = run_with_small_disk(folder_, "256k", {VERBATIM_PROGRAM, "run", "--verify", "--topology", topology, lines});
  if (run.code == 77) return;
  EXPECT_EQ(run.code, 71) << run.err;
  EXPECT_THAT(run.err, HasSubstr("the record of the run, which --verify compares, could not be written to " +
                                 fs::canonical(folder_).string() + ": No space left on device; set TMPDIR"));
  EXPECT_THAT(run.err, Not(HasSubstr("differ")));
}

// The file system of the document is full, so the old document is kept.
TEST_F(Outputs, a_full_disk_leaves_a_document_what_it_had) {
  const std::string topology = std::string(VERBATIM_SOURCE_DIR) + "/" + kTopology;
  ASSERT_EQ(run_command({VERBATIM_PROGRAM, "run", "--record", at("run.rec"), "--topology", topology, "server=true"}).code, 0);
  const std::string disk = at("disk");
  fs::create_directory(disk);
  const std::string script = "cd \"$2\" && echo before > report && { cat /dev/zero > filler 2>/dev/null; "
                             "\"$0\" report \"$1\" -o report; code=$?; cat report; exit $code; }";
  const Finished run = run_with_small_disk(disk, "256k", {"sh", "-c", script, VERBATIM_PROGRAM, at("run.rec"), disk});
  if (run.code == 77) return;
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_THAT(run.err, HasSubstr("cannot write \"report\": No space left on device"));
  EXPECT_EQ(run.out, "before\n");
}

TEST_F(Outputs, of_a_run_may_not_be_its_inputs) {
  const std::string topology = content_of(::open((std::string(VERBATIM_SOURCE_DIR) + "/" + kTopology).c_str(), O_RDONLY));
  put("topology.json", topology);
  put("script", "echo ran > ran\n");
  fs::create_symlink("topology.json", at("link"));
  for (const char* option : {"--trace", "--record", "--pcap", "--calls", "--series", "--junit"}) {
    for (const char* name : {"topology.json", "link", "script"}) {
      const Finished run =
          run_command({VERBATIM_PROGRAM, "run", option, name, "--topology", "topology.json", "server=sh script"}, folder_);
      EXPECT_EQ(run.code, 2) << option << run.err;
      EXPECT_THAT(run.err, HasSubstr(std::string(option) + ": cannot write \"" + name + "\": this command reads "));
      EXPECT_THAT(run.err, HasSubstr("nothing was started"));
    }
  }
  EXPECT_EQ(text("topology.json"), topology);
  EXPECT_EQ(text("script"), "echo ran > ran\n");
  EXPECT_FALSE(fs::exists(at("ran")));
}

TEST_F(Outputs, of_commands_that_read_a_recording_may_not_be_it) {
  ASSERT_EQ(run_command({VERBATIM_PROGRAM, "run", "--record", at("run.rec"), "--topology", kTopology, "server=true"}).code, 0);
  const std::string recording = text("run.rec");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"report", "run.rec", "-o", "run.rec"}, {"report", "run.rec", "--perfetto", "./run.rec"},
        {"ladder", "run.rec", "-o", "run.rec"}}) {
    std::vector<std::string> all = words;
    all.insert(all.begin(), VERBATIM_PROGRAM);
    const Finished refused = run_command(all, folder_);
    EXPECT_EQ(refused.code, 2) << words[0];
    EXPECT_THAT(refused.err, HasSubstr("this command reads "));
    EXPECT_EQ(text("run.rec"), recording);
  }
  const Finished whole = run_command({VERBATIM_PROGRAM, "report", "run.rec", "-o", "-"}, folder_);
  EXPECT_EQ(whole.code, 0);
  EXPECT_TRUE(whole.out.starts_with("<!") && whole.out.ends_with("</html>\n")) << whole.out.substr(0, 100);
  EXPECT_EQ(files(), 1);
}

TEST_F(Outputs, copies_of_files_have_a_limit_and_can_be_interrupted) {
  fs::create_directory(at("from"));
  for (const char* name : {"from/a", "from/b", "from/c"}) put(name, std::string(1000, 'x'));
  const auto keep = [&](const supervisor::KeptLimits& limits, int asks) {
    fs::remove_all(at("to"));
    return supervisor::keep_files(at("from"), at("to"), limits, [&asks] { return asks-- <= 0; });
  };
  EXPECT_TRUE(keep({.bytes = 3000, .files = 4}, 1000).failures.empty());
  EXPECT_EQ(text("to/c"), std::string(1000, 'x'));
  EXPECT_THAT(keep({.bytes = 2999, .files = 4}, 1000).failures,
              testing::ElementsAre(HasSubstr("there is more than 0 MiB of data or 4 files")));
  EXPECT_EQ(keep({.bytes = 3000, .files = 3}, 1000).failures.size(), 1u);
  EXPECT_FALSE(fs::exists(at("to/c")));
  ASSERT_EQ(::mkfifo(at("from/fifo").c_str(), 0600), 0);
  EXPECT_EQ(keep({}, 1000).left_out, "not kept, since they are no files with data: " + at("from/fifo"));
  const supervisor::KeptFiles interrupted = keep({}, 3);
  EXPECT_TRUE(interrupted.is_interrupted);
  EXPECT_THAT(interrupted.failures, testing::ElementsAre("not all was kept: a signal ended the copying"));
  EXPECT_FALSE(fs::exists(at("to/c")));
}

TEST(Inputs, without_end_are_refused) {
  for (const char* verb : {"report", "ladder", "explain", "replay", "check", "describe", "run"}) {
    const Finished refused = run_command({VERBATIM_PROGRAM, verb, "/dev/zero"});
    EXPECT_EQ(refused.code, 2) << verb;
    EXPECT_THAT(refused.err, HasSubstr("/dev/zero")) << verb;
  }
}

TEST(StandardError, that_is_full_is_an_error_and_lost_lines_are_counted) {
  const std::string out = testing::TempDir() + "verbatim-lost-" + std::to_string(::getpid());
  const char* const script = "exec \"$0\" run --out \"$2\" --topology \"$1\" 'server=sh -c \"echo one >&2; echo two >&2\"' 2> /dev/full";
  const Finished run = run_command({"/bin/sh", "-c", script, VERBATIM_PROGRAM, kTopology, out});
  EXPECT_EQ(run.code, 1) << run.out;
  EXPECT_THAT(content_of(::open((out + "/run.json").c_str(), O_RDONLY)), HasSubstr("\"lost_stderr_lines\": 2\n"));
  EXPECT_EQ(content_of(::open((out + "/server.stderr").c_str(), O_RDONLY)), "one\ntwo\n");
  fs::remove_all(out);
}

TEST(TemporaryFolder, that_cannot_be_used_is_named) {
  for (const char* folder : {"/nonexistent", "/dev/null"}) {
    for (const char* option : {"--log=warn", "--verify"}) {
      const Finished run = run_command({VERBATIM_PROGRAM, "run", option, "--topology", kTopology, "server=true"}, VERBATIM_SOURCE_DIR,
                                       [folder] { ::setenv("TMPDIR", folder, 1); });
      EXPECT_EQ(run.code, 2) << folder << run.err;
      EXPECT_THAT(run.err, HasSubstr(std::string("a run can make its folder in ") + folder + ": "));
      EXPECT_THAT(run.err, HasSubstr("set TMPDIR to a folder that can be written; nothing was started"));
    }
  }
}

}  // namespace
}  // namespace verbatim::cli
