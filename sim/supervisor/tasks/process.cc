#include "sim/supervisor/tasks/process.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/machine/input_stream.h"
#include "sim/supervisor/machine/path_names.h"
#include "sim/supervisor/tasks/interval_timer.h"
#include "sim/supervisor/tasks/parking.h"
#include "sim/supervisor/tasks/posix_timer.h"

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

Process::~Process() { devices_.close_own(); }

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
  devices_.close_own(true);
  devices_.clear();
  analyst_.reset();
  known_loops = known_calls = 0;
  name_ = std::move(name);
  region_ = std::move(region);
  files_.move_to_region();
  publish_watched_signals();
  timers.clear();
  attached = false;
  ++executions_;
  set_native_pid(pid);
}

void Process::retire() {
  threads_.clear();
  former_threads_.clear();
  devices_.close_own();
  devices_.clear();
  analyst_.reset();
  region_.reset();
  patches_.reset();
  environment = auxiliary_vector = {};
}

void Process::enforce_limits() {
  region_->header().descriptor_limit = files_.limit();
  limits.enforce(native_pid_, files_.own_descriptors());
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

void Process::set_environment(const std::vector<std::string>& variables) {
  environment.clear();
  for (const std::string& variable : variables) environment += variable + '\0';
}

const Credentials& Process::credentials() const {
  static const Credentials kOfNobody;
  for (const auto& thread : threads_) {
    if (thread->native.tid == calling_tid_ && thread->state() != Thread::State::kDead) return thread->credentials;
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

void Process::publish_watched_signals() {
  region_->header().watched_signals = files_.watched_signals() | pending.pending();
}

}  // namespace verbatim::supervisor
