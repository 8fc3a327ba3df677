// The keeper consists of this, so nothing of the C++ library is used that would have to be set up in each run.
#include "sim/supervisor/machine/remove_folder.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

namespace verbatim::supervisor {

namespace {

constexpr int kDescriptors = 16;  // open at a time

bool has_changed;  // something, in this turn

int remove_entry(const char* path, const struct stat*, int, FTW*) {
  if (::remove(path) == 0) has_changed = true;
  return 0;
}

// A folder that its owner may not write to cannot be emptied, and one that he may not read cannot be looked into.
int open_up(const char* path, const struct stat*, int kind, FTW*) {
  if (kind == FTW_D || kind == FTW_DNR) ::chmod(path, S_IRWXU);
  if (kind == FTW_DNR) has_changed = true;
  return 0;
}

}  // namespace

void remove_folder(const char* path) {
  constexpr int kDeepest = 64;  // folders in one another that may not be read
  // After a turn that changes nothing but rights there is one more.
  for (int turn = 0, idle = 0; turn < kDeepest && idle < 2; ++turn, idle = has_changed ? 0 : idle + 1) {
    has_changed = false;
    ::nftw(path, remove_entry, kDescriptors, FTW_DEPTH | FTW_PHYS);
    if (::access(path, F_OK) != 0) return;
    ::nftw(path, open_up, kDescriptors, FTW_PHYS);
  }
}

}  // namespace verbatim::supervisor
