#include "sim/supervisor/files/inotify_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

namespace verbatim::supervisor {

namespace {

// Events that the simulator and the runtime cause themselves.
constexpr std::uint32_t kOwnWork = IN_ATTRIB | IN_OPEN | IN_ACCESS | IN_CLOSE_NOWRITE | IN_ISDIR;

}  // namespace

std::size_t FileWatches::fetch(bool own_work) {
  std::size_t waiting = 0;
  InotifyFile::Cookies cookies;
  for (InotifyFile* file : files_) {
    file->fetch(own_work, cookies);
    waiting += file->events_.size() - file->visible_events_;
  }
  return waiting;
}

void FileWatches::deliver() {
  for (InotifyFile* file : files_) file->deliver();
}

void FileWatches::count_native(int change) {
  const bool before = are_of_files();
  native_files_ += static_cast<std::size_t>(change);
  if (before != are_of_files()) changed_(are_of_files());
}

InotifyFile::InotifyFile(std::shared_ptr<FileWatches> host) : host_(std::move(host)) { host_->files_.push_back(this); }

InotifyFile::~InotifyFile() {
  std::erase(host_->files_, this);
  if (native_ >= 0) close(native_);
}

void InotifyFile::on_last_close() {
  std::erase(host_->files_, this);
  while (!watches_.empty()) end_watch(watches_.begin()->first);
  if (native_ >= 0) host_->count_native(-1);
}

int InotifyFile::access_mode() const { return O_RDONLY; }

std::size_t InotifyFile::Event::name_room() const {
  constexpr std::size_t kUnit = sizeof(inotify_event);
  return name.empty() ? 0 : (name.size() + 1 + kUnit - 1) / kUnit * kUnit;
}

IoResult InotifyFile::read(std::size_t limit, std::vector<std::byte>& bytes) {
  if (visible_events_ == 0) return std::nullopt;
  while (visible_events_ > 0 && bytes.size() + events_.front().size() <= limit) {
    const Event& event = events_.front();
    inotify_event head{};
    head.wd = event.watch;
    head.mask = event.mask;
    head.cookie = event.cookie;
    head.len = static_cast<std::uint32_t>(event.name_room());
    const std::size_t at = bytes.size();
    bytes.resize(at + event.size());
    std::memcpy(bytes.data() + at, &head, sizeof head);
    std::memcpy(bytes.data() + at + sizeof head, event.name.data(), event.name.size());
    if ((event.mask & IN_Q_OVERFLOW) != 0) --overflows_;
    events_.pop_front();
    --visible_events_;
  }
  return bytes.empty() ? -EINVAL : static_cast<std::int64_t>(bytes.size());
}

std::optional<std::size_t> InotifyFile::queued_input() const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < visible_events_; ++i) bytes += events_[i].size();
  return bytes;
}

int InotifyFile::make_watch(Watch watch) {
  if (host_->watches_ >= FileWatches::kMostWatches) return -ENOSPC;
  do {
    last_number_ = last_number_ == INT_MAX ? 1 : last_number_ + 1;
  } while (watches_.contains(last_number_));
  if (watch.native >= 0) {
    by_native_[watch.native] = last_number_;
  } else {
    by_name_[watch.name] = last_number_;
  }
  ++host_->watches_;
  watches_[last_number_] = std::move(watch);
  return last_number_;
}

void InotifyFile::end_watch(int number) {
  const auto found = watches_.find(number);
  const Watch watch = std::move(found->second);
  watches_.erase(found);
  --host_->watches_;
  watch.native >= 0 ? by_native_.erase(watch.native) : by_name_.erase(watch.name);
}

int InotifyFile::watch_own(const std::string& path, std::uint32_t mask) {
  if (native_ < 0) {
    native_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (native_ < 0) return -errno;
    host_->count_native(1);
  }
  // Without IN_ONESHOT, because an access by the runtime must not end the watch; take() ends it. IN_UNMOUNT,
  // which is always reported, makes the mask nonzero.
  const int native = inotify_add_watch(native_, path.c_str(), (mask & ~std::uint32_t{IN_ONESHOT}) | IN_UNMOUNT);
  if (native < 0) return -errno;
  const bool once = (mask & IN_ONESHOT) != 0;
  if (const auto known = by_native_.find(native); known != by_native_.end()) {
    Watch& watch = watches_[known->second];
    watch.once = once || ((mask & IN_MASK_ADD) != 0 && watch.once);
    return known->second;
  }
  const int number = make_watch({native, "", once});
  if (number < 0) inotify_rm_watch(native_, native);
  return number;
}

int InotifyFile::watch_unchanging(const std::string& name, std::uint32_t mask) {
  const auto known = by_name_.find(name);
  if (known == by_name_.end()) return make_watch({-1, name, false});
  return (mask & IN_MASK_CREATE) != 0 ? -EEXIST : known->second;
}

int InotifyFile::remove(int number) {
  const auto found = watches_.find(number);
  if (found == watches_.end()) return -EINVAL;
  if (found->second.native >= 0) inotify_rm_watch(native_, found->second.native);
  end_watch(number);
  add({number, IN_IGNORED, 0, ""});
  return 0;
}

void InotifyFile::fetch(bool own_work, Cookies& cookies) {
  if (native_ < 0) return;
  alignas(inotify_event) char room[16 * 1024];
  for (ssize_t n; (n = ::read(native_, room, sizeof room)) > 0;) {
    for (ssize_t at = 0; at < n;) {
      inotify_event event;
      std::memcpy(&event, room + at, sizeof event);
      const char* const name = room + at + sizeof event;
      take(event, std::string(name, event.len == 0 ? 0 : strnlen(name, event.len)), own_work, cookies);
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
}

void InotifyFile::take(const inotify_event& event, std::string name, bool own_work, Cookies& cookies) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) return add({-1, IN_Q_OVERFLOW, 0, ""});
  const auto found = by_native_.find(event.wd);
  if (found == by_native_.end() || (own_work && (event.mask & ~kOwnWork) == 0)) return;
  const int number = found->second;
  std::uint32_t cookie = 0;
  if (event.cookie != 0) {
    // The two events of a rename share a cookie, in all instances.
    std::uint32_t& known = cookies[event.cookie];
    if (known == 0) known = ++host_->last_cookie_ == 0 ? ++host_->last_cookie_ : host_->last_cookie_;
    cookie = known;
  }
  add({number, event.mask, cookie, std::move(name)});
  if ((event.mask & IN_IGNORED) != 0) return end_watch(number);
  if (!watches_[number].once) return;
  inotify_rm_watch(native_, event.wd);
  end_watch(number);
  add({number, IN_IGNORED, 0, ""});
}

// As in Linux: an event equal to the last one is dropped; if the queue is full, IN_Q_OVERFLOW replaces lost
// events.
void InotifyFile::add(Event event) {
  if (events_.size() >= FileWatches::kMostEvents) event = {-1, IN_Q_OVERFLOW, 0, ""};
  if ((event.mask & IN_Q_OVERFLOW) != 0) {
    if (overflows_ > 0) return;
    ++overflows_;
  } else if (!events_.empty()) {
    const Event& last = events_.back();
    const bool same = last.watch == event.watch && last.mask == event.mask && last.name == event.name;
    if (same && (last.mask & IN_IGNORED) == 0) return;
  }
  events_.push_back(std::move(event));
}

void InotifyFile::deliver() {
  if (visible_events_ == events_.size()) return;
  visible_events_ = events_.size();
  notify();
}

}  // namespace verbatim::supervisor
