#include "sim/supervisor/files/epoll_file.h"

#include <algorithm>
#include <cerrno>

namespace verbatim::supervisor {

namespace {

constexpr std::uint64_t kNothingReported = ~0ull;
constexpr std::size_t kMostNested = 4;  // EP_MAX_NESTS of Linux: steps from the outermost to the innermost
constexpr std::uint32_t kWithExclusive =
    EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLWAKEUP | EPOLLET | EPOLLEXCLUSIVE;

}  // namespace

// Place of an interest in the ready list of its instance.
class EpollFile::Mark final : public EpollMark {
 public:
  Mark(EpollFile& epoll, VirtualFile& file, const Mark* replaced, std::uint32_t events)
      : epoll_(&epoll), file_(file), events_(events), place_(replaced == nullptr ? 0 : replaced->place_) {
    if (place_ == 0) queue_up();
  }

  bool note_change() override {
    if (epoll_ == nullptr) return false;
    const bool is_new = place_ == 0;
    if (is_new) queue_up();
    epoll_->wait_queue.mark();  // instances that watch this one
    return is_new && epoll_->wait_queue.has_waiters() && (file_.readiness() & (events_ | EPOLLERR | EPOLLHUP)) != 0;
  }
  bool is_exclusive() const override { return (events_ & EPOLLEXCLUSIVE) != 0; }

  // 0: not in the list.
  std::uint64_t place() const { return place_; }
  void queue_up() { place_ = ++epoll_->last_place_; }
  void leave() { place_ = 0; }
  // The instance ends; a file that is being destroyed may still have the mark.
  void detach() { epoll_ = nullptr; }

 private:
  EpollFile* epoll_;
  VirtualFile& file_;  // it owns the mark together with the instance
  std::uint32_t events_;
  std::uint64_t place_;
};

EpollFile::~EpollFile() {
  for (const auto& [fd, interest] : interests_) forget(interest);
}

std::uint32_t EpollFile::pending(const Interest& interest, std::set<const EpollFile*>& idle) {
  const VirtualFilePtr file = interest.file.lock();
  if (file == nullptr || !interest.armed) return 0;
  if (interest.mark->is_exclusive() && interest.mark->place() == 0) return 0;  // another instance took the change
  if ((interest.event.events & EPOLLET) != 0 && interest.reported_generation == generation_of(interest, *file)) return 0;
  const std::uint32_t wanted = interest.event.events | EPOLLERR | EPOLLHUP;
  if (interest.inner == nullptr) return file->readiness() & wanted;
  return interest.inner->is_ready(idle) ? (POLLIN | POLLRDNORM) & wanted : 0;
}

bool EpollFile::is_ready(std::set<const EpollFile*>& idle) const {
  if (idle.contains(this)) return false;
  for (const auto& [fd, interest] : interests_) {
    if (pending(interest, idle) != 0) return true;
  }
  idle.insert(this);
  return false;
}

std::uint32_t EpollFile::readiness() const {
  std::set<const EpollFile*> idle;
  return is_ready(idle) ? POLLIN | POLLRDNORM : 0;
}

// An epoll instance has become more ready if a file that it watches has.
std::uint64_t EpollFile::generation_of(const Interest& interest, const VirtualFile& file) {
  std::uint64_t generation = file.wait_queue.generation();
  if (interest.inner == nullptr) return generation;
  for (const VirtualFilePtr& watched : interest.inner->watched()) generation += watched->wait_queue.generation();
  return generation;
}

// Layer n: all instances at distance n by any path. There are no cycles, which bounds the number of layers.
std::vector<std::set<const EpollFile*>> EpollFile::layers(Direction direction) const {
  std::vector<std::set<const EpollFile*>> layers{{this}};
  for (;;) {
    std::set<const EpollFile*> next;
    for (const EpollFile* one : layers.back()) {
      if (direction == Direction::kOut) next.insert(one->outer_.begin(), one->outer_.end());
      if (direction == Direction::kOut) continue;
      for (const auto& [fd, interest] : one->interests_) {
        if (interest.inner != nullptr && !interest.file.expired()) next.insert(interest.inner);
      }
    }
    if (next.empty()) return layers;
    layers.push_back(std::move(next));
  }
}

bool EpollFile::may_watch(const EpollFile& inner) const {
  const auto below = inner.layers(Direction::kIn), above = layers(Direction::kOut);
  for (const auto& layer : below) {
    if (layer.contains(this)) return false;
  }
  return (above.size() - 1) + 1 + (below.size() - 1) <= kMostNested;
}

bool EpollFile::may_add(const VirtualFile& file, const epoll_event& event) const {
  if ((event.events & EPOLLEXCLUSIVE) == 0) return true;
  return dynamic_cast<const EpollFile*>(&file) == nullptr && (event.events & ~kWithExclusive) == 0;
}

// `replaced`: the mark of the interest that this one replaces.
EpollFile::Interest EpollFile::make_interest(const VirtualFilePtr& file, const epoll_event& event, const Mark* replaced) {
  EpollFile* const inner = file->as_epoll();
  if (inner != nullptr) inner->outer_.insert(this);
  const auto mark = std::make_shared<Mark>(*this, *file, replaced, event.events);
  file->wait_queue.add_mark(mark);
  Interest interest{file, mark, inner, event, kNothingReported, true};
  std::set<const EpollFile*> idle;
  if (pending(interest, idle) == 0) mark->leave();
  return interest;
}

void EpollFile::forget(const Interest& interest) {
  interest.mark->detach();
  const VirtualFilePtr file = interest.file.lock();
  if (file == nullptr) return;
  file->wait_queue.remove_mark(*interest.mark);
  if (interest.inner == nullptr) return;
  interest.inner->outer_.erase(interest.inner->outer_.find(this));
}

int EpollFile::control(int operation, int fd, const VirtualFilePtr& file, const epoll_event& event) {
  auto it = interests_.find(fd);
  if (it != interests_.end() && it->second.file.lock() != file) {  // the number was closed and assigned to another file
    forget(it->second);
    interests_.erase(it);
    it = interests_.end();
  }
  switch (operation) {
    case EPOLL_CTL_ADD:
      if (!may_add(*file, event)) return -EINVAL;
      if (it != interests_.end()) return -EEXIST;
      if (const EpollFile* const inner = file->as_epoll(); inner != nullptr && !may_watch(*inner))
        return -ELOOP;
      interests_[fd] = make_interest(file, event, nullptr);
      break;
    case EPOLL_CTL_MOD:
      if ((event.events & EPOLLEXCLUSIVE) != 0) return -EINVAL;
      if (it == interests_.end()) return -ENOENT;
      if (it->second.mark->is_exclusive()) return -EINVAL;
      forget(it->second);
      it->second = make_interest(file, event, it->second.mark.get());
      break;
    case EPOLL_CTL_DEL:
      if (it == interests_.end()) return -ENOENT;
      forget(it->second);
      interests_.erase(it);
      break;
    default:
      return -EINVAL;
  }
  notify();
  return 0;
}

std::vector<std::map<int, EpollFile::Interest>::iterator> EpollFile::ready_list() {
  std::vector<std::map<int, Interest>::iterator> list;
  for (auto it = interests_.begin(); it != interests_.end();) {
    if (it->second.file.expired()) {
      it = interests_.erase(it);
    } else {
      list.push_back(it++);
    }
  }
  // Files that have no place yet follow in order of descriptor.
  const auto place = [](const auto& it) { return it->second.mark->place() - 1; };
  std::ranges::stable_sort(list, {}, place);
  return list;
}

std::int64_t EpollFile::take(std::size_t limit,
                             const std::function<bool(std::size_t index, const epoll_event& event)>& store) {
  std::size_t stored = 0;
  std::set<const EpollFile*> idle;
  for (const auto& it : ready_list()) {
    if (stored == limit) break;
    Interest& interest = it->second;
    const std::uint32_t events = pending(interest, idle);
    if (events == 0) {
      interest.mark->leave();
      continue;
    }
    epoll_event event = interest.event;
    event.events = events;
    if (!store(stored, event)) return stored > 0 ? static_cast<std::int64_t>(stored) : -EFAULT;
    ++stored;
    interest.reported_generation = generation_of(interest, *interest.file.lock());
    if ((interest.event.events & EPOLLONESHOT) != 0) interest.armed = false;
    (interest.event.events & (EPOLLONESHOT | EPOLLET)) != 0 ? interest.mark->leave() : interest.mark->queue_up();
  }
  return static_cast<std::int64_t>(stored);
}

void EpollFile::collect(std::vector<VirtualFilePtr>& files, std::set<const VirtualFile*>& known) const {
  for (const auto& [fd, interest] : interests_) {
    VirtualFilePtr file = interest.file.lock();
    if (file == nullptr || !known.insert(file.get()).second) continue;
    files.push_back(std::move(file));
    if (interest.inner != nullptr) interest.inner->collect(files, known);
  }
}

std::vector<VirtualFilePtr> EpollFile::watched() const {
  std::vector<VirtualFilePtr> files;
  std::set<const VirtualFile*> known;
  collect(files, known);
  return files;
}

void add_with_watched(std::vector<VirtualFilePtr>& files, VirtualFilePtr file) {
  const EpollFile* const epoll = file->as_epoll();
  files.push_back(std::move(file));
  if (epoll == nullptr) return;
  for (VirtualFilePtr& watched : epoll->watched()) files.push_back(std::move(watched));
}

}  // namespace verbatim::supervisor
