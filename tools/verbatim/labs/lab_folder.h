// Labs: a folder each, described by its grade.json. Those of the course are in scenarios/labs; others can be anywhere.
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
  bool is_of_course = true;        // one of this installation
  std::vector<Criterion> criteria;

  unsigned points() const;  // of all criteria
  // "lab.h", "lab_cm.h" or "Makefile": the lab's own, or the one that the labs of the course share.
  std::filesystem::path shared_file(const char* name) const;
};

// The lab in `folder`. nullopt: it cannot be used, and `diagnostics` says why.
std::optional<Lab> read_lab(const std::filesystem::path& folder, config::Diagnostics& diagnostics);
// The lab with this number ("1", "01"; "1-cm": its form with librdmacm) or name, or the one in the folder with this path.
// nullopt: there is none; the reason has been printed.
std::optional<Lab> find_lab(const std::string& number);
// The lab of a student's folder: `lab` where that is not empty, else the one that kLabMark names. nullopt as above.
std::optional<Lab> lab_of(const std::filesystem::path& folder, const std::string& lab);
// The labs of the course, in its order, without those whose grade.json cannot be used; the reason has been printed.
std::vector<Lab> all_labs();

// Files that every student's folder gets beside those of the lab.
inline constexpr const char* kSharedFiles[] = {"lab.h", "lab_cm.h", "Makefile"};
// The file in a student's folder that names its lab; `lab start` writes it.
inline constexpr const char* kLabMark = "lab.json";

}  // namespace verbatim::cli
