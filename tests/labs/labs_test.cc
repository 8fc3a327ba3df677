// Every lab's solution gets all points, its mistake loses the expected points, and hostile submissions are
// harmless.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/labs/folder.h"

namespace verbatim::labs {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

struct Lab {
  const char* name;
  const char* lost_by_the_mistake;  // the reason for points that buggy.c loses
  friend void PrintTo(const Lab& lab, std::ostream* out) { *out << lab.name; }
};

constexpr Lab kLabs[] = {
    {"01-first-pingpong", "  0 of 4  prints the port, and all messages arrive\n"},
    {"02-queue-pair-states", "  0 of 3  right when one packet is lost"},
    {"03-receives-and-rnr", "  0 of 4  every message finds a receive posted"},
    {"04-write-and-read", "  0 of 2  the client cannot write the table"},
    {"05-completion-events", "  0 of 3  arms the CQ, polls until it is empty, and only then sleeps"},
    {"06-who-owns-a-buffer", "  0 of 3  no buffer is changed before its completion"},
    {"07-key-value-store", "  0 of 2  right in 20 schedules"},
    {"08-one-sided-lock", "  0 of 4  no count is lost"},
    {"09-fences-and-order", "  0 of 3  each copy is right when the server is notified, in 20 schedules"},
    {"10-shared-receives", "  0 of 2  no message is lost when a client leaves at once"},
    {"11-loss-and-timeouts", "  0 of 3  a permanent link failure is reported within 25 ms"},
    {"12-incast", "  0 of 4  READs stay fast while six hosts send"},
    {"01-first-pingpong-cm", "  0 of 2  every message finds a receive posted"},
    {"03-receives-and-rnr-cm", "  0 of 3  the same with a server that has three receives"},
    {"05-completion-events-cm", "  0 of 1  all messages arrive, and the server sleeps between them"},
    {"07-key-value-store-cm", "  0 of 3  large values come back"},
    {"10-shared-receives-cm", "  0 of 2  no message is lost when a client leaves at once"},
    {"14-incast-and-dcqcn", "  0 of 3  no port pauses another"},
    {"13-find-the-bug", "  1 of 4  right in 40 schedules"},
    {"15-pfc-deadlock", "  0 of 4  all chunks arrive\n"},
};

class EveryLab : public ::testing::TestWithParam<Lab> {};

TEST_P(EveryLab, gives_its_solution_all_points) {
  const Folder folder(GetParam().name, source_of(GetParam().name, "solution"));
  const cli::Finished graded = folder.grade(LAB_SEEDS);
  EXPECT_EQ(graded.code, 0) << graded.out << graded.err;
  const auto tests = folder.gradescope()["tests"];
  ASSERT_GT(tests.size(), 2u);
  for (const auto& test : tests) EXPECT_EQ(test["score"], test["max_score"]) << test;
  EXPECT_THAT(folder.junit(), HasSubstr("failures=\"0\""));
}

TEST_P(EveryLab, finds_its_mistake) {
  const Folder folder(GetParam().name, source_of(GetParam().name, "buggy"));
  const cli::Finished graded = folder.grade(LAB_SEEDS);
  EXPECT_THAT(graded.out, HasSubstr("  1 of 1  compiles without a warning\n"));
  EXPECT_EQ(graded.code, 1) << graded.out << graded.err;
  EXPECT_THAT(graded.out, HasSubstr(GetParam().lost_by_the_mistake));
}

TEST_P(EveryLab, begins_with_what_compiles) {
  const Folder folder(GetParam().name, source_of(GetParam().name, "skeleton"));
  const cli::Finished graded = folder.grade(LAB_SEEDS);
  EXPECT_EQ(graded.code, 1) << graded.err;
  EXPECT_THAT(graded.out, HasSubstr("  1 of 1  compiles without a warning\n"));
}

// The sweep uses all labs.
std::vector<Lab> chosen_labs() {
  std::vector<Lab> chosen;
  for (const char* name : {"05-completion-events", "11-loss-and-timeouts", "01-first-pingpong", "01-first-pingpong-cm"}) {
    for (const Lab& lab : kLabs) {
      if (std::string_view(lab.name) == name) chosen.push_back(lab);
    }
  }
  for (const Lab& lab : kLabs) {
    const bool has = std::ranges::any_of(chosen, [&](const Lab& one) { return std::string_view(one.name) == lab.name; });
    if (!has) chosen.push_back(lab);
  }
  chosen.resize(std::min<std::size_t>(chosen.size(), LAB_MOST));
  return chosen;
}

INSTANTIATE_TEST_SUITE_P(Labs, EveryLab, ::testing::ValuesIn(chosen_labs()), [](const auto& info) {
  std::string name = info.param.name;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

// A solution that polls, and a buggy variant that sleeps. One seed is sufficient, and losses are left out: a
// program that polls for seconds of virtual time is slow call by call; tests/determinism compares the digests
// of both modes.
TEST(Lab, has_the_same_points_call_by_call) {
  const std::pair<const char*, const char*> programs[] = {{"03-receives-and-rnr", "solution"},
                                                           {"05-completion-events", "buggy"},
                                                           {"05-completion-events", "solution"},
                                                           {"05-completion-events-cm", "buggy"}};
  for (const auto& [lab, version] : programs) {
    const Folder folder(lab, source_of(lab, version));
    const cli::Finished slowly = folder.grade("1", {"--call-by-call"});
    EXPECT_EQ(slowly.out, folder.grade("1").out) << lab;
    EXPECT_GT(points_of(slowly), 1) << slowly.out;
  }
}

TEST(Lab, is_run_as_it_is) {
  const Folder folder("1", source_of("01-first-pingpong", "solution"));
  const cli::Finished run = cli::verbatim({"lab", "run", folder.path()});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("client| pong 10\n"));
  EXPECT_THAT(run.err, HasSubstr("40 packets"));
}

TEST(Lab, its_form_with_librdmacm_is_asked_for_by_number) {
  const Folder folder("1-cm", source_of("01-first-pingpong-cm", "solution"));
  const cli::Finished run = cli::verbatim({"lab", "run", folder.path()});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("client| mlx5_0: port 1, from 10.0.0.2 to 10.0.0.1\n"));
  EXPECT_THAT(run.out, HasSubstr("client| pong 10\n"));
}

TEST(Lab, mistakes_in_its_use_are_told) {
  const support::TemporaryFolder folder;
  EXPECT_THAT(cli::verbatim({"lab", "start", "77", folder.path() + "/x"}).err, HasSubstr("there is no lab \"77\""));
  EXPECT_THAT(cli::verbatim({"lab", "start", "1", VERBATIM_SOURCE_DIR}).err, HasSubstr("exists and is not an empty folder"));
  EXPECT_THAT(cli::verbatim({"grade", folder.path()}).err, HasSubstr("says which lab this is; name the lab with --lab"));
  EXPECT_THAT(cli::verbatim({"grade", folder.path() + "/none"}).err, HasSubstr("is not a folder"));
  EXPECT_THAT(cli::verbatim({"lab", "run", folder.path()}).err, HasSubstr("says which lab this is; name the lab with --lab"));
  const cli::Finished listed = cli::verbatim({"lab", "list"});
  EXPECT_THAT(listed.out, HasSubstr("01-first-pingpong: A device, its port, and the first ping-pong (11 points)\n"));
}

// Expects at most the point for compiling.
void expect_no_points(const std::string& source, const std::string& reason) {
  const Folder folder("2", source);
  const cli::Finished graded = folder.grade("1");
  EXPECT_EQ(graded.code, 1) << graded.out << graded.err;
  EXPECT_THAT(graded.out, HasSubstr(reason));
  EXPECT_THAT(graded.out, HasSubstr("  0 of 4  all messages arrive\n"));
}

TEST(Submission, that_crashes) {
  expect_no_points("#include \"lab.h\"\nint main(void) { raise(11); return *(volatile int*)8; }\n", "raise");
  expect_no_points("int main(void) { return *(volatile int*)8; }\n", "SIGSEGV");
}

TEST(Submission, that_waits_for_ever) {
  expect_no_points("#include <unistd.h>\nint main(void) { for (;;) pause(); }\n", "deadlock");
}

TEST(Submission, that_makes_processes_without_end) {
  expect_no_points("#include <unistd.h>\nint main(void) { for (;;) fork(); }\n", "more than 200 processes");
}

TEST(Submission, that_fills_the_disk) {
  if (*LAB_SEEDS == '\0') GTEST_SKIP() << "labs_test writes so much";
  expect_no_points(
      "#include <fcntl.h>\n#include <unistd.h>\nstatic char block[1 << 20];\n"
      "int main(void) { int fd = open(\"/tmp/much\", O_CREAT | O_WRONLY, 0600);\n"
      "while (write(fd, block, sizeof block) > 0) continue; }\n",
      "more than 1 GiB");
}

TEST(Submission, is_not_blamed_for_what_others_write_to_the_disk) {
  const support::TemporaryFolder others;
  const Folder folder("05-completion-events", source_of("05-completion-events", "solution"));
  std::thread writer([&others] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const int file = ::open((others.path() + "/much").c_str(), O_CREAT | O_WRONLY, 0600);
    ::posix_fallocate(file, 0, off_t{3} << 29);
    ::close(file);
  });
  const cli::Finished graded = folder.grade("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30");
  writer.join();
  EXPECT_EQ(graded.code, 0) << graded.out << graded.err;
}

TEST(Submission, that_includes_files_of_the_labs) {
  expect_no_points("#include \"" LAB_FOLDER "/lab.h\"\nint main(void) { return 0; }\n",
                   "it includes lab.h from the folder of the labs");
}

}  // namespace
}  // namespace verbatim::labs
