#include "sim/supervisor/process.h"

#include <cerrno>

#include "sim/supervisor/device_files.h"
#include "sim/supervisor/interval_timer.h"
#include "sim/supervisor/parking.h"
#include "verbs_shim/protocol/layout.h"

namespace verbatim::supervisor {

Process::Process(std::size_t program, std::uint32_t pid, const HostSpec& host, std::size_t host_index,
                 std::string name, Rng random)
    : program_(program),
      pid_(pid),
      host_(host),
      host_index_(host_index),
      name_(std::move(name)),
      random_(random) {}

Process::~Process() = default;

void Process::set_native_pid(pid_t pid) {
  native_pid_ = pid;
  memory_ = std::make_unique<ProcessMemory>(pid);
}

VirtualFilePtr Process::file(std::int64_t fd) const {
  const auto it = files_.find(static_cast<int>(fd));
  return it == files_.end() ? nullptr : it->second;
}

int Process::install(VirtualFilePtr file) {
  int fd = protocol::kVirtualFdFirst;
  for (auto it = files_.lower_bound(fd); it != files_.end() && it->first == fd; ++it) ++fd;
  if (fd > protocol::kVirtualFdLast) return -EMFILE;
  install_at(fd, std::move(file));
  return fd;
}

void Process::install_at(int fd, VirtualFilePtr file) {
  close(fd);
  file->add_descriptor();
  files_[fd] = std::move(file);
  region_.set_virtual(fd, true);
}

bool Process::close(int fd) {
  const auto it = files_.find(fd);
  if (it == files_.end()) return false;
  const VirtualFilePtr file = std::move(it->second);
  files_.erase(it);
  region_.set_virtual(fd, false);
  file->drop_descriptor();
  return true;
}

void Process::close_all() {
  while (!files_.empty()) close(files_.begin()->first);
}

}  // namespace verbatim::supervisor
