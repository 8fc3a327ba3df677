// Removing a folder of a run, by the simulator or, when that was ended by force, by its keeper (tools/keeper).
#pragma once

#include <string>

namespace verbatim::supervisor {

// With all that is in it, also where folders may not be written to. What cannot be removed stays.
void remove_folder(const std::string& path);

}  // namespace verbatim::supervisor
