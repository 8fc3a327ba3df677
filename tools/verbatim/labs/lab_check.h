// `verbatim lab check`: is the folder of a lab complete, and do its three programs get the points that they should?
#pragma once

#include <filesystem>

#include "tools/verbatim/answer.h"

namespace verbatim::cli {

// Exit code.
int check_lab(const std::filesystem::path& folder, Answer& answer);

}  // namespace verbatim::cli
