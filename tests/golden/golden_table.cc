#include "tests/golden/golden_table.h"

#include <gnu/libc-version.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "tests/cli/command.h"

namespace verbatim::golden {

namespace {

using Json = nlohmann::ordered_json;

// "{programs}/threads -x" becomes "\"/…/programs/threads\" -x": the whole word is quoted, because the folder
// may have any name.
std::string with_folder(std::string command, const std::string& mark, const std::string& folder) {
  for (std::size_t at; (at = command.find(mark)) != std::string::npos;) {
    const std::size_t end = std::min(command.find_first_of(" '", at), command.size());
    const std::string rest = command.substr(at + mark.size(), end - at - mark.size());
    command.replace(at, end - at, support::quoted(folder + rest));
  }
  return command;
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

}  // namespace

std::string table_path() { return VERBATIM_SOURCE_DIR "/tests/golden/table.json"; }
std::string optimised_programs() { return GOLDEN_PROGRAMS "/O2"; }
std::string plain_programs() { return GOLDEN_PROGRAMS "/O0"; }
std::string scripts() { return VERBATIM_SOURCE_DIR "/tests/golden/scripts"; }
bool is_own(const Row& row) { return row.packages.empty(); }

Table read_table(const std::string& path) {
  Table table;
  table.text = Json::parse(support::text_of_file(path));
  table.least_compared = table.text.at("least_compared");
  std::set<std::string> names;
  for (const Json& text : table.text.at("rows")) {
    Row row;
    row.name = text.at("name");
    row.c_library = table.text.at("c_library");
    row.commands = text.at("commands").get<std::vector<std::string>>();
    row.options = text.value("options", row.options);
    row.packages = text.value("packages", row.packages);
    row.needs = text.value("needs", row.needs);
    row.digest = text.at("digest");
    if (!names.insert(row.name).second) throw std::runtime_error(path + ": two rows are called " + row.name);
    table.rows.push_back(std::move(row));
  }
  return table;
}

void write_table(const Table& table, const std::string& path) {
  Json text = table.text;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const Row& row = table.rows[i];
    if (!row.packages.empty()) text["rows"][i]["packages"] = row.packages;
    text["rows"][i]["digest"] = row.digest;
  }
  std::ofstream(path) << text.dump(2) << '\n';
}

std::map<std::string, std::string> installed_versions(const std::vector<std::string>& packages) {
  std::map<std::string, std::string> versions;
  if (packages.empty()) return versions;
  std::vector<std::string> words = {"dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Status}\n"};
  words.insert(words.end(), packages.begin(), packages.end());
  // dpkg-query exits with 1 if a package is unknown, but still prints the others.
  std::istringstream lines(cli::run_command(words).out);
  for (std::string package, version, status; lines >> package >> version >> status;) {
    if (status == "installed") versions[package] = version;
  }
  return versions;
}

std::string reason_to_skip(const Row& row, const std::map<std::string, std::string>& installed) {
  std::vector<std::string> reasons;
  for (const auto& [package, version] : row.packages) {
    const auto found = installed.find(package);
    const std::string here = found == installed.end() ? "not installed" : found->second;
    if (here != version) reasons.push_back(package + " " + here + " (table: " + version + ")");
  }
  if (!reasons.empty()) return joined(reasons, ", ");
  if (row.c_library != gnu_get_libc_version()) {
    return row.name + " (C library " + gnu_get_libc_version() + ", table: " + row.c_library + ")";
  }
  if (!row.digest.empty()) return "";
  return row.name + " (no digest: its runs differed when the table was made" +
         (row.needs.empty() ? "" : "; it executes " + joined(row.needs, ", ")) + ")";
}

namespace {

// Packs the run, and runs the bundle with nothing else.
support::RunReport run_packed(support::RunRequest request) {
  const support::TemporaryFolder folder;
  const std::string bundle = folder.path() + "/row.vbundle";
  std::vector<std::string> words = {support::verbatim_program(), "pack", "--quiet", "-o", bundle, "--topology",
                                    support::topology(request.topology)};
  words.insert(words.end(), request.options.begin(), request.options.end());
  words.insert(words.end(), request.commands.begin(), request.commands.end());
  const cli::Finished packed = cli::run_command(words);
  if (packed.code != 0) {
    support::RunReport failed;
    failed.out = packed.out;
    failed.err = packed.err;
    return failed;
  }
  request.scenario = bundle;
  request.commands.clear();
  request.options.clear();
  request.working_directory = "/";
  return support::run(request);
}

}  // namespace

support::RunReport run(const Row& row, const Setting& setting) {
  support::RunRequest request = setting.request;
  const std::string folder = setting.programs.empty() ? optimised_programs() : setting.programs;
  for (const std::string& command : row.commands) {
    request.commands.push_back(with_folder(with_folder(command, "{programs}", folder), "{scripts}",
                                           setting.scripts.empty() ? scripts() : setting.scripts));
  }
  request.options.insert(request.options.end(), row.options.begin(), row.options.end());
  return setting.packed ? run_packed(request) : support::run(request);
}

Comparison compare(const Table& table, const Setting& setting, const Choice& choice) {
  std::vector<std::string> packages;
  for (const Row& row : table.rows) {
    for (const auto& [package, version] : row.packages) packages.push_back(package);
  }
  const auto installed = installed_versions(packages);
  Comparison result;
  for (const Row& row : table.rows) {
    if (choice && !choice(row)) continue;
    ++result.rows;
    std::string reason = reason_to_skip(row, installed);
    if (!reason.empty()) {
      result.skipped.push_back(reason);
      continue;
    }
    ++result.compared;
    for (int i = 0; i < setting.runs; ++i) {
      const support::RunReport report = run(row, setting);
      if (report.code == 0 && report.digest() == row.digest) continue;
      result.differing.push_back(row.name + ": digest " + report.digest() + ", the table has " + row.digest +
                                 (setting.runs > 1 ? ", run " + std::to_string(i + 1) : "") +
                                 (row.needs.empty() ? "" : "; it executes " + joined(row.needs, ", ")) +
                                 report.story());
      break;
    }
  }
  return result;
}

std::string Comparison::summary() const {
  std::ostringstream text;
  text << "golden: " << rows << " rows, " << compared << " compared";
  if (!skipped.empty()) text << ", " << skipped.size() << " skipped: " << joined(skipped, "; ");
  if (!differing.empty()) text << ", " << differing.size() << " DIFFERENT";
  return text.str();
}

}  // namespace verbatim::golden
