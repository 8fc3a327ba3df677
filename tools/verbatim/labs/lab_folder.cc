#include "tools/verbatim/labs/lab_folder.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/config/words.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/install_paths.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;

Criterion criterion_of(const nlohmann::json& json) {
  Criterion criterion;
  criterion.name = json.at("name").get<std::string>();
  criterion.points = json.at("points").get<unsigned>();
  criterion.scenario = json.value("scenario", criterion.scenario);
  criterion.builds = json.value("builds", false);
  criterion.schedules = json.value("schedules", std::int64_t{0});
  criterion.losses = json.value("losses", std::int64_t{0});
  criterion.has_no_findings = json.value("no_findings", false);
  criterion.has_no_rnr_naks = json.value("no_rnr_naks", false);
  criterion.most_packets = json.value("most_packets", std::uint64_t{0});
  criterion.most_us = json.value("most_us", 0.0);
  return criterion;
}

std::optional<Lab> read_lab(const fs::path& folder) {
  Lab lab;
  lab.name = folder.filename();
  lab.folder = folder;
  try {
    const auto json = nlohmann::json::parse(std::ifstream(folder / "grade.json"));
    lab.title = json.at("title").get<std::string>();
    const std::string topology = json.at("topology").get<std::string>() + ".json";
    for (const fs::path candidate : topology_folders()) {
      if (fs::is_regular_file(candidate / topology)) lab.topology = candidate / topology;
    }
    for (const auto& one : json.at("criteria")) lab.criteria.push_back(criterion_of(one));
  } catch (const nlohmann::json::exception& error) {
    complain((folder / "grade.json").string() + " cannot be used: " + error.what());
    return std::nullopt;
  }
  if (lab.topology.empty()) {
    complain((folder / "grade.json").string() + " names a topology that is not part of this installation");
    return std::nullopt;
  }
  return lab;
}

}  // namespace

std::vector<Lab> all_labs() {
  std::vector<fs::path> folders;
  for (const fs::path parent : lab_folders()) {
    for (const fs::directory_entry& entry : fs::directory_iterator(parent)) {
      if (fs::is_regular_file(entry.path() / "grade.json")) folders.push_back(entry.path());
    }
    if (!folders.empty()) break;
  }
  std::ranges::sort(folders);
  std::vector<Lab> labs;
  for (const fs::path& folder : folders) {
    if (auto lab = read_lab(folder)) labs.push_back(std::move(*lab));
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
  if (names.empty()) {
    complain("this installation has no labs; build or install all of it");
    return std::nullopt;
  }
  const std::string near = config::nearest(number, names);
  complain("there is no lab " + config::in_quotes(number) +
           (near.empty() ? "; `verbatim lab list` names them" : "; did you mean " + near + "?"));
  return std::nullopt;
}

}  // namespace verbatim::cli
