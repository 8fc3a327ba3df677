// Simulator, shim and programs of the golden table, built by another compiler or with another optimisation.
#pragma once

#include <ostream>
#include <string>

namespace verbatim::golden {

struct OtherBuild {
  const char* name;  // of its folder, `golden-NAME` in the folder of this build
  const char *c, *cxx, *optimisation;
  friend void PrintTo(const OtherBuild& build, std::ostream* out) { *out << build.name; }

  // Builds what has changed. Warnings are errors. The result is "", or the output of what failed.
  std::string build() const;
  std::string program() const;                    // the simulator
  std::string programs(const char* level) const;  // folder; "O0" or "O2"

 private:
  std::string folder() const;
};

// False if the compiler is not installed.
bool has_compiler(const OtherBuild& build);

}  // namespace verbatim::golden
