// Removes a folder of a run: used by the simulator, and by its keeper (tools/keeper) if the
// simulator was killed.
#pragma once

namespace verbatim::supervisor {

// Removes the folder with its content, also where its folders are not writable. Entries that
// cannot be removed stay.
void remove_folder(const char* path);

}  // namespace verbatim::supervisor
