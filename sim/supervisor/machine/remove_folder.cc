// The keeper consists of this file: it uses nothing of the C++ library that needs initialisation.
#include "sim/supervisor/machine/remove_folder.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

namespace verbatim::supervisor {

namespace {

constexpr int kDescriptors = 16;  // open at a time

bool has_changed;  // in this pass

int remove_entry(const char* path, const struct stat*, int, FTW*) {
  if (::remove(path) == 0) has_changed = true;
  return 0;
}

// A folder without write permission cannot be emptied; one without read permission cannot be listed.
int open_up(const char* path, const struct stat*, int kind, FTW*) {
  if (kind == FTW_D || kind == FTW_DNR) ::chmod(path, S_IRWXU);
  if (kind == FTW_DNR) has_changed = true;
  return 0;
}

}  // namespace

void remove_folder(const char* path) {
  constexpr int kDeepest = 64;  // nested folders without read permission
  // A pass that changes only permissions is followed by one more.
  for (int turn = 0, idle = 0; turn < kDeepest && idle < 2; ++turn, idle = has_changed ? 0 : idle + 1) {
    has_changed = false;
    ::nftw(path, remove_entry, kDescriptors, FTW_DEPTH | FTW_PHYS);
    if (::access(path, F_OK) != 0) return;
    ::nftw(path, open_up, kDescriptors, FTW_PHYS);
  }
}

}  // namespace verbatim::supervisor
