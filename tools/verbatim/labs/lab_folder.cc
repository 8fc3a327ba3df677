#include "tools/verbatim/labs/lab_folder.h"

#include <algorithm>

#include "sim/config/json_text.h"
#include "sim/config/words.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/install_paths.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;

void print_findings(const config::Diagnostics& diagnostics) {
  for (const config::Finding& finding : diagnostics.findings()) complain(config::to_string(finding));
}

// Path of the topology; empty if not found.
fs::path find_topology(const fs::path& folder, const std::string& reference) {
  std::vector<fs::path> candidates = {folder / reference};
  for (const fs::path parent : topology_folders()) candidates.push_back(parent / (reference + ".json"));
  std::error_code error;
  const auto found = std::ranges::find_if(candidates, [&](const fs::path& file) { return fs::is_regular_file(file, error); });
  return found == candidates.end() ? fs::path() : *found;
}

// Whether this is a folder with a grade.json.
bool is_lab_folder(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "grade.json", error);
}

std::optional<Lab> read_or_print(const fs::path& folder) {
  config::Diagnostics diagnostics;
  auto lab = read_lab(folder, diagnostics);
  print_findings(diagnostics);
  return lab;
}

}  // namespace

unsigned Lab::points() const {
  return points_of(criteria);
}

fs::path Lab::shared_file(const char* name) const {
  std::error_code error;
  if (fs::is_regular_file(folder / name, error)) return folder / name;
  const std::vector<std::string> courses = lab_folders();
  return courses.empty() ? folder / name : fs::path(courses.front()) / name;
}

std::optional<Lab> read_lab(const fs::path& folder, config::Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.findings().size();
  const std::string file = folder / "grade.json";
  auto grade = read_grade_file(file, diagnostics);
  if (!grade) return std::nullopt;
  Lab lab;
  std::error_code error;
  const fs::path absolute = fs::canonical(folder, error);
  lab.folder = error ? folder : absolute;
  lab.name = lab.folder.filename();
  lab.title = std::move(grade->title);
  lab.criteria = std::move(grade->criteria);
  lab.topology = find_topology(lab.folder, grade->topology);
  if (lab.topology.empty()) {
    diagnostics.add(file, "/topology", config::in_quotes(grade->topology) + " is no file of the lab and no topology of this installation",
                    "write the name of a file in the lab's folder, or one such as \"two_hosts\"");
  }
  for (const Criterion& one : lab.criteria) {
    if (one.builds || fs::is_regular_file(lab.folder / one.scenario, error)) continue;
    diagnostics.add(file, one.pointer + "/scenario", config::in_quotes(one.scenario) + " is no file of the lab");
  }
  return diagnostics.findings().size() == before ? std::optional(std::move(lab)) : std::nullopt;
}

std::vector<Lab> all_labs() {
  std::vector<fs::path> folders;
  for (const fs::path parent : lab_folders()) {
    for (const fs::directory_entry& entry : fs::directory_iterator(parent)) {
      if (is_lab_folder(entry.path())) folders.push_back(entry.path());
    }
    if (!folders.empty()) break;
  }
  std::ranges::sort(folders);
  std::vector<Lab> labs;
  for (const fs::path& folder : folders) {
    if (auto lab = read_or_print(folder)) labs.push_back(std::move(*lab));
  }
  return labs;
}

std::optional<Lab> find_lab(const std::string& number) {
  std::vector<std::string> names;
  for (Lab& lab : all_labs()) {
    const std::string digits = lab.name.substr(0, lab.name.find('-')) + (lab.name.ends_with("-cm") ? "-cm" : "");
    if (number == lab.name || number == digits || "0" + number == digits) return std::move(lab);
    names.push_back(lab.name);
  }
  if (is_lab_folder(number)) {
    auto lab = read_or_print(number);
    if (lab) lab->is_of_course = false;
    return lab;
  }
  std::error_code error;
  if (fs::is_directory(number, error)) {
    complain(config::in_quotes(number) + " is not the folder of a lab: it has no grade.json");
    return std::nullopt;
  }
  if (names.empty()) {
    complain("this installation has no labs; build or install all of it");
    return std::nullopt;
  }
  const std::string near = config::nearest(number, names);
  complain("there is no lab " + config::in_quotes(number) +
           (near.empty() ? "; `verbatim lab list` shows all, and the path of a lab's folder is possible, too" : "; did you mean " + near + "?"));
  return std::nullopt;
}

std::optional<Lab> lab_of(const fs::path& folder, const std::string& lab) {
  if (!lab.empty()) return find_lab(lab);
  config::Diagnostics diagnostics;
  const bool has_mark = fs::exists(folder / kLabMark);
  const auto mark = has_mark ? config::read_json(folder / kLabMark, diagnostics) : std::nullopt;
  if (has_mark && !mark) {
    print_findings(diagnostics);
    return std::nullopt;
  }
  const auto text = [&mark](const char* key) {
    return mark && mark->is_object() && mark->contains(key) && mark->at(key).is_string() ? mark->at(key).get<std::string>() : "";
  };
  const std::string name = text("lab"), path = text("folder");
  if (name.empty()) {
    complain("no file " + (folder / kLabMark).string() + " says which lab this is; name the lab with --lab: its number, name or folder");
    return std::nullopt;
  }
  if (path.empty()) return find_lab(name);
  if (is_lab_folder(path)) return find_lab(path);
  complain((folder / kLabMark).string() + " names the lab in " + config::in_quotes(path) +
           ", which is not there; name its folder with --lab");
  return std::nullopt;
}

}  // namespace verbatim::cli
