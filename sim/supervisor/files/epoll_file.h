// An epoll instance: interest in other files, level- and edge-triggered and one-shot. Others among these files are followed as
// deep as Linux lets them nest; none can be reached from itself, so that every walk ends.
#pragma once

#include <sys/epoll.h>

#include <functional>
#include <map>
#include <set>

#include "sim/supervisor/files/virtual_file.h"

namespace verbatim::supervisor {

class EpollFile final : public VirtualFile {
 public:
  ~EpollFile() override;
  std::uint32_t readiness() const override;
  std::string describe() const override { return "epoll instance"; }

  // EPOLL_CTL_ADD, _MOD or _DEL for descriptor `fd`, which refers to `file`. 0 or -errno; ELOOP: it watches this one, or sets of
  // sets would become too deep.
  int control(int operation, int fd, const VirtualFilePtr& file, const epoll_event& event);
  // At most `limit` ready descriptors, in order of descriptor, are told one by one, which consumes their edges and one-shots.
  // One that cannot be told stays as it is and ends the row. How many were told; -EFAULT: not even the first.
  std::int64_t take(std::size_t limit, const std::function<bool(std::size_t index, const epoll_event& event)>& tell);
  // The files whose changes may make this one ready: what it watches, and what instances among these watch; each once.
  std::vector<VirtualFilePtr> watched() const;

 private:
  struct Interest {
    std::weak_ptr<VirtualFile> file;
    EpollFile* inner;  // `file`, if it is an epoll instance
    epoll_event event;
    std::uint64_t reported_generation;  // edge-triggered: last state handed out
    bool armed;
  };
  // `idle`: instances that are known not to be ready.
  static std::uint32_t pending(const Interest& interest, std::set<const EpollFile*>& idle);
  bool is_ready(std::set<const EpollFile*>& idle) const;
  void collect(std::vector<VirtualFilePtr>& files, std::set<const VirtualFile*>& known) const;
  static std::uint64_t generation_of(const Interest& interest, const VirtualFile& file);
  enum class Direction { kIn, kOut };  // to those that an instance watches, or that watch it
  std::vector<std::set<const EpollFile*>> layers(Direction direction) const;
  bool may_watch(const EpollFile& inner) const;
  Interest make_interest(const VirtualFilePtr& file, const epoll_event& event);
  void forget(const Interest& interest);

  std::map<int, Interest> interests_;
  std::multiset<EpollFile*> outer_;  // those that watch this one
};

// Adds the files that who waits for `file` has to wait for: itself, and what it watches.
void add_with_watched(std::vector<VirtualFilePtr>& files, VirtualFilePtr file);

}  // namespace verbatim::supervisor
