#include "sim/supervisor/machine/run_folder.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string_view>
#include <system_error>
#include <vector>

#include "sim/core/open_file.h"
#include "sim/supervisor/machine/file_copy.h"
#include "sim/supervisor/machine/launcher.h"
#include "sim/supervisor/machine/path_names.h"
#include "sim/supervisor/machine/remove_folder.h"

namespace verbatim::supervisor {

namespace {

namespace fs = std::filesystem;
using protocol::kHome;
using protocol::kOwnFolders;

constexpr const char* kPrefix = "verbatim-run-";
constexpr const char* kLock = "/lock";
constexpr const char* kViews = "/views";

bool strictly_below(const std::string& path, const std::string& folder) {
  return is_below(path, folder) && path.size() > folder.size();
}

// Native path, absolute, without links.
std::string real_path_of(const std::string& path) {
  char buffer[PATH_MAX];
  return realpath(path.c_str(), buffer) != nullptr ? buffer : path;
}

// A run folder whose lock is free has no run any more.
void remove_leftovers(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!is_run_folder(entry.path().filename().string())) continue;
    struct stat status;
    if (lstat(entry.path().c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid()) continue;
    const int lock = open_file(entry.path().string() + kLock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (lock < 0) continue;
    if (flock(lock, LOCK_EX | LOCK_NB) == 0) remove_folder(entry.path().c_str());
    close(lock);
  }
}

// A signal while another run holds the lock does not refuse it. False: see errno.
bool lock_whole(int file) {
  int result = 0;
  do result = flock(file, LOCK_EX);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

std::string random_name() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  std::random_device random;
  std::string name = kPrefix;
  for (int i = 0; i < 8; ++i) name += kLetters[random() % kLetters.size()];
  return name;
}

void make_folder(const std::string& path, mode_t mode) {
  std::error_code error;
  fs::create_directories(path, error);
  chmod(path.c_str(), mode);
}

[[noreturn]] void refuse(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), "cannot make " + what + " in the folder of the run (set TMPDIR)");
}

void make_now(const OwnFolders& folders) {
  if (const int error = folders.make(); error != 0) refuse(error, "the folders of a host");
}

// Programs see file times shifted (verbs_shim/protocol/path_view.h).
void set_time(const std::string& path, std::int64_t seconds) {
  const timespec both[2] = {{seconds - protocol::kFileTimeShift, 0}, {seconds - protocol::kFileTimeShift, 0}};
  utimensat(AT_FDCWD, path.c_str(), both, AT_SYMLINK_NOFOLLOW);
}

// Keepers that were released; init reaps those that outlive the simulator.
class EndedKeepers {
 public:
  void add(pid_t keeper) { keepers_.push_back(keeper); }
  void reap() {
    std::erase_if(keepers_, [](pid_t keeper) { return waitpid(keeper, nullptr, WNOHANG) != 0; });
  }
  void await() {
    for (const pid_t keeper : keepers_) {
      while (waitpid(keeper, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    keepers_.clear();
  }

 private:
  std::vector<pid_t> keepers_;
} ended_keepers;

// Working folders of programs: native, absolute, without links, each once.
std::vector<std::string> working_folders(const std::vector<ProgramSpec>& programs) {
  std::set<std::string> folders;
  for (const ProgramSpec& program : programs)
    folders.insert(real_path_of(program.working_directory.empty() ? "." : program.working_directory));
  return {folders.begin(), folders.end()};
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Plans the folder `real` of the host's own and its parents in `own`.
OwnFolders::Folder& plan(OwnFolders& to_make, const std::string& own, const std::string& real) {
  auto known = to_make.folders.begin();  // own itself
  for (std::size_t end = own.size(); end < real.size();) {
    end = std::min(real.find('/', end + 1), real.size());
    const std::string part = real.substr(0, end);
    known = std::ranges::find(to_make.folders, part, &OwnFolders::Folder::real);
    if (known == to_make.folders.end()) known = to_make.folders.insert(known, {part, 0755});
  }
  return *known;
}

// Starts the process that removes `folder` unless it reads a byte from the pipe `end` first. It has a
// session of its own and blocks signals, since the terminal's signals are meant for the simulator. -1:
// the machine refuses.
pid_t start_keeper(const std::string& program, const std::string& folder, int end) {
  const char* const arguments[] = {"verbatim-keeper", folder.c_str(), nullptr};
  const char* const environment[] = {nullptr};
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t keeper = vfork();
  if (keeper == 0) {  // in the simulator's memory: system calls only
    if (dup2(end, STDIN_FILENO) == STDIN_FILENO && syscall(SYS_close_range, STDOUT_FILENO, ~0u, CLOSE_RANGE_UNSHARE) == 0 &&
        setsid() > 0)
      execve(program.c_str(), const_cast<char* const*>(arguments), const_cast<char* const*>(environment));
    _exit(127);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return keeper;
}

}  // namespace

std::string temporary_folder() {
  const char* const named = std::getenv("TMPDIR");
  return real_path_of(named != nullptr && *named == '/' ? named : "/tmp");
}

bool is_run_folder(const std::string& name) { return name.starts_with(kPrefix); }

void RunFolder::view_working_folders(const std::vector<ProgramSpec>& programs, const FolderSnapshot* expected) {
  views_ = std::make_shared<FolderViews>(path_ + kViews, working_folders(programs), expected);
}

void RunFolder::view_machine(MachineFiles& files) {
  views_ = std::make_shared<FolderViews>(path_ + kViews, std::vector<std::string>(), nullptr, &files);
}

// The lock file contains the pid, and one line for each folder.
void RunFolder::share_working_folders(const std::vector<ProgramSpec>& programs) {
  shared_ = working_folders(programs);
  std::string text = std::to_string(getpid()) + "\n";
  for (const std::string& folder : shared_) text += folder + "\n";
  // If the text cannot be written, other runs are not warned of this one.
  if (ftruncate(lock_, 0) == 0) [[maybe_unused]] const ssize_t n = pwrite(lock_, text.data(), text.size(), 0);
}

pid_t RunFolder::other_run_in(const std::string& folder) const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(path_).parent_path(), error)) {
    if (!is_run_folder(entry.path().filename().string()) || entry.path() == path_) continue;
    const std::string file = entry.path().string() + kLock;
    const Descriptor lock(open_file(file, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (lock.get() < 0 || flock(lock.get(), LOCK_EX | LOCK_NB) == 0) continue;  // its run has ended
    std::ifstream text(file);
    pid_t process = 0;
    std::string line;
    text >> process;
    std::getline(text, line);
    while (std::getline(text, line)) {
      if (line == folder) return process;
    }
  }
  return 0;
}

RunFolder::RunFolder(const std::string& keeper_program) {
  const std::string folder = temporary_folder();
  remove_leftovers(folder);
  ended_keepers.reap();
  do {
    path_ = folder + "/" + random_name();
    // Before the folder is created: the simulator may be killed at any moment.
    keep(keeper_program);
  } while (!make_locked(folder));
}

void RunFolder::clear() {
  for (const Host& host : hosts_) remove_folder(host.folder.c_str());
  if (views_ != nullptr) remove_folder((path_ + kViews).c_str());
  views_.reset();
  shared_.clear();
  hosts_.clear();
  real_paths_.clear();
}

void RunFolder::await_ended_keepers() { ended_keepers.await(); }

void RunFolder::keep(const std::string& keeper_program) {
  int ends[2];
  if (keeper_program.empty() || pipe2(ends, O_CLOEXEC) != 0) return;
  read_end_ = ends[0];
  alive_ = ends[1];
  keeper_ = start_keeper(keeper_program, path_, read_end_);
}

void RunFolder::release_keeper() {
  if (alive_ >= 0) {
    [[maybe_unused]] const ssize_t written = write(alive_, "", 1);  // the folder is removed
    close(alive_);
    close(read_end_);
  }
  if (keeper_ > 0) ended_keepers.add(keeper_);
  alive_ = read_end_ = keeper_ = -1;
}

bool RunFolder::make_locked(const std::string& folder) {
  const auto fail = [this](const std::string& sentence) {
    const int error = errno;
    release_keeper();
    throw std::system_error(error, std::generic_category(), sentence);
  };
  if (mkdir(path_.c_str(), 0700) != 0) {
    if (errno != EEXIST) fail("cannot make the folder of the run in " + folder + " (set TMPDIR)");
    release_keeper();
    return false;
  }
  lock_ = open_file(path_ + kLock, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  struct stat status;
  if (lock_ < 0 || !lock_whole(lock_) || fstat(lock_, &status) != 0) {
    const int error = errno;
    remove_folder(path_.c_str());  // nobody else removes a folder that this run has made
    errno = error;
    fail("cannot lock the folder of the run " + path_);
  }
  // Before it was locked, another run may have removed it as a leftover.
  if (status.st_nlink != 0) return true;
  release_keeper();
  close(lock_);
  return false;
}

RunFolder::~RunFolder() {
  remove_folder(path_.c_str());
  release_keeper();
  if (lock_ >= 0) close(lock_);
}

void RunFolder::add_host(const HostSpec& host, const std::vector<const ProgramSpec*>& programs,
                         std::int64_t epoch_seconds, HostPaths& paths) {
  if (views_ != nullptr) paths.set_views(views_);
  paths.set_shared(shared_);
  const std::string own = path_ + "/" + std::to_string(hosts_.size());
  hosts_.push_back({host.name, own, {}, {}});
  const auto real_path = [this](const std::string& path) {
    auto [it, is_new] = real_paths_.try_emplace(path);
    if (is_new) it->second = files().real_path(path.starts_with('/') ? path : fs::absolute(path).string());
    return it->second;
  };
  std::vector<std::string> folders(std::begin(kOwnFolders), std::end(kOwnFolders));
  for (const ProgramSpec* program : programs) {
    const auto home = program->environment.find("HOME");
    const std::string named = home == program->environment.end() ? kHome : normal_path(home->second);
    const std::string works_in = real_path(program->working_directory.empty() ? "." : program->working_directory);
    const bool usable = named.size() > 1 && named != works_in && !protocol::path_is_in_tree(named.c_str());
    if (usable && std::ranges::find(folders, named) == folders.end()) folders.push_back(named);
  }
  const auto to_make = std::make_shared<OwnFolders>();
  to_make->time_seconds = epoch_seconds - protocol::kFileTimeShift;
  to_make->folders.push_back({own, 0755});
  for (const std::string& folder : folders) {
    const bool home = std::ranges::find(kOwnFolders, folder) == std::end(kOwnFolders);
    plan(*to_make, own, own + folder).mode = home ? 0700 : folder == "/run" ? 0755 : 01777;
    // A machine may lack the parent folder of a home.
    if (const std::string above = folder_of(folder); home && !above.empty() && files().access(above, F_OK) != 0)
      paths.add(above, own + above);
    paths.add(folder, own + folder);
  }
  const auto show = [&](const std::string& seen, const std::string& real, bool is_folder) {
    const auto inside = [&](const std::string& folder) { return strictly_below(seen, folder); };
    if (std::ranges::none_of(folders, inside) || std::ranges::find(folders, seen) != folders.end()) return;
    const std::string place = paths.native(seen);
    if (place == real) return;  // visible through a row above
    // If a link below a visible folder leads elsewhere, no folder is created: it is the machine's.
    if (strictly_below(place, own)) plan(*to_make, own, is_folder ? place : folder_of(place));
    paths.show(seen, real);
  };
  // Native path of a file of the machine.
  const auto content = [this](const std::string& path) { return files().content(files().real_path(path)); };
  const auto show_file = [&](const std::string& file) {
    for (const std::string& name : {normal_path(file), real_path(file)}) {
      show(folder_of(name), real_path(folder_of(name)), true);
      show(name, real_path(name), false);
    }
  };
  for (const ProgramSpec* program : programs) {
    const std::string works_in = program->working_directory.empty() ? "." : program->working_directory;
    show(real_path(works_in), real_path(works_in), true);
    if (works_in.starts_with('/')) show(normal_path(works_in), real_path(works_in), true);
    std::string file;
    if (program->arguments.empty() ||
        !inspect_program(program->arguments[0], program->working_directory, &file, content).reason.empty())
      continue;
    show_file(file);
    // Paths in the command, such as a script, are visible together with their folder.
    for (std::size_t i = 1; i < program->arguments.size(); ++i) {
      const std::string& named = program->arguments[i];
      struct stat status;
      if (!named.starts_with('/') || files().stat(named, status) != 0) continue;
      S_ISDIR(status.st_mode) ? show(normal_path(named), real_path(named), true) : show_file(named);
    }
  }
  // Paths in the scenario's variables are visible, except temporary folders, which are the host's own.
  for (const ProgramSpec* program : programs) {
    for (const auto& [name, value] : program->environment) {
      const auto holds = [&value = value](const std::string& folder) { return strictly_below(value, folder); };
      if (name == "TMPDIR" && std::ranges::any_of(folders, holds)) {
        const std::string place = paths.native(normal_path(value));
        strictly_below(place, own) ? void(plan(*to_make, own, place)) : make_folder(place, 0755);
      }
      if (name == "HOME" || name == "TMPDIR") continue;
      for (std::size_t start = 0; start < value.size();) {
        const std::size_t end = std::min(value.find(':', start), value.size());
        const std::string one = value.substr(start, end - start);
        struct stat status;
        if (one.starts_with('/') && files().stat(one, status) == 0)
          show(normal_path(one), real_path(one), S_ISDIR(status.st_mode));
        start = end + 1;
      }
    }
  }
  for (const ProgramSpec* program : programs) {
    for (const auto& [name, file] : program->files) {
      const std::string place = paths.native(name);
      make_now(*to_make);
      make_folder(folder_of(place), 0755);
      std::ofstream made(place, std::ios::binary);
      made << file.content;
      made.close();
      if (!made) refuse(errno, name);
      chmod(place.c_str(), file.executable ? 0755 : 0644);
    }
  }
  hosts_.back().to_make = to_make;
  if (access(own.c_str(), F_OK) != 0) {
    for (const auto& [real, mode] : to_make->folders) {
      if (real != own) hosts_.back().made_first.insert(real.substr(own.size()));
    }
    return paths.set_folders(to_make);
  }
  make_now(*to_make);
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(own, error); !error && it != fs::recursive_directory_iterator();
       it.increment(error)) {
    set_time(it->path(), epoch_seconds);
    if (it->is_directory() && !it->is_symlink()) hosts_.back().made_first.insert(it->path().string().substr(own.size()));
  }
}

KeptFiles RunFolder::keep_in(const std::string& folder, const std::function<bool()>& is_interrupted) {
  KeptFiles all;
  std::error_code error;
  const auto keep_one = [&](const std::string& from, const std::string& name, const std::string& words) {
    if (all.is_interrupted) return;
    fs::create_directories(folder, error);
    KeptFiles kept = keep_files(from, folder + "/" + name, {}, is_interrupted);
    const std::string which = words + " in " + folder + ": ";
    for (const std::string& failure : kept.failures) all.failures.push_back(which + failure);
    if (!kept.left_out.empty()) all.left_out += (all.left_out.empty() ? "" : "; ") + which + kept.left_out;
    all.is_interrupted = kept.is_interrupted;
  };
  for (const auto& [name, own, made_first, to_make] : hosts_) {
    to_make->make();
    keep_one(own, name, "files of host " + name);
  }
  if (views_ == nullptr) return all;
  int number = 0;
  for (const std::string& copy : views_->drop_unchanged()) {
    const std::string name = views_->views_all() ? "machine" : ++number == 1 ? "working-folder" : "working-folder-" + std::to_string(number);
    keep_one(copy, name, "files of " + views_->original_of(copy));
  }
  return all;
}

}  // namespace verbatim::supervisor
