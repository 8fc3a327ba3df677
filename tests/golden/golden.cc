// `golden [ROW…]`: compares the table with this machine, or some rows of it. Started by tools/golden.
//   --update           writes digests and versions of this machine into the table and prints what changed
//   --simulator FILE   another verbatim than the one built beside it
//   --programs FOLDER  the own programs of another build
//   --runs N           each row N times
//   --option WORD      for `verbatim run`, again for each word
#include <gnu/libc-version.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <set>

#include "tests/golden/golden_table.h"

namespace {

using namespace verbatim;
using namespace verbatim::golden;

// Ways of running a row that must not matter. A row in which one does gets no digest: a table that holds on one
// machine only is worse than a gap in it.
std::vector<Setting> ways_to_run(const Setting& setting) {
  std::vector<Setting> ways(4, setting);
  ways[1].request.options.insert(ways[1].request.options.end(), {"--poke-period", "7"});
  ways[2].request.options.push_back("--call-by-call");
  ways[3].request.working_directory = std::string("/");
  const auto last_core = std::to_string(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)) - 1);
  ways[3].request.options.insert(ways[3].request.options.end(), {"--core", last_core});
  if (setting.programs.empty()) ways[2].programs = plain_programs();
  return ways;
}

// The digest common to all settings; "" and a message if they differ.
std::string common_digest(const Row& row, const Setting& setting) {
  std::string digest;
  for (const Setting& way : ways_to_run(setting)) {
    const support::RunReport report = run(row, way);
    if (report.code != 0 || report.digest().empty()) {
      std::printf("%s: FAILED%s\n", row.name.c_str(), report.story().c_str());
      return "";
    }
    if (digest.empty()) digest = report.digest();
    if (report.digest() == digest) continue;
    std::printf("%s: its runs DIFFER, it gets no digest (%s and %s)\n  %s\n", row.name.c_str(), digest.c_str(),
                report.digest().c_str(), report.command.c_str());
    return "";
  }
  return digest;
}

int update(Table table, const Setting& setting, const Choice& choice) {
  std::size_t rows = 0, changed = 0, without = 0;
  for (Row& row : table.rows) {
    if (!choice(row)) continue;
    ++rows;
    if (row.c_library != gnu_get_libc_version()) {
      std::printf("%s: left as it is, the table's \"c_library\" is %s\n", row.name.c_str(), row.c_library.c_str());
      continue;
    }
    std::vector<std::string> packages;
    for (const auto& [package, version] : row.packages) packages.push_back(package);
    const auto installed = installed_versions(packages);
    if (installed.size() < row.packages.size()) {
      std::printf("%s: left as it is, not every package of it is installed\n", row.name.c_str());
      continue;
    }
    for (auto& [package, version] : row.packages) {
      const std::string& here = installed.at(package);
      if (here == version) continue;
      std::printf("%s: %s %s -> %s\n", row.name.c_str(), package.c_str(), version.empty() ? "(none)" : version.c_str(),
                  here.c_str());
      version = here;
    }
    const std::string digest = common_digest(row, setting);
    if (digest.empty()) ++without;
    if (digest == row.digest) continue;
    ++changed;
    std::printf("%s: %s -> %s\n", row.name.c_str(), row.digest.empty() ? "(none)" : row.digest.c_str(),
                digest.empty() ? "(none)" : digest.c_str());
    row.digest = digest;
  }
  write_table(table, table_path());
  std::printf("golden: %zu rows, %zu changed, %zu without a digest\n", rows, changed, without);
  return without == 0 ? 0 : 1;
}

int start(int argc, char** argv) {
  bool is_update = false;
  Setting setting;
  std::set<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (++i == argc) throw std::runtime_error(word + " needs a value");
      return argv[i];
    };
    if (word == "--update") {
      is_update = true;
    } else if (word == "--simulator") {
      setting.request.program = value();
    } else if (word == "--programs") {
      setting.programs = value();
    } else if (word == "--runs") {
      setting.runs = std::max(1, std::atoi(value().c_str()));
    } else if (word == "--option") {
      setting.request.options.push_back(value());
    } else if (word.starts_with("-")) {
      throw std::runtime_error("there is no option " + word);
    } else {
      names.insert(word);
    }
  }
  const Table table = read_table(table_path());
  std::set<std::string> unknown = names;
  for (const Row& row : table.rows) unknown.erase(row.name);
  if (!unknown.empty()) throw std::runtime_error("the table has no row " + *unknown.begin());
  const Choice choice = [&](const Row& row) { return names.empty() || names.contains(row.name); };
  if (is_update) return update(table, setting, choice);

  const Comparison result = compare(table, setting, choice);
  for (const std::string& sentence : result.differing) std::printf("%s\n", sentence.c_str());
  std::printf("%s\n", result.summary().c_str());
  if (names.empty() && result.compared < table.least_compared) {
    std::printf("golden: at least %zu rows have to be compared\n", table.least_compared);
    return 1;
  }
  return result.differing.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    return start(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "golden: %s\n", error.what());
    return 2;
  }
}
