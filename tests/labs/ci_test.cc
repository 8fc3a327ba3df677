// The workflows and scripts of tools/ci do what they say: their steps are executed in an empty folder, with an installed Verbatim
// in a package and a nearly empty environment.
#include <filesystem>
#include <map>
#include <sstream>

#include "tests/labs/folder.h"

namespace verbatim::labs {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// The tar of an installed Verbatim, made once. Empty: it could not be made.
const std::string& package() {
  static const support::TemporaryFolder folder;
  static const std::string file = [] {
    const std::string prefix = folder.path() + "/verbatim-0.1.0";
    const auto installed = cli::run_command({"cmake", "--install", VERBATIM_BINARY_DIR, "--prefix", prefix});
    EXPECT_EQ(installed.code, 0) << installed.err;
    const auto packed = cli::run_command({"tar", "-C", folder.path(), "--use-compress-program=gzip -1", "-cf", folder.path() + "/p.tar.gz", "verbatim-0.1.0"});
    EXPECT_EQ(packed.code, 0) << packed.err;
    return installed.code == 0 && packed.code == 0 ? folder.path() + "/p.tar.gz" : "";
  }();
  return file;
}

struct Step {
  std::string name, script;
};

// The steps with "run:" of a workflow, in their order. Only the form in which ours are written is understood.
std::vector<Step> steps_of(const std::string& workflow) {
  std::istringstream lines(support::text_of_file(VERBATIM_SOURCE_DIR "/tools/ci/" + workflow));
  std::vector<Step> steps;
  std::string name;
  bool is_in_script = false;
  const std::string deep(10, ' ');
  for (std::string line; std::getline(lines, line);) {
    if (is_in_script && (line.empty() || line.starts_with(deep))) {
      steps.back().script += line.substr(std::min(line.size(), deep.size())) + "\n";
      continue;
    }
    is_in_script = false;
    if (line.starts_with("      - name: ")) name = line.substr(14);
    if (!line.starts_with("        run: ")) continue;
    const std::string rest = line.substr(13);
    is_in_script = rest == "|";
    steps.push_back({name, is_in_script ? "" : rest + "\n"});
  }
  return steps;
}

// A machine of a service: a home, a folder with the repository, and nothing else.
class Machine {
 public:
  Machine() {
    for (const char* name : {"home", "temp"}) fs::create_directory(at(name));
  }
  std::string at(const std::string& name) const { return folder_.path() + "/" + name; }
  // As GitHub runs a step: bash -e, with the lines of $GITHUB_PATH before PATH.
  cli::Finished run(const Step& step, const std::map<std::string, std::string>& more = {}) const {
    std::string path = "/usr/bin:/bin";
    std::istringstream added(support::text_of_file(at("path")));
    for (std::string line; std::getline(added, line);) path = line + ":" + path;
    std::vector<std::string> words = {"env", "-i", "PATH=" + path, "HOME=" + at("home"), "RUNNER_TEMP=" + at("temp"),
                                      "GITHUB_WORKSPACE=" + at("repository"), "GITHUB_PATH=" + at("path"),
                                      "GITHUB_OUTPUT=" + at("output")};
    for (const auto& [name, value] : more) words.push_back(name + "=" + value);
    words.insert(words.end(), {"bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step.script});
    return cli::run_command(words, at("repository"));
  }

 private:
  support::TemporaryFolder folder_;
};

void put_repository(const Machine& machine, const std::string& version) {
  const Folder started("1", source_of("01-first-pingpong", version));
  fs::copy(started.path(), machine.at("repository"), fs::copy_options::recursive);
  fs::copy_file(package(), machine.at("repository") + "/verbatim.tar.gz");
}

const std::map<std::string, std::string> kSettings = {{"VERBATIM_PACKAGE", "verbatim.tar.gz"}, {"LAB", "1"}};

TEST(GithubActions, tests_a_program_and_writes_junit_files) {
  ASSERT_NE(package(), "");
  const Machine machine;
  put_repository(machine, "solution");
  const std::vector<Step> steps = steps_of("github-actions.yml");
  ASSERT_EQ(steps.size(), 6u);
  for (const Step& step : steps) {
    const cli::Finished done = machine.run(step, kSettings);
    EXPECT_EQ(done.code, 0) << step.name << "\n" << done.out << done.err;
  }
  const std::string results = machine.at("repository") + "/results";
  EXPECT_THAT(support::text_of_file(results + "/scenario.xml"), HasSubstr("<testsuite name=\"lab-01\" tests=\"3\" failures=\"0\">"));
  EXPECT_THAT(support::text_of_file(results + "/scenario.xml"), HasSubstr("<testcase name=\"client: ./lab server\"/>"));
  EXPECT_THAT(support::text_of_file(results + "/schedules.xml"), HasSubstr("tests=\"20\" failures=\"0\""));
  EXPECT_TRUE(fs::exists(results + "/run/run.json"));
  // A program with a mistake fails its step, and the file names the test case.
  std::ofstream(machine.at("repository") + "/lab.c") << source_of("01-first-pingpong", "buggy");
  EXPECT_EQ(machine.run(steps[3], kSettings).code, 0);
  EXPECT_EQ(steps[4].name, "Scenario");
  EXPECT_NE(machine.run(steps[4], kSettings).code, 0);
  EXPECT_THAT(support::text_of_file(results + "/scenario.xml"), HasSubstr("<testcase name=\"client: ./lab server\"><failure message=\""));
}

TEST(GithubClassroom, reports_points_as_its_reporter_reads_them) {
  ASSERT_NE(package(), "");
  const Machine machine;
  put_repository(machine, "buggy");
  const std::vector<Step> steps = steps_of("github-classroom.yml");
  ASSERT_EQ(steps.size(), 3u);
  for (const Step& step : steps) {
    const cli::Finished done = machine.run(step, kSettings);
    EXPECT_EQ(done.code, 0) << step.name << "\n" << done.out << done.err;
  }
  const cli::Finished decoded = cli::run_command({"sh", "-c", "sed 's/^result=//' '" + machine.at("output") + "' | base64 -d"});
  const auto result = nlohmann::json::parse(decoded.out, nullptr, false);
  ASSERT_TRUE(result.is_object()) << decoded.out;
  EXPECT_EQ(result["max_score"], 11);
  EXPECT_EQ(result["status"], "fail");
  ASSERT_EQ(result["tests"].size(), 6u);
  EXPECT_EQ(result["tests"][0]["status"], "pass");
  EXPECT_EQ(result["tests"][1]["score"], 0);
  EXPECT_NE(result["tests"][1]["message"], nullptr);
}

TEST(Gradescope, gets_results_of_a_submission_that_is_lab_c_alone) {
  ASSERT_NE(package(), "");
  const Machine machine;
  for (const char* name : {"repository", "source", "submission", "results"}) fs::create_directory(machine.at(name));
  fs::copy_file(package(), machine.at("source") + "/verbatim.tar.gz");
  std::ofstream(machine.at("source") + "/lab") << "2\n";
  std::ofstream(machine.at("source") + "/seeds") << "17 4711\n";
  std::ofstream(machine.at("submission") + "/lab.c") << source_of("02-queue-pair-states", "solution");
  const std::map<std::string, std::string> here = {{"AUTOGRADER", machine.at("")}, {"VERBATIM_PREFIX", machine.at("opt")}};
  for (const char* script : {"setup.sh", "run_autograder"}) {
    const cli::Finished done = machine.run({script, support::quoted(std::string(VERBATIM_SOURCE_DIR "/tools/ci/gradescope/") + script)}, here);
    EXPECT_EQ(done.code, 0) << script << "\n" << done.out << done.err;
  }
  const auto results = [&] {
    return nlohmann::json::parse(support::text_of_file(machine.at("results/results.json")), nullptr, false);
  };
  ASSERT_EQ(results()["tests"].size(), 5u);
  for (const auto& test : results()["tests"]) EXPECT_EQ(test["score"], test["max_score"]) << test;
  // Errors that are not the student's are reported as such.
  std::ofstream(machine.at("source") + "/lab") << "no such lab\n";
  machine.run({"run_autograder", support::quoted(VERBATIM_SOURCE_DIR "/tools/ci/gradescope/run_autograder")}, here);
  EXPECT_EQ(results()["score"], 0);
  EXPECT_THAT(results()["output"].get<std::string>(), HasSubstr("no fault of yours"));
}

}  // namespace
}  // namespace verbatim::labs
