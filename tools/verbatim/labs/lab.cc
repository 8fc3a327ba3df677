// `verbatim lab`: lists labs, starts one in a new folder, builds and runs a program, checks a lab.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/config/words.h"
#include "sim/supervisor/machine/waiting.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/labs/lab_check.h"
#include "tools/verbatim/labs/lab_folder.h"
#include "tools/verbatim/labs/submission.h"
#include "tools/verbatim/run_plan.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;
using Json = Answer::Json;

int list(Answer& answer) {
  auto entries = Json::array();
  const std::vector<Lab> labs = all_labs();
  for (const Lab& lab : labs) {
    answer.say("%s: %s (%u points)\n", lab.name.c_str(), lab.title.c_str(), lab.points());
    entries.push_back({{"lab", lab.name}, {"title", lab.title}, {"points", lab.points()}});
  }
  if (!labs.empty()) answer.document()["labs"] = entries;
  if (labs.empty()) complain("this installation has no labs; build or install all of it");
  return labs.empty() ? kUsage : kAsExpected;
}

int copy_out(const std::string& number, const fs::path& to, Answer& answer) {
  const auto lab = find_lab(number);
  if (!lab) return kUsage;
  std::error_code error;
  if (fs::exists(to, error) && (!fs::is_directory(to, error) || !fs::is_empty(to, error))) {
    complain(config::in_quotes(to.string()) + " exists and is not an empty folder; name another");
    return kUsage;
  }
  try {
    fs::create_directories(to);
    fs::copy_file(lab->folder / "README.md", to / "README.md");
    fs::copy_file(lab->folder / "skeleton.c", to / "lab.c");
    fs::copy_file(lab->topology, to / "topology.json");
    for (const char* shared : kSharedFiles) fs::copy_file(lab->shared_file(shared), to / shared);
    for (const fs::path& file : files_beside_program(*lab)) {
      // Scenarios with a dash in their name are used by the grader only.
      if (!file.filename().string().starts_with("scenario-")) fs::copy_file(file, to / file.filename(), fs::copy_options::skip_existing);
    }
    std::ofstream mark(to / kLabMark);
    Json content = {{"lab", lab->name}};
    if (!lab->is_of_course) content["folder"] = lab->folder.string();
    mark << content.dump(2) << "\n";
    if (!mark.flush()) throw fs::filesystem_error("cannot write", to / kLabMark, std::make_error_code(std::errc::io_error));
  } catch (const fs::filesystem_error& failure) {
    complain(failure.what());
    return kUsage;
  }
  const std::string word = config::join_words({to.string()});
  answer.document() = {{"lab", lab->name}, {"title", lab->title}, {"folder", to.string()}};
  answer.say("%s\nread    %s/README.md\nedit    %s/lab.c\nrun     verbatim lab run %s\ngrade   verbatim grade %s\n", lab->title.c_str(),
             word.c_str(), word.c_str(), word.c_str(), word.c_str());
  return kAsExpected;
}

bool make_in(const fs::path& folder) {
  const std::string name = folder;
  const pid_t make = start_child(ChildOutput::kInherited, -1, [&] {
    ::execlp("make", "make", "-s", "-C", name.c_str(), static_cast<char*>(nullptr));
    complain("make is not installed");
    return static_cast<int>(kUsage);
  });
  return make >= 0 && supervisor::await_child(make).status == 0;
}

int run_in(const fs::path& folder, RunOptions options) {
  options.arguments = {folder / "scenario.json"};
  return run(options);
}

// Builds a folder that contains only the program like a graded one, with the files of its lab.
int build_and_run(const fs::path& folder, const std::string& lab_name, const RunOptions& options) {
  std::error_code error;
  const auto has = [&](const char* name) { return fs::is_regular_file(folder / name, error); };
  if (has("grade.json") && !has("lab.c") && lab_name.empty()) {
    complain(config::in_quotes(folder.string()) + " is the folder of a lab; `verbatim lab start FOLDER NEW` copies it out to work on, " +
             "and `verbatim lab check FOLDER` runs its programs");
    return kUsage;
  }
  const bool is_complete = has("scenario.json") && has("Makefile") && lab_name.empty();
  if (is_complete) {
    if (make_in(folder)) return run_in(folder, options);
    complain("the program does not compile; nothing was started");
    return kUsage;
  }
  const auto lab = lab_of(folder, lab_name);
  if (!lab) return kUsage;
  try {
    Submission submission(*lab, folder);
    const bool is_built = submission.build();
    if (!submission.complaint().empty()) std::fprintf(stderr, "%s\n", submission.complaint().c_str());
    if (is_built) return run_in(submission.folder(), options);
    complain("the program does not compile; nothing was started");
    return kUsage;
  } catch (const fs::filesystem_error& failure) {
    complain(failure.what());
    return kMachineFault;
  }
}

}  // namespace

int lab(const LabOptions& options) {
  Answer answer("lab", options.run.style);
  switch (options.verb) {
    case LabOptions::Verb::kList:
      return answer.end(list(answer));
    case LabOptions::Verb::kStart:
      return answer.end(copy_out(options.number, options.folder, answer));
    case LabOptions::Verb::kCheck:
      return answer.end(check_lab(options.folder, answer));
    case LabOptions::Verb::kRun:
      break;
  }
  return build_and_run(options.folder, options.lab, options.run);
}

}  // namespace verbatim::cli
