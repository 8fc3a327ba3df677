// An epoll instance: interest in other files, level- and edge-triggered and one-shot.
#pragma once

#include <sys/epoll.h>

#include <functional>
#include <map>

#include "sim/supervisor/files/virtual_file.h"

namespace verbatim::supervisor {

class EpollFile final : public VirtualFile {
 public:
  std::uint32_t readiness() const override;
  std::string describe() const override { return "epoll instance"; }

  // EPOLL_CTL_ADD, _MOD or _DEL for descriptor `fd`, which refers to `file`. 0 or -errno.
  int control(int operation, int fd, const VirtualFilePtr& file, const epoll_event& event);
  // At most `limit` ready descriptors, in order of descriptor, are told one by one, which consumes their edges and one-shots.
  // One that cannot be told stays as it is and ends the row. How many were told; -EFAULT: not even the first.
  std::int64_t take(std::size_t limit, const std::function<bool(std::size_t index, const epoll_event& event)>& tell);
  // The files a thread in epoll_wait has to wait for.
  std::vector<VirtualFilePtr> watched() const;

 private:
  struct Interest {
    std::weak_ptr<VirtualFile> file;
    epoll_event event;
    std::uint64_t reported_generation;  // edge-triggered: last state handed out
    bool armed;
  };
  std::uint32_t pending(const Interest& interest) const;

  std::map<int, Interest> interests_;
};

}  // namespace verbatim::supervisor
