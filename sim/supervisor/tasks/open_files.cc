#include "sim/supervisor/tasks/open_files.h"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "sim/supervisor/machine/foreign_descriptors.h"
#include "sim/supervisor/tasks/process.h"
#include "sim/supervisor/tasks/signal_file.h"
#include "verbs_shim/protocol/layout.h"

namespace verbatim::supervisor {

DescriptorTable OpenFiles::table() const { return {process_.pid(), files_}; }

int OpenFiles::limit() const { return process_.limits.descriptors(); }

VirtualFilePtr OpenFiles::at(std::int64_t fd) const {
  const auto it = files_.find(static_cast<int>(fd));
  return it == files_.end() ? nullptr : it->second;
}

// The value is written by the program; clamping it protects the other processes.
int OpenFiles::own_descriptors() const {
  const int claimed =
      std::atomic_ref(process_.region().header().own_descriptors).load(std::memory_order_relaxed);
  const OwnDescriptors own = supervisor::own_descriptors();
  return std::clamp(claimed, own.at_first, own.later);
}

bool OpenFiles::closes_unknown_by_exec(int fd) const {
  const auto& word = process_.region().high_descriptors().close_on_exec[fd / 64];
  return fd >= own_descriptors() && (word.load(std::memory_order_relaxed) >> (fd % 64) & 1) != 0;
}

namespace {

// The descriptors open in the kernel's table, indexed by number.
std::vector<bool> natively_open_ones(pid_t tid) {
  std::vector<bool> open(protocol::kMostDescriptors);
  DIR* const folder = opendir(fmt::format("/proc/{}/fd", tid).c_str());
  if (folder == nullptr) return open;
  while (const dirent* const entry = readdir(folder)) {
    const auto fd = static_cast<std::size_t>(std::strtoul(entry->d_name, nullptr, 10));
    if (entry->d_name[0] != '.' && fd < open.size()) open[fd] = true;
  }
  closedir(folder);
  return open;
}

}  // namespace

// The search resumes at the last result, because with many descriptors a query for each number from 0 on
// would be slow. After kAskedOneByOne queries one directory listing replaces the rest.
int OpenFiles::lowest_free_number(int least, std::span<const int> taken) {
  const int closed =
      process_.region().header().least_closed.exchange(protocol::kMostDescriptors, std::memory_order_relaxed);
  least_free_ = std::max(0, std::min(least_free_, closed));
  const int end = limit();
  const bool from_known = least <= least_free_;
  bool is_least = from_known;
  constexpr int kAskedOneByOne = 8;
  int asked = 0;
  std::vector<bool> open;
  const auto is_open = [&](int fd) {
    if (asked++ < kAskedOneByOne) return natively_open(fd);
    if (open.empty()) open = natively_open_ones(process_.calling_thread());
    return fd < own_descriptors() && open[static_cast<std::size_t>(fd)];
  };
  for (int fd = from_known ? least_free_ : least; fd < end; ++fd) {
    if (files_.contains(fd) || is_open(fd)) continue;
    if (is_least) least_free_ = fd;
    is_least = false;
    if (std::ranges::find(taken, fd) == taken.end()) return fd;
  }
  return -EMFILE;
}

int OpenFiles::install(VirtualFilePtr file, int least) {
  const int fd = lowest_free_number(least);
  if (fd >= 0) install_at(fd, std::move(file));
  return fd;
}

bool OpenFiles::natively_open(int fd) const {
  return fd >= 0 && fd < own_descriptors() && has_descriptor(process_.calling_thread(), fd);
}

bool OpenFiles::natively_usable(int fd) const {
  return natively_open(fd) && !only_names_file(process_.calling_thread(), fd);
}

void OpenFiles::install_at(int fd, VirtualFilePtr file) {
  close(fd);
  file->add_descriptor();
  const bool is_signal_file = file->as_signal_file() != nullptr;
  files_[fd] = std::move(file);
  process_.region().set_virtual(fd, true);
  if (is_signal_file) signal_files_.insert(fd);
  if (is_signal_file || !signal_files_.empty()) process_.publish_watched_signals();
}

std::uint64_t OpenFiles::watched_signals() const {
  std::uint64_t set = 0;
  for (const int fd : signal_files_) set |= static_cast<const SignalFile&>(*files_.at(fd)).set();
  return set;
}

void OpenFiles::notify_signal_files() {
  for (const int fd : signal_files_) static_cast<SignalFile&>(*files_.at(fd)).changed();
}

bool OpenFiles::close(int fd) {
  const auto it = files_.find(fd);
  if (it == files_.end()) return false;
  const VirtualFilePtr file = std::move(it->second);
  files_.erase(it);
  signal_files_.erase(fd);
  least_free_ = std::min(least_free_, fd);
  process_.region().set_virtual(fd, false);
  file->on_close_by(process_.pid());
  file->drop_descriptor();
  return true;
}

void OpenFiles::close_all() {
  while (!files_.empty()) close(files_.begin()->first);
}

void OpenFiles::move_to_region() {
  for (const auto& [fd, file] : files_) process_.region().set_virtual(fd, true);
  least_free_ = 0;
}

}  // namespace verbatim::supervisor
