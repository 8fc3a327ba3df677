// The labs of this installation: a folder each in scenarios/labs, described by its grade.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace verbatim::cli {

// What is looked at, and what it is worth. All numbers but the points may be 0: nothing is asked of it.
struct Criterion {
  std::string name;
  unsigned points = 0;
  std::string scenario = "scenario.json";  // a file of the lab
  bool builds = false;                     // that it compiles without a warning, and nothing else
  std::int64_t schedules = 0;              // right with freedom spec and each of the seeds 1 to this one
  std::int64_t losses = 0;                 // right when any one of so many packets from each side is lost, the first to the last
  bool has_no_findings = false;            // of the checkers that find mistakes which have not bitten
  bool has_no_rnr_naks = false;            // nobody was sent a message without having a receive posted
  std::uint64_t most_packets = 0;
  double most_us = 0;                      // virtual time from the start of the last program to the end of the run, microseconds
};

struct Lab {
  std::string name;    // of its folder: "01-first-pingpong"
  std::string title;
  std::filesystem::path folder;
  std::filesystem::path topology;  // a file
  std::vector<Criterion> criteria;
};

// The lab with this number ("1", "01"; "1-cm": its form with librdmacm) or name. nullopt: there is none, and a sentence has said so.
std::optional<Lab> find_lab(const std::string& number);
// All of them, in the order of the course; those whose grade.json cannot be used are left out, and a sentence says so.
std::vector<Lab> all_labs();

// Files that every lab's folder gets beside its own.
inline constexpr const char* kSharedFiles[] = {"lab.h", "lab_cm.h", "Makefile"};
// The file in a student's folder that names its lab.
inline constexpr const char* kLabMark = "lab.json";

}  // namespace verbatim::cli
