// The golden table: workloads, and digests of their runs, which are the same on every machine.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/verbatim_run.h"

namespace verbatim::golden {

// One workload. In `commands`, {programs} is the folder of the project's programs and {scripts} is
// tests/golden/scripts.
struct Row {
  std::string name;
  std::vector<std::string> commands;
  std::vector<std::string> options;
  // Version of the C library: other versions make other system calls, which are part of the digest.
  std::string c_library;
  // Debian packages and their versions for the digest. Empty: a program of the project, which can be compared
  // wherever the C library has the same version.
  std::map<std::string, std::string> packages;
  // Unpatched instructions executed by the programs whose results depend on the machine.
  std::vector<std::string> needs;
  std::string digest;  // "": the runs that made the table differed
};

struct Table {
  std::size_t least_compared = 0;  // fewer compared rows are a failure
  std::vector<Row> rows;
  nlohmann::ordered_json text;  // as read
};

Table read_table(const std::string& path);
void write_table(const Table& table, const std::string& path);
// The path of the committed table.
std::string table_path();

// The simulator for the rows, and its environment.
struct Setting {
  support::RunRequest request;  // without commands
  std::string programs;         // folder; "": the optimised programs of this build
  std::string scripts;          // folder; "": that of the source tree
  int runs = 1;                 // number of runs of every row
  bool packed = false;          // runs a bundle of the row, in the folder "/"
};

struct Comparison {
  std::size_t rows = 0, compared = 0;
  std::vector<std::string> skipped;    // "openssl 3.0.20 (table: 3.0.19)", "random_sources (…)"
  std::vector<std::string> differing;  // one sentence per row, with a command that repeats it
  // "golden: 14 rows, 12 compared, 2 skipped: openssl 3.0.20 (table: 3.0.19)"
  std::string summary() const;
};

using Choice = std::function<bool(const Row&)>;
Comparison compare(const Table& table, const Setting& setting, const Choice& choice = nullptr);

// Folders of this build's programs, compiled with and without optimisation.
std::string optimised_programs();
std::string plain_programs();
std::string scripts();

bool is_own(const Row& row);
// The versions of those packages that are installed.
std::map<std::string, std::string> installed_versions(const std::vector<std::string>& packages);
// The reason why the row cannot be compared; "" if it can. `installed` contains the row's packages.
std::string reason_to_skip(const Row& row, const std::map<std::string, std::string>& installed);
support::RunReport run(const Row& row, const Setting& setting);

}  // namespace verbatim::golden
