// `verbatim lab`: an exercise is copied out, built and run.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/config/words.h"
#include "tools/verbatim/answer.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/labs/lab_folder.h"
#include "tools/verbatim/run_plan.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;

int list(Answer& answer) {
  auto told = Answer::Json::array();
  const std::vector<Lab> labs = all_labs();
  for (const Lab& lab : labs) {
    unsigned points = 0;
    for (const Criterion& criterion : lab.criteria) points += criterion.points;
    answer.say("%s: %s (%u points)\n", lab.name.c_str(), lab.title.c_str(), points);
    told.push_back({{"lab", lab.name}, {"title", lab.title}, {"points", points}});
  }
  if (!labs.empty()) answer.document()["labs"] = told;
  if (labs.empty()) complain("this installation has no labs; build or install all of it");
  return labs.empty() ? kUsage : kAsExpected;
}

int copy_out(const std::string& number, const fs::path& to, Answer& answer) {
  const auto lab = find_lab(number);
  if (!lab) return kUsage;
  std::error_code error;
  if (fs::exists(to, error) && (!fs::is_directory(to, error) || !fs::is_empty(to, error))) {
    complain(config::in_quotes(to.string()) + " is there already and is not an empty folder; name another");
    return kUsage;
  }
  try {
    fs::create_directories(to);
    fs::copy_file(lab->folder / "README.md", to / "README.md");
    fs::copy_file(lab->folder / "skeleton.c", to / "lab.c");
    fs::copy_file(lab->folder / "scenario.json", to / "scenario.json");
    fs::copy_file(lab->topology, to / "topology.json");
    for (const char* shared : kSharedFiles) fs::copy_file(lab->folder.parent_path() / shared, to / shared);
    std::ofstream mark(to / kLabMark);
    mark << nlohmann::ordered_json{{"lab", lab->name}}.dump(2) << "\n";
    if (!mark.flush()) throw fs::filesystem_error("cannot write", to / kLabMark, std::make_error_code(std::errc::io_error));
  } catch (const fs::filesystem_error& failure) {
    complain(failure.what());
    return kUsage;
  }
  const std::string word = config::join_words({to.string()});
  answer.document() = {{"lab", lab->name}, {"title", lab->title}, {"folder", to.string()}};
  answer.say("%s\n%s has the text in README.md and a beginning in lab.c\ntry:   verbatim lab run %s\ngrade: verbatim grade %s\n",
             lab->title.c_str(), to.c_str(), word.c_str(), word.c_str());
  return kAsExpected;
}

int build_and_run(const fs::path& folder, const RunOptions& options) {
  if (!fs::is_regular_file(folder / "scenario.json")) {
    complain(config::in_quotes(folder.string()) +
             " has no scenario.json; `verbatim lab start NUMBER FOLDER` makes such a folder");
    return kUsage;
  }
  const std::string name = folder;
  const pid_t make = start_child(ChildOutput::kInherited, -1, [&] {
    ::execlp("make", "make", "-s", "-C", name.c_str(), static_cast<char*>(nullptr));
    complain("make is not installed");
    return static_cast<int>(kUsage);
  });
  int status = 0;
  if (make < 0 || ::waitpid(make, &status, 0) != make || status != 0) {
    complain("it does not compile; nothing was started");
    return kUsage;
  }
  RunOptions one = options;
  one.arguments = {folder / "scenario.json"};
  return run(one);
}

}  // namespace

int lab(const LabOptions& options) {
  Answer answer("lab", options.run.style);
  switch (options.verb) {
    case LabOptions::Verb::kList:
      return answer.end(list(answer));
    case LabOptions::Verb::kStart:
      return answer.end(copy_out(options.number, options.folder, answer));
    case LabOptions::Verb::kRun:
      break;
  }
  return build_and_run(options.folder, options.run);
}

}  // namespace verbatim::cli
