#include "tools/verbatim/labs/lab_check.h"

#include <cstdio>
#include <string>
#include <vector>

#include "sim/config/load.h"
#include "sim/config/words.h"
#include "sim/core/words.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/install_paths.h"
#include "tools/verbatim/labs/grader.h"
#include "tools/verbatim/labs/lab_folder.h"
#include "tools/verbatim/labs/submission.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFiles[] = {"README.md", "grade.json", "scenario.json", "skeleton.c", "solution.c", "buggy.c"};

class LabCheck {
 public:
  LabCheck(const fs::path& folder, Answer& answer) : folder_(folder), answer_(answer) {}

  int run() {
    std::error_code error;
    if (!fs::is_directory(folder_, error)) {
      complain(config::in_quotes(folder_.string()) + " is not a folder");
      return kUsage;
    }
    for (const char* name : kFiles) {
      if (!fs::is_regular_file(folder_ / name, error)) report(false, name, "is missing");
    }
    const auto lab = check_files();
    if (lab && is_right_) check_programs(*lab);
    answer_.document()["findings"] = findings_;
    if (is_interrupted_) return kInterrupted;
    if (is_right_) answer_.say("%s: the lab is complete\n", folder_.c_str());
    else answer_.say_wrong("%s: the lab is not complete\n", folder_.c_str());
    return is_right_ ? kAsExpected : kUsage;
  }

 private:
  void report(bool is_right, const std::string& file, const std::string& text) {
    is_right_ = is_right_ && is_right;
    const std::string line = file + ": " + text + "\n";
    if (is_right) {
      answer_.say("%s", line.c_str());
    } else {
      answer_.say_wrong("%s", line.c_str());
      findings_.push_back({{"file", file}, {"text", text}});
    }
  }

  void report(const config::Diagnostics& diagnostics, const std::string& file) {
    for (const config::Finding& finding : diagnostics.findings())
      report(false, file, (finding.pointer.empty() ? "" : finding.pointer + ": ") + finding.text + (finding.hint.empty() ? "" : "; ") + finding.hint);
  }

  // Checks grade.json, and the scenarios as they will be in a submission's folder.
  std::optional<Lab> check_files() {
    std::error_code error;
    if (!fs::is_regular_file(folder_ / "grade.json", error)) return std::nullopt;
    config::Diagnostics diagnostics;
    auto lab = read_lab(folder_, diagnostics);
    report(diagnostics, "grade.json");
    if (!lab) return std::nullopt;
    report(true, "grade.json", join(lab->criteria.size(), lab->criteria.size() == 1 ? " criterion, " : " criteria, ", lab->points(), " points"));
    if (!fs::is_regular_file(folder_ / "solution.c", error)) return lab;
    const Submission beside(*lab, folder_ / "solution.c");
    for (const fs::path& file : files_beside_program(*lab)) {
      const std::string name = file.filename();
      if (!name.starts_with("scenario") || !name.ends_with(".json")) continue;
      config::Diagnostics of_scenario;
      const auto scenario = config::load_scenario(beside.folder() / name, {profile_folders()}, of_scenario);
      report(of_scenario, name);
      if (scenario) report(true, name, "a valid scenario");
    }
    return lab;
  }

  void check_programs(const Lab& lab) {
    check_program(lab, "solution.c", "it should get all of them", [&](unsigned points) { return points == lab.points(); });
    check_program(lab, "skeleton.c", "it should get fewer than all", [&](unsigned points) { return points < lab.points(); });
    check_program(lab, "buggy.c", "it should get fewer than all", [&](unsigned points) { return points < lab.points(); });
  }

  template <class IsRight>
  void check_program(const Lab& lab, const char* name, const std::string& expected, IsRight is_right) {
    if (is_interrupted_) return;
    Submission submission(lab, folder_ / name);
    Grader grader(lab, submission, {.shows_progress = answer_.is_for_people()});
    if (!grader.run()) {
      is_interrupted_ = true;
      return;
    }
    if (!submission.complaint().empty()) return report(false, name, "does not compile without a warning:\n" + submission.complaint());
    const unsigned points = grader.points();
    const std::string text = join(points, " of ", lab.points(), " points");
    answer_.document()["points"][name] = points;
    report(is_right(points), name, is_right(points) ? text : text + "; " + expected);
    // Prints the reasons if the points are not those that the lab's author expects.
    if (is_right(points)) return;
    for (std::size_t i = 0; i < lab.criteria.size(); ++i) {
      for (const std::string& line : grader.grades()[i].why) answer_.say_wrong("  %s: %s\n", lab.criteria[i].name.c_str(), line.c_str());
    }
  }

  const fs::path folder_;
  Answer& answer_;
  bool is_right_ = true, is_interrupted_ = false;
  Answer::Json findings_ = Answer::Json::array();
};

}  // namespace

int check_lab(const fs::path& folder, Answer& answer) {
  try {
    return LabCheck(folder, answer).run();
  } catch (const fs::filesystem_error& failure) {
    complain(failure.what());
    return kMachineFault;
  }
}

}  // namespace verbatim::cli
