#include "sim/supervisor/files/epoll_file.h"

#include <cerrno>

namespace verbatim::supervisor {

namespace {
constexpr std::uint64_t kNothingReported = ~0ull;
}

std::uint32_t EpollFile::pending(const Interest& interest) const {
  const VirtualFilePtr file = interest.file.lock();
  if (file == nullptr || !interest.armed) return 0;
  if ((interest.event.events & EPOLLET) != 0 && interest.reported_generation == file->generation()) return 0;
  return file->readiness() & (interest.event.events | EPOLLERR | EPOLLHUP);
}

std::uint32_t EpollFile::readiness() const {
  for (const auto& [fd, interest] : interests_) {
    if (pending(interest) != 0) return POLLIN | POLLRDNORM;
  }
  return 0;
}

int EpollFile::control(int operation, int fd, const VirtualFilePtr& file, const epoll_event& event) {
  auto it = interests_.find(fd);
  if (it != interests_.end() && it->second.file.lock() != file) {  // the number was closed and given out again
    interests_.erase(it);
    it = interests_.end();
  }
  switch (operation) {
    case EPOLL_CTL_ADD:
      if (it != interests_.end()) return -EEXIST;
      interests_[fd] = {file, event, kNothingReported, true};
      break;
    case EPOLL_CTL_MOD:
      if (it == interests_.end()) return -ENOENT;
      it->second = {file, event, kNothingReported, true};
      break;
    case EPOLL_CTL_DEL:
      if (it == interests_.end()) return -ENOENT;
      interests_.erase(it);
      break;
    default:
      return -EINVAL;
  }
  notify();
  return 0;
}

std::int64_t EpollFile::take(std::size_t limit,
                             const std::function<bool(std::size_t index, const epoll_event& event)>& tell) {
  std::size_t told = 0;
  for (auto it = interests_.begin(); it != interests_.end() && told < limit;) {
    Interest& interest = it->second;
    const VirtualFilePtr file = interest.file.lock();
    if (file == nullptr) {
      it = interests_.erase(it);
      continue;
    }
    if (const std::uint32_t events = pending(interest)) {
      epoll_event event = interest.event;
      event.events = events;
      if (!tell(told, event)) return told > 0 ? static_cast<std::int64_t>(told) : -EFAULT;
      ++told;
      interest.reported_generation = file->generation();
      if ((interest.event.events & EPOLLONESHOT) != 0) interest.armed = false;
    }
    ++it;
  }
  return static_cast<std::int64_t>(told);
}

std::vector<VirtualFilePtr> EpollFile::watched() const {
  std::vector<VirtualFilePtr> files;
  for (const auto& [fd, interest] : interests_) {
    if (VirtualFilePtr file = interest.file.lock()) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace verbatim::supervisor
