// Results of a split's units as JSON lines: FOLDER/results/share-NUMBER.ATTEMPT.jsonl.
//
// Each attempt at a share writes a file of its own. The first line names the share, the machine and the
// digest of the work; each further line is the result of one unit, or the reason why the attempt stopped. A
// line is written whole: if that fails it is removed again. A last line without its newline was cut off and
// does not count.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/verbatim/shares/split.h"

namespace verbatim::cli {

struct UnitResult {
  nlohmann::ordered_json result;
  std::int64_t ended_s = 0;  // seconds since 1970, real time
};

// One attempt at a share.
struct ResultFile {
  std::string name;  // below the folder: "results/share-3.1.jsonl"
  std::int64_t share = 0;
  std::string machine;
  std::int64_t begun_s = 0;  // seconds since 1970, real time
  std::map<std::int64_t, UnitResult> units;
  std::vector<std::string> remarks;  // why it stopped, what is damaged; each names the file and the machine
  bool has_stopped = false;          // it has written a reason
  bool is_of_this_work = false;      // otherwise its units do not count
};

// All attempts in the order of their names, which is the order of shares and attempts.
std::vector<ResultFile> read_result_files(const Split& split);

// The results of all units, from the first file that has each.
struct MergedResults {
  std::map<std::int64_t, UnitResult> units;
  std::vector<std::int64_t> missing;                   // units, if their number is fixed
  std::vector<std::string> remarks;                    // on files and on units with two different results
  std::map<std::int64_t, const ResultFile*> attempts;  // the last one at each share
};
// `files` must outlive the result.
MergedResults merge(const Split& split, const std::vector<ResultFile>& files);

class ResultWriter {
 public:
  ResultWriter() = default;
  ~ResultWriter();
  ResultWriter(const ResultWriter&) = delete;
  ResultWriter& operator=(const ResultWriter&) = delete;

  // Creates the file of the next attempt at the share. Each returns a sentence on failure, else "".
  std::string open(const Split& split, std::int64_t share);
  std::string write(std::int64_t unit, const nlohmann::ordered_json& result);
  std::string stop(const std::string& reason);

 private:
  std::string write_line(const nlohmann::ordered_json& line);

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace verbatim::cli
