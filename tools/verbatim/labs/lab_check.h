// `verbatim lab check`: checks that a lab's folder is complete and that its three programs get the expected
// points.
#pragma once

#include <filesystem>

#include "tools/verbatim/answer.h"

namespace verbatim::cli {

// Returns the exit code.
int check_lab(const std::filesystem::path& folder, Answer& answer);

}  // namespace verbatim::cli
