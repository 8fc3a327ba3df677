// Removing a folder of a run, by the simulator or, when that was ended by force, by its keeper (tools/keeper).
#pragma once

namespace verbatim::supervisor {

// With all that is in it, also where folders may not be written to. What cannot be removed stays.
void remove_folder(const char* path);

}  // namespace verbatim::supervisor
