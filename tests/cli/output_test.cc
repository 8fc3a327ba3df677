// Program output: marked lines on the terminal, unchanged bytes in files.
#include "tools/verbatim/output.h"

#include <filesystem>

#include "tests/config/helpers.h"

namespace verbatim::cli {
namespace {

TEST(Labels, second_program_of_a_host_has_a_number) {
  EXPECT_EQ(labels_of({"a", "b", "a", "a"}), (std::vector<std::string>{"a", "b", "a.2", "a.3"}));
}

TEST(ProgramOutput, lines_appear_when_complete_and_rests_at_the_end) {
  ::testing::internal::CaptureStdout();
  {
    ProgramOutput output({"a", "b"}, true);
    output.on_output(0, 1, "one ");
    output.on_output(1, 1, "first\nunfinished");
    output.on_output(0, 1, "line\n\n");
    output.on_exit(1);
    output.on_output(0, 1, "rest");
    EXPECT_EQ(output.finish(), "");
  }
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "b| first\na| one line\na| \nb| unfinished\na| rest\n");
}

TEST(ProgramOutput, files_hold_the_bytes_as_written) {
  config::Folder folder;
  {
    ProgramOutput output({"a"}, false);
    ASSERT_EQ(output.open_files(folder.path()), "");
    output.on_output(0, 1, std::string_view("x\0y", 3));
    output.on_output(0, 2, "e");
    output.on_output(0, 1, "\nz");
  }
  config::Diagnostics diagnostics;
  EXPECT_EQ(config::read_file(folder.path() + "/a.stdout", diagnostics), std::string("x\0y\nz", 5));
  EXPECT_EQ(config::read_file(folder.path() + "/a.stderr", diagnostics), "e");
}

TEST(ProgramOutput, the_first_report_of_a_sanitizer_is_kept) {
  ProgramOutput output({"a"}, false);
  output.on_output(0, 2, "ERROR: no report\n==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n");
  output.on_output(0, 1, "in between\n");
  output.on_output(0, 2, "    #0 0x2 in main b.c:14\nSUMMARY: AddressSanitizer: heap-use-after-free b.c:14 in main\n==1==ABORTING\n");
  output.on_output(0, 2, "WARNING: ThreadSanitizer: data race (pid=1)\n");
  EXPECT_EQ(output.sanitizer_report(0),
            "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n    #0 0x2 in main b.c:14\n"
            "SUMMARY: AddressSanitizer: heap-use-after-free b.c:14 in main\n");
}

TEST(ProgramOutput, the_report_of_a_sanitizer_has_a_limit) {
  ProgramOutput output({"a"}, false);
  output.on_output(0, 2, "WARNING: ThreadSanitizer: data race (pid=1)\n" + std::string(100'000, 'x') + "\n");
  for (int i = 0; i < 10'000; ++i) output.on_output(0, 2, "    #0 f a.c:1\n");
  EXPECT_LE(output.sanitizer_report(0).size(), 8192u);
  EXPECT_GT(output.sanitizer_report(0).size(), 8000u);
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// More files than are open at a time: files that were closed in between are reopened for appending.
TEST(ProgramOutput, thousands_of_programs_take_few_descriptors) {
  constexpr int kPrograms = 1000, kRounds = 3;
  config::Folder folder;
  std::vector<std::string> labels;
  for (int i = 0; i < kPrograms; ++i) labels.push_back("h" + std::to_string(i));
  ProgramOutput output(labels, false);
  const std::size_t before = open_descriptors();
  ASSERT_EQ(output.open_files(folder.path()), "");
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < kPrograms; ++i) output.on_output(i, 1, std::to_string(round) + "\n");
    EXPECT_LE(open_descriptors() - before, 256u);
  }
  EXPECT_EQ(output.finish(), "");
  config::Diagnostics diagnostics;
  for (const std::string& label : labels) {
    EXPECT_EQ(config::read_file(folder.path() + "/" + label + ".stdout", diagnostics), "0\n1\n2\n");
    EXPECT_EQ(config::read_file(folder.path() + "/" + label + ".stderr", diagnostics), "");
  }
}

TEST(ProgramOutput, an_endless_line_does_not_fill_the_memory) {
  ::testing::internal::CaptureStdout();
  {
    ProgramOutput output({"a"}, true);
    const std::string piece(65'536, 'x');
    for (int i = 0; i < 40; ++i) output.on_output(0, 1, piece);
  }
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(text.size(), 40 * 65'536 + 3 * 4u);
}

}  // namespace
}  // namespace verbatim::cli
