// The memory shared with a copied process is as the supervisor expects, and remains so.
#include "sim/supervisor/machine/process_region.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <system_error>

namespace verbatim::supervisor {
namespace {

std::string path_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

TEST(ProcessRegion, cannot_be_made_smaller) {
  const ProcessRegion region;
  EXPECT_NE(ftruncate(region.fd(), 4096), 0);
  EXPECT_NO_THROW(ProcessRegion(path_of(region.fd())));
}

TEST(ProcessRegion, of_a_copy_that_could_be_made_smaller_is_refused) {
  const int fd = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(fd, static_cast<off_t>(protocol::kRegionSize)), 0);
  EXPECT_THROW(ProcessRegion(path_of(fd)), std::system_error);
  ASSERT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  EXPECT_NO_THROW(ProcessRegion(path_of(fd)));
  close(fd);
}

}  // namespace
}  // namespace verbatim::supervisor
