// grade.json of a lab: title, topology, and criteria that give points. It is checked with one table, from
// which topologies/schema/grade.schema.json is generated as well (`verbatim schema`).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/fields.h"

namespace verbatim::cli {

// One criterion: its points, and its conditions. A number 0 sets no condition.
struct Criterion {
  std::string name;
  unsigned points = 0;
  std::string scenario = "scenario.json";  // a file of the lab
  bool builds = false;                     // the program compiles without a warning; nothing is run
  unsigned schedules = 0;                  // runs with freedom spec, with the seeds 1 to this number
  unsigned losses = 0;                     // runs in which packet 1, 2, … to this number of each side is lost
  bool has_no_findings = false;            // every check is an error
  bool polls_after_arming = false;         // checks the order of calls, see arming_order.h
  bool has_no_rnr_naks = false;            // a receive is posted for every message
  std::uint64_t most_packets = 0;
  std::optional<std::uint64_t> most_pauses;  // of all ports, by priority flow control
  Duration most_time{};                    // virtual time from the start of the last program to the end of the run
  std::string hint;                        // replaces the reason for lost points if that would reveal the answer
  std::string pointer;                     // JSON pointer of the criterion
};

// The sum of the points of criteria or grades.
template <class Entry>
unsigned points_of(const std::vector<Entry>& entries) {
  unsigned sum = 0;
  for (const Entry& one : entries) sum += one.points;
  return sum;
}

struct GradeFile {
  std::string title;
  std::string topology;  // a file of the lab, or the name of a topology of this installation
  std::vector<Criterion> criteria;
};

const config::Object& grade_table();

// Checks this file only. nullopt, with findings in `diagnostics`, if it cannot be used.
std::optional<GradeFile> read_grade_file(const std::string& path, config::Diagnostics& diagnostics);

// File name and text of the JSON Schema.
std::pair<std::string, std::string> grade_schema();

}  // namespace verbatim::cli
