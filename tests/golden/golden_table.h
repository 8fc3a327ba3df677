// The golden table: workloads and the digests that their runs have on every machine.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/verbatim_run.h"

namespace verbatim::golden {

// One workload. In `commands`, {programs} is the folder of the project's own programs and {scripts} is
// tests/golden/scripts.
struct Row {
  std::string name;
  std::vector<std::string> commands;
  std::vector<std::string> options;
  // Version of the C library: other versions make other system calls, which are part of the digest.
  std::string c_library;
  // Debian packages with the versions used for the digest; none: a program of the project's own, which is
  // compared wherever the C library has the same version.
  std::map<std::string, std::string> packages;
  // Machine-dependent instructions that its programs execute and that are not patched.
  std::vector<std::string> needs;
  std::string digest;  // "": runs differed when the table was made
};

struct Table {
  std::size_t least_compared = 0;  // fewer are a failure
  std::vector<Row> rows;
  nlohmann::ordered_json text;  // as read
};

Table read_table(const std::string& path);
void write_table(const Table& table, const std::string& path);
// The committed one.
std::string table_path();

// The simulator that runs the rows, and the environment.
struct Setting {
  support::RunRequest request;  // without commands
  std::string programs;         // folder; "": the optimised ones of this build
  std::string scripts;          // folder; "": the one of the source tree
  int runs = 1;                 // of every row
};

struct Comparison {
  std::size_t rows = 0, compared = 0;
  std::vector<std::string> skipped;    // "openssl 3.0.20 (table: 3.0.19)", "random_sources (…)"
  std::vector<std::string> differing;  // one sentence a row, with the command that repeats it
  // "golden: 14 rows, 12 compared, 2 skipped: openssl 3.0.20 (table: 3.0.19)"
  std::string summary() const;
};

using Choice = std::function<bool(const Row&)>;
Comparison compare(const Table& table, const Setting& setting, const Choice& choice = nullptr);

// Folders of this build: the own programs, compiled with and without optimisation.
std::string optimised_programs();
std::string plain_programs();
std::string scripts();

bool is_own(const Row& row);
// Version of each installed Debian package of these.
std::map<std::string, std::string> installed_versions(const std::vector<std::string>& packages);
// Why the row cannot be compared; "" if it can. `installed` has the row's packages.
std::string reason_to_skip(const Row& row, const std::map<std::string, std::string>& installed);
support::RunReport run(const Row& row, const Setting& setting);

}  // namespace verbatim::golden
