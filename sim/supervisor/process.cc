#include "sim/supervisor/process.h"

#include <cerrno>

#include "sim/supervisor/device_files.h"
#include "sim/supervisor/interval_timer.h"
#include "sim/supervisor/parking.h"
#include "verbs_shim/protocol/layout.h"

namespace verbatim::supervisor {

Process::Process(std::size_t program, std::uint32_t pid, const HostSpec& host, std::size_t host_index,
                 std::string name, Rng random, std::unique_ptr<ProcessRegion> region)
    : program_(program),
      pid_(pid),
      host_(host),
      host_index_(host_index),
      name_(std::move(name)),
      random_(random),
      region_(std::move(region)) {
  family_.group = family_.session = pid;
}

Process::~Process() = default;

void Process::set_native_pid(pid_t pid) {
  native_pid_ = pid;
  memory_ = std::make_unique<ProcessMemory>(pid);
}

void Process::replace(std::string name, std::unique_ptr<ProcessRegion> region, pid_t pid) {
  for (auto& thread : threads_) {
    thread->die();
    former_threads_.push_back(std::move(thread));
  }
  threads_.clear();
  for (auto& context : contexts_) context->close();
  contexts_.clear();
  analyst_.reset();
  name_ = std::move(name);
  region_ = std::move(region);
  for (const auto& [fd, file] : files_) region_->set_virtual(fd, true);
  attached = false;
  ++executions_;
  set_native_pid(pid);
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
  region_->set_virtual(fd, true);
}

bool Process::close(int fd) {
  const auto it = files_.find(fd);
  if (it == files_.end()) return false;
  const VirtualFilePtr file = std::move(it->second);
  files_.erase(it);
  region_->set_virtual(fd, false);
  file->drop_descriptor();
  return true;
}

void Process::close_all() {
  while (!files_.empty()) close(files_.begin()->first);
}

}  // namespace verbatim::supervisor
