// A lab outside the course is checked, started, run and graded; errors in a lab are reported.
#include <filesystem>

#include "tests/labs/folder.h"

namespace verbatim::labs {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kGrade =
    "{\"title\": \"A lab of my own\", \"topology\": \"two_hosts\", \"criteria\": [\n"
    "  {\"name\": \"compiles\", \"points\": 1, \"builds\": true},\n"
    "  {\"name\": \"all messages arrive\", \"points\": 4},\n"
    "  {\"name\": \"right in a schedule\", \"points\": 2, \"schedules\": 1}]}\n";

// Made of the files of lab 2.
class OwnLab {
 public:
  OwnLab() : path_(folder_.path() + "/ring of buffers") {
    fs::create_directory(path_);
    for (const char* name : {"README.md", "skeleton.c", "solution.c", "scenario.json"})
      fs::copy_file(std::string(VERBATIM_SOURCE_DIR "/scenarios/labs/02-queue-pair-states/") + name, path_ + "/" + name);
    // Its mistake shows in every run.
    std::string source = source_of("02-queue-pair-states", "solution");
    source.replace(source.find("theirs.qp_num"), std::string("theirs.qp_num").size(), "1 + theirs.qp_num");
    write("buggy.c", source);
    write("grade.json", kGrade);
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path_ + "/" + name) << text; }
  const std::string& path() const { return path_; }
  std::string beside(const std::string& name) const { return folder_.path() + "/" + name; }

 private:
  support::TemporaryFolder folder_;
  std::string path_;
};

TEST(OwnLab, that_is_complete_passes_the_check) {
  const OwnLab lab;
  const cli::Finished checked = cli::verbatim({"lab", "check", lab.path()});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("grade.json: 3 criteria, 7 points\nscenario.json: a valid scenario\nsolution.c: 7 of 7 points\n"));
  EXPECT_THAT(checked.out, HasSubstr("buggy.c: 1 of 7 points\n"));
  EXPECT_THAT(checked.out, HasSubstr("ring of buffers: the lab is complete\n"));
}

TEST(OwnLab, is_started_run_and_graded_by_the_path_of_its_folder) {
  const OwnLab lab;
  const std::string student = lab.beside("student");
  ASSERT_EQ(cli::verbatim({"lab", "start", lab.path(), student}).code, 0);
  fs::copy_file(lab.path() + "/solution.c", student + "/lab.c", fs::copy_options::overwrite_existing);
  // The folder contains the path of its lab.
  EXPECT_EQ(cli::verbatim({"grade", student}).out.substr(0, 33), "ring of buffers: A lab of my own\n");
  // A folder with only the program needs the option.
  const std::string alone = lab.beside("alone");
  fs::create_directory(alone);
  fs::copy_file(student + "/lab.c", alone + "/lab.c");
  EXPECT_EQ(cli::verbatim({"grade", alone}).code, 2);
  EXPECT_EQ(cli::verbatim({"grade", alone, "--lab", lab.path()}).code, 0);
  const cli::Finished run = cli::verbatim({"lab", "run", alone, "--lab", lab.path()});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("client|"));
  // The lab has moved.
  fs::rename(lab.path(), lab.beside("elsewhere"));
  EXPECT_THAT(cli::verbatim({"grade", student}).err, HasSubstr("which is not there; name its folder with --lab"));
}

struct Flaw {
  const char* name;
  const char* file;
  const char* text;  // nullptr: the file is removed; empty: that of the solution
  const char* said;
};

class Flaws : public ::testing::TestWithParam<Flaw> {};

TEST_P(Flaws, are_said) {
  const OwnLab lab;
  const Flaw& flaw = GetParam();
  const std::string file = flaw.file;
  if (flaw.text == nullptr) fs::remove(lab.path() + "/" + file);
  else lab.write(file, *flaw.text == '\0' ? support::text_of_file(lab.path() + "/solution.c") : flaw.text);
  const cli::Finished checked = cli::verbatim({"lab", "check", lab.path()});
  EXPECT_EQ(checked.code, 2) << checked.out << checked.err;
  EXPECT_THAT(checked.out + checked.err, HasSubstr(flaw.said));
  EXPECT_THAT(checked.out, HasSubstr("ring of buffers: the lab is not complete\n"));
}

INSTANTIATE_TEST_SUITE_P(
    Labs, Flaws,
    ::testing::Values(
        Flaw{"no_text", "README.md", nullptr, "README.md: is missing\n"},
        Flaw{"unknown_key", "grade.json", "{\"title\": \"x\", \"topology\": \"two_hosts\", \"criteria\": [{\"name\": \"a\", \"point\": 1}]}",
             "did you mean \"points\"?"},
        Flaw{"unknown_topology", "grade.json",
             "{\"title\": \"x\", \"topology\": \"one_host\", \"criteria\": [{\"name\": \"a\", \"points\": 1}]}",
             "grade.json: /topology: \"one_host\" is no file of the lab"},
        Flaw{"two_kinds_of_runs", "grade.json",
             "{\"title\": \"x\", \"topology\": \"two_hosts\", \"criteria\": [{\"name\": \"a\", \"points\": 1, \"losses\": 1, \"schedules\": 1}]}",
             "grade.json: /criteria/0: has more than one of builds, schedules and losses"},
        Flaw{"wrong_scenario", "scenario.json", "{\"topology\": \"topology.json\", \"programs\": [{\"host\": \"nobody\", \"command\": \"./lab\"}]}",
             "scenario.json: /programs/0/host: "},
        Flaw{"mistake_without_a_price", "buggy.c", "", "buggy.c: 7 of 7 points; it should get fewer than all\n"},
        Flaw{"skeleton_that_does_not_compile", "skeleton.c", "int main(void) { return 0 }\n",
             "skeleton.c: does not compile without a warning:\nlab.c:"},
        Flaw{"solution_that_fails", "solution.c", "int main(void) { return 1; }\n", "solution.c: 1 of 7 points; it should get all of them\n"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(GradeSchema, is_up_to_date_and_generated_from_the_table) {
  const support::TemporaryFolder folder;
  ASSERT_EQ(cli::verbatim({"schema", folder.path()}).code, 0);
  EXPECT_TRUE(support::text_of_file(folder.path() + "/grade.schema.json") ==
              support::text_of_file(VERBATIM_SOURCE_DIR "/topologies/schema/grade.schema.json"))
      << "out of date; run: build/verbatim schema topologies/schema";
}

}  // namespace
}  // namespace verbatim::labs
