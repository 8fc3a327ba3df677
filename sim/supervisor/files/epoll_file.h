// An epoll instance: level-triggered, edge-triggered, one-shot and exclusive interest in other files. Ready files are
// reported in the order in which they became ready, and a level-triggered one queues up again, as in Linux: no file starves
// if more are ready than one call reports. Instances may watch instances, as deep as Linux allows. Cycles are refused, hence
// each walk ends.
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
  EpollFile* as_epoll() override { return this; }

  // EPOLL_CTL_ADD, _MOD or _DEL for descriptor `fd`, which refers to `file`. 0 or -errno; ELOOP: `file`
  // watches this instance, or the nesting would be too deep; EINVAL: not permitted with EPOLLEXCLUSIVE.
  int control(int operation, int fd, const VirtualFilePtr& file, const epoll_event& event);
  // Calls `store` for each ready descriptor, at most `limit` of them, in the order of the ready list, and clears its edge or
  // one-shot. If `store` fails (bad address), that descriptor stays ready and none follows. The number stored, or -EFAULT
  // if the first fails.
  std::int64_t take(std::size_t limit, const std::function<bool(std::size_t index, const epoll_event& event)>& store);
  // Files whose changes may make this instance ready, including those that nested instances watch; each once.
  std::vector<VirtualFilePtr> watched() const;

 private:
  class Mark;
  struct Interest {
    std::weak_ptr<VirtualFile> file;
    std::shared_ptr<Mark> mark;
    EpollFile* inner;  // `file`, if it is an epoll instance
    epoll_event event;
    std::uint64_t reported_generation;  // edge-triggered: generation last reported
    bool armed;
  };
  // `idle`: instances already found not ready.
  static std::uint32_t pending(const Interest& interest, std::set<const EpollFile*>& idle);
  bool is_ready(std::set<const EpollFile*>& idle) const;
  void collect(std::vector<VirtualFilePtr>& files, std::set<const VirtualFile*>& known) const;
  static std::uint64_t generation_of(const Interest& interest, const VirtualFile& file);
  enum class Direction { kIn, kOut };  // towards the instances that it watches, or that watch it
  std::vector<std::set<const EpollFile*>> layers(Direction direction) const;
  bool may_watch(const EpollFile& inner) const;
  bool may_add(const VirtualFile& file, const epoll_event& event) const;
  Interest make_interest(const VirtualFilePtr& file, const epoll_event& event, const Mark* replaced);
  // Interests whose files may be ready, in the order of the ready list.
  std::vector<std::map<int, Interest>::iterator> ready_list();
  void forget(const Interest& interest);

  std::map<int, Interest> interests_;
  std::multiset<EpollFile*> outer_;  // instances that watch this one
  std::uint64_t last_place_ = 0;     // in the ready list
};

// Adds `file` and, if it is an epoll instance, all files that it watches: the files to wait for.
void add_with_watched(std::vector<VirtualFilePtr>& files, VirtualFilePtr file);

}  // namespace verbatim::supervisor
