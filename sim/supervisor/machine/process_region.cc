#include "sim/supervisor/machine/process_region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "sim/core/open_file.h"

namespace verbatim::supervisor {

namespace {
// A program that shrank the file would cause SIGBUS in the simulator.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

std::byte* map_first(int fd, std::uint64_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (at == MAP_FAILED) fail("cannot map the memory shared with a program");
  return static_cast<std::byte*>(at);
}
}  // namespace

ProcessRegion::ProcessRegion() {
  fd_ = memfd_create("verbatim-region", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd_ < 0) fail("cannot make the memory shared with a program (memfd_create)");
  if (ftruncate(fd_, static_cast<off_t>(protocol::kRegionSize)) != 0) fail("cannot size the shared memory");
  if (fcntl(fd_, F_ADD_SEALS, kSeals) != 0) fail("cannot seal the shared memory");
  map();
}

ProcessRegion::ProcessRegion(const std::string& path) {
  fd_ = open_file(path, O_RDWR | O_CLOEXEC);
  struct stat status;
  if (fd_ < 0 || fstat(fd_, &status) != 0) fail("cannot open the memory of a copied process");
  const int seals = fcntl(fd_, F_GET_SEALS);
  if (!S_ISREG(status.st_mode) || status.st_size != static_cast<off_t>(protocol::kRegionSize) || seals < 0 ||
      (seals & kSeals) != kSeals) {
    close_fd();
    errno = EINVAL;
    fail("the memory of a copied process is of another size, or can be made smaller");
  }
  map();
}

void ProcessRegion::map() {
  near_ = map_first(fd_, protocol::kNearSize);
  whole_ = map_first(fd_, protocol::kRegionSize);
  // The pages are used soon; kernels before 5.14 ignore this, and each page costs a fault.
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE
  madvise(near_, protocol::kFirstPages, kPopulateWrite);
  madvise(near_ + protocol::kThreadsOffset, protocol::kThreadPages, kPopulateWrite);
  protocol::RegionHeader& h = header();
  h.magic = protocol::kMagic;
  h.version = protocol::kVersion;
  h.region_header_size = sizeof(protocol::RegionHeader);
}

ProcessRegion::~ProcessRegion() {
  if (near_ != nullptr) munmap(near_, protocol::kNearSize);
  if (whole_ != nullptr) munmap(whole_, protocol::kRegionSize);
  close_fd();
}

void ProcessRegion::close_fd() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

void ProcessRegion::set_virtual(int fd, bool is_virtual) {
  auto& word = fd < protocol::kUsualDescriptors ? header().virtual_fds[fd / 64] : high_descriptors().virtual_fds[fd / 64];
  const std::uint64_t bit = 1ull << (fd % 64);
  if (is_virtual) {
    word.fetch_or(bit, std::memory_order_relaxed);
  } else {
    word.fetch_and(~bit, std::memory_order_relaxed);
  }
}

}  // namespace verbatim::supervisor
