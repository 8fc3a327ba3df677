// The keeper consists of this, so nothing of the C++ library is used that would have to be set up in each run.
#include "sim/supervisor/machine/remove_folder.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

namespace verbatim::supervisor {

namespace {

constexpr int kDescriptors = 16;  // open at a time

int remove_entry(const char* path, const struct stat*, int, FTW*) {
  ::remove(path);
  return 0;
}

// A folder that its owner may not write to cannot be emptied, and one that he may not read cannot be looked into.
int open_up(const char* path, const struct stat*, int kind, FTW*) {
  if (kind == FTW_D || kind == FTW_DNR) ::chmod(path, S_IRWXU);
  return 0;
}

}  // namespace

void remove_folder(const char* path) {
  constexpr int kDeepest = 64;  // folders in one another that may not be read
  for (int i = 0; i < kDeepest; ++i) {
    ::nftw(path, remove_entry, kDescriptors, FTW_DEPTH | FTW_PHYS);
    if (::access(path, F_OK) != 0) return;
    ::nftw(path, open_up, kDescriptors, FTW_PHYS);
  }
}

}  // namespace verbatim::supervisor
