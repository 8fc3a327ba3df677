// Labs: one folder each, described by its grade.json. Those of the course are in scenarios/labs; others can
// be anywhere.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/diagnostics.h"
#include "tools/verbatim/labs/grade_file.h"

namespace verbatim::cli {

struct Lab {
  std::string name;  // of its folder: "01-first-pingpong"
  std::string title;
  std::filesystem::path folder;    // absolute
  std::filesystem::path topology;  // a file
  bool is_of_course = true;        // part of this installation
  std::vector<Criterion> criteria;

  unsigned points() const;  // sum over all criteria
  // Path of "lab.h", "lab_cm.h" or "Makefile": the lab's own, or the one shared by the course.
  std::filesystem::path shared_file(const char* name) const;
};

// Reads the lab in `folder`. nullopt, with findings in `diagnostics`, if it cannot be used.
std::optional<Lab> read_lab(const std::filesystem::path& folder, config::Diagnostics& diagnostics);
// Finds a lab by number ("1", "01"; "1-cm": its form with librdmacm), name, or path of its folder. nullopt,
// after an error message, if there is none.
std::optional<Lab> find_lab(const std::string& number);
// The lab of a student's folder: `lab` if not empty, else the one named by kLabMark. nullopt, after an error
// message, if there is none.
std::optional<Lab> lab_of(const std::filesystem::path& folder, const std::string& lab);
// The labs of the course in order. Labs with an unusable grade.json are left out after an error message.
std::vector<Lab> all_labs();

// Files that every student's folder gets in addition to those of the lab.
inline constexpr const char* kSharedFiles[] = {"lab.h", "lab_cm.h", "Makefile"};
// The file in a student's folder that names its lab; `lab start` writes it.
inline constexpr const char* kLabMark = "lab.json";

}  // namespace verbatim::cli
