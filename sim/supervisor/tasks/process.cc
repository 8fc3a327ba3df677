#include "sim/supervisor/tasks/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/machine/foreign_descriptors.h"
#include "sim/supervisor/machine/input_stream.h"
#include "sim/supervisor/machine/path_names.h"
#include "sim/supervisor/tasks/interval_timer.h"
#include "sim/supervisor/tasks/parking.h"
#include "sim/supervisor/tasks/posix_timer.h"
#include "sim/supervisor/tasks/signal_file.h"
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

Process::~Process() { close_own_contexts(); }

void Process::set_native_pid(pid_t pid) {
  native_pid_ = pid;
  memory_ = std::make_unique<ProcessMemory>(pid);
  memory_->set_regardless_listener([this] {
    if (region_ != nullptr) region_->header().writes_regardless.store(1, std::memory_order_relaxed);
  });
}

void Process::replace(std::string name, std::unique_ptr<ProcessRegion> region, pid_t pid) {
  family_.copy_of = 0;
  for (auto& thread : threads_) {
    thread->die();
    former_threads_.push_back(std::move(thread));
  }
  threads_.clear();
  close_own_contexts(true);
  contexts_.clear();
  analyst_.reset();
  known_loops = 0;
  name_ = std::move(name);
  region_ = std::move(region);
  for (const auto& [fd, file] : files_) region_->set_virtual(fd, true);
  least_free_ = 0;
  publish_watched_signals();
  timers_.clear();
  attached = false;
  ++executions_;
  set_native_pid(pid);
}

bool Process::has_own_contexts() const {
  return std::ranges::any_of(contexts_, [this](const auto& context) { return context->owner() == pid_; });
}

void Process::keep_registered_memory(bool keeps_descriptors) {
  for (auto& context : contexts_) {
    if (context->owner() == pid_) context->keep_memory(descriptor_table(), keeps_descriptors);
  }
}

void Process::close_own_contexts(bool keeps_descriptors) {
  keep_registered_memory(keeps_descriptors);
  for (auto& context : contexts_) {
    if (context->owner() == pid_) context->close();
  }
}

void Process::retire() {
  threads_.clear();
  former_threads_.clear();
  close_own_contexts();
  contexts_.clear();
  analyst_.reset();
  region_.reset();
  patches_.reset();
  environment_text_ = {};
  auxiliary_vector_ = {};
}

VirtualFilePtr Process::file(std::int64_t fd) const {
  const auto it = files_.find(static_cast<int>(fd));
  return it == files_.end() ? nullptr : it->second;
}

// The value is written by the program; clamping it protects the other processes.
int Process::own_descriptors() const {
  const int claimed = std::atomic_ref(region_->header().own_descriptors).load(std::memory_order_relaxed);
  const OwnDescriptors own = supervisor::own_descriptors();
  return std::clamp(claimed, own.at_first, own.later);
}

void Process::enforce_limits() {
  region_->header().descriptor_limit = descriptor_limit();
  limits.enforce(native_pid_, own_descriptors());
}

bool Process::closes_unknown_by_exec(int fd) const {
  const auto& word = region_->high_descriptors().close_on_exec[fd / 64];
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
int Process::lowest_free_number(int least, std::span<const int> taken) {
  const int closed = region_->header().least_closed.exchange(protocol::kMostDescriptors, std::memory_order_relaxed);
  least_free_ = std::max(0, std::min(least_free_, closed));
  const int end = descriptor_limit();
  const bool from_known = least <= least_free_;
  bool is_least = from_known;
  constexpr int kAskedOneByOne = 8;
  int asked = 0;
  std::vector<bool> open;
  const auto is_open = [&](int fd) {
    if (asked++ < kAskedOneByOne) return natively_open(fd);
    if (open.empty()) open = natively_open_ones(calling_tid_);
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

int Process::install(VirtualFilePtr file, int least) {
  const int fd = lowest_free_number(least);
  if (fd >= 0) install_at(fd, std::move(file));
  return fd;
}

bool Process::natively_open(int fd) const {
  return fd >= 0 && fd < own_descriptors() && has_descriptor(calling_tid_, fd);
}

std::string Process::native_path(int directory_fd, const std::string& path) const {
  if (path.starts_with('/') && paths_ != nullptr) {
    if (paths_->in_tree(path)) return "";
    const std::filesystem::path native(paths_->native_in_use(path));
    // A native parent directory may be a symbolic link to a directory that the host virtualises, such as
    // /var/run.
    const std::filesystem::path folder = canonical_folder(native.parent_path());
    const std::string target = (folder / native.filename()).string();
    if (folder.empty() || folder == native.parent_path() || paths_->seen(target) != target) return native.string();
    return paths_->in_tree(target) ? "" : paths_->native_in_use(target);
  }
  if (path.starts_with('/')) return path;
  if (paths_ != nullptr && paths_->views() != nullptr && directory_fd == AT_FDCWD) {
    std::error_code error;
    const std::string works_in = std::filesystem::read_symlink(fmt::format("/proc/{}/cwd", calling_tid_), error);
    if (!error && works_in.starts_with('/')) return native_path(AT_FDCWD, paths_->seen(works_in) + "/" + path);
  }
  if (directory_fd == AT_FDCWD) return fmt::format("/proc/{}/cwd/{}", calling_tid_, path);
  return fmt::format("/proc/{}/fd/{}/{}", calling_tid_, directory_fd, path);
}

void Process::set_environment(const std::vector<std::string>& environment) {
  environment_text_.clear();
  for (const std::string& variable : environment) environment_text_ += variable + '\0';
}

const Credentials& Process::credentials() const {
  static const Credentials kOfNobody;
  for (const auto& thread : threads_) {
    if (thread->native_tid() == calling_tid_ && thread->state() != Thread::State::kDead) return thread->credentials;
  }
  return threads_.empty() ? kOfNobody : threads_.front()->credentials;
}

unsigned Process::file_mask() const {
  InputStream status(fmt::format("/proc/{}/status", calling_tid_));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Umask:")) return static_cast<unsigned>(std::strtoul(line.c_str() + 6, nullptr, 8));
  }
  return 022;
}

void Process::install_at(int fd, VirtualFilePtr file) {
  close(fd);
  file->add_descriptor();
  const bool is_signal_file = file->as_signal_file() != nullptr;
  files_[fd] = std::move(file);
  region_->set_virtual(fd, true);
  if (is_signal_file) signal_files_.insert(fd);
  if (is_signal_file || !signal_files_.empty()) publish_watched_signals();
}

void Process::publish_watched_signals() {
  region_->header().watched_signals = watched_signals() | pending_.pending();
}

std::uint64_t Process::watched_signals() const {
  std::uint64_t set = 0;
  for (const int fd : signal_files_) set |= static_cast<const SignalFile&>(*files_.at(fd)).set();
  return set;
}

void Process::notify_signal_files() {
  for (const int fd : signal_files_) static_cast<SignalFile&>(*files_.at(fd)).changed();
}

bool Process::close(int fd) {
  const auto it = files_.find(fd);
  if (it == files_.end()) return false;
  const VirtualFilePtr file = std::move(it->second);
  files_.erase(it);
  signal_files_.erase(fd);
  least_free_ = std::min(least_free_, fd);
  region_->set_virtual(fd, false);
  file->drop_descriptor();
  return true;
}

void Process::close_all() {
  while (!files_.empty()) close(files_.begin()->first);
}

}  // namespace verbatim::supervisor
