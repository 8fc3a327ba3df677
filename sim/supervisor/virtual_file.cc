#include "sim/supervisor/virtual_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "sim/core/check.h"
#include "sim/supervisor/thread.h"

namespace verbatim::supervisor {

VirtualFile::~VirtualFile() { CHECK(waiters_.empty()); }

IoResult VirtualFile::read(std::size_t, std::vector<std::byte>&) { return -EINVAL; }
IoResult VirtualFile::write(std::span<const std::byte>) { return -EINVAL; }
int VirtualFile::access_mode() const { return O_RDWR; }
std::uint32_t VirtualFile::mode() const { return 0600; }
std::uint32_t OutputFile::mode() const { return S_IFIFO | 0600; }
int OutputFile::access_mode() const { return O_WRONLY; }

void VirtualFile::drop_descriptor() {
  CHECK(descriptors_ > 0);
  if (--descriptors_ > 0) return;
  on_last_close();
  if (ends_waits_at_close()) notify();
}

void VirtualFile::add_waiter(Thread& thread) {
  if (std::find(waiters_.begin(), waiters_.end(), &thread) == waiters_.end()) waiters_.push_back(&thread);
}

void VirtualFile::remove_waiter(Thread& thread) { std::erase(waiters_, &thread); }

void VirtualFile::notify() {
  ++generation_;
  for (Thread* thread : waiters_) thread->wake(tells_adapter_events());
}

}  // namespace verbatim::supervisor
