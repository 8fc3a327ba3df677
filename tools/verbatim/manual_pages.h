// The manual page of each verb (verbatim-run.1 …), made from what --help shows.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace verbatim::cli {

struct ManualPage {
  std::string name;  // "verbatim-lab-run"
  std::string roff;
};
// Of every verb of `app` that --help shows, and of those below it.
std::vector<ManualPage> manual_pages_of(const CLI::App& app);

}  // namespace verbatim::cli
