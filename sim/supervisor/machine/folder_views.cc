#include "sim/supervisor/machine/folder_views.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "sim/supervisor/machine/file_copy.h"
#include "sim/supervisor/machine/path_names.h"
#include "sim/supervisor/machine/run_folder.h"

namespace verbatim::supervisor {

namespace {

constexpr std::int64_t kLargeFile = std::int64_t{16} << 20;  // bytes; larger files are not copied for reading
constexpr std::uint64_t kFirstMade = std::uint64_t{1} << 40;  // above the inode numbers of most file systems
constexpr int kNsPerSecond = 1'000'000'000;

std::int64_t ns_of(const timespec& time) { return time.tv_sec * std::int64_t{kNsPerSecond} + time.tv_nsec; }
timespec time_of(std::int64_t ns) {
  const std::int64_t part = (ns % kNsPerSecond + kNsPerSecond) % kNsPerSecond;
  return {(ns - part) / kNsPerSecond, part};
}

void set_time(const std::string& path, const timespec& modified) {
  const timespec both[2] = {modified, modified};
  utimensat(AT_FDCWD, path.c_str(), both, AT_SYMLINK_NOFOLLOW);
}

bool is_elf(int file) {
  char magic[4];
  return pread(file, magic, sizeof magic, 0) == sizeof magic && std::memcmp(magic, "\x7f" "ELF", sizeof magic) == 0;
}

}  // namespace

std::string kind_of(mode_t mode) {
  return S_ISDIR(mode)    ? "folder"
         : S_ISREG(mode)  ? "file"
         : S_ISLNK(mode)  ? "link"
         : S_ISFIFO(mode) ? "fifo"
         : S_ISSOCK(mode) ? "socket"
                          : "device";
}

FolderViews::FolderViews(std::string place, std::vector<std::string> originals, const FolderSnapshot* expected)
    : place_(std::move(place)) {
  std::ranges::sort(originals);
  for (std::string& original : originals) {
    const bool is_inside =
        std::ranges::any_of(originals_, [&](const std::string& outer) { return is_below(original, outer); });
    if (original.size() > 1 && !is_inside) originals_.push_back(std::move(original));
  }
  has_root_.resize(originals_.size());
  if (expected == nullptr) return;
  for (const FolderSnapshot::Entry& entry : expected->entries) expected_[entry.path] = &entry;
}

std::string FolderViews::copy_of(const std::string& path) const {
  for (std::size_t i = 0; i < originals_.size(); ++i) {
    if (is_below(path, originals_[i])) return place_ + "/" + std::to_string(i) + path.substr(originals_[i].size());
  }
  return "";
}

std::string FolderViews::original_of(const std::string& copy) const {
  for (std::size_t i = 0; i < originals_.size(); ++i) {
    const std::string root = place_ + "/" + std::to_string(i);
    if (is_below(copy, root)) return originals_[i] + copy.substr(root.size());
  }
  return "";
}

FolderViews::Known* FolderViews::known(const struct stat& status) {
  const auto found = known_.find({status.st_dev, status.st_ino});
  return found == known_.end() ? nullptr : &found->second;
}

// The program may have replaced the copy by another file.
bool FolderViews::is_copy_of(const std::string& copy, const struct stat& original) {
  struct stat status;
  const Known* const found = lstat(copy.c_str(), &status) == 0 ? known(status) : nullptr;
  return found != nullptr && !found->original.empty() && found->status.st_dev == original.st_dev &&
         found->status.st_ino == original.st_ino;
}

int FolderViews::make_root(std::size_t view) {
  if (has_root_[view]) return 0;
  if (mkdir(place_.c_str(), 0700) != 0 && errno != EEXIST) return errno;
  const int error = make_entry(place_ + "/" + std::to_string(view), originals_[view]);
  has_root_[view] = error == 0;
  return error;
}

int FolderViews::make_roots() {
  for (std::size_t i = 0; i < originals_.size(); ++i) {
    if (const int error = make_root(i); error != 0) return error;
  }
  return 0;
}

// Creates one entry without its content. Devices are left out.
int FolderViews::make_entry(const std::string& copy, const std::string& original) {
  struct stat status;
  if (lstat(original.c_str(), &status) != 0) return errno == ENOENT ? 0 : errno;
  if (const auto found = expected_.find(original); found != expected_.end())
    status.st_mtim = time_of(found->second->modified_ns);
  if (device_ == 0) device_ = status.st_dev;
  const mode_t mode = status.st_mode & 07777;
  if (S_ISDIR(status.st_mode)) {
    if (mkdir(copy.c_str(), 0700) != 0) return errno;
  } else if (S_ISLNK(status.st_mode)) {
    char target[4096];
    const ssize_t size = readlink(original.c_str(), target, sizeof target - 1);
    if (size < 0) return errno;
    target[size] = 0;
    if (symlink(target, copy.c_str()) != 0) return errno;
  } else if (S_ISREG(status.st_mode)) {
    const Id id = {status.st_dev, status.st_ino};
    const auto first = status.st_nlink > 1 ? linked_.find(id) : linked_.end();
    if (first != linked_.end() && is_copy_of(first->second, status) && link(first->second.c_str(), copy.c_str()) == 0) {
      met_[original] = {original, "file", status.st_size, ns_of(status.st_mtim), "", false};
      return 0;
    }
    const Descriptor file(open(copy.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.get() < 0) return errno;
    if (ftruncate(file.get(), status.st_size) != 0) {
      const int error = errno;
      unlink(copy.c_str());
      return error;
    }
    if (status.st_nlink > 1) linked_[id] = copy;
  } else if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) {
    if (mknod(copy.c_str(), (status.st_mode & S_IFMT) | 0600, 0) != 0) return errno;
  } else {
    return 0;
  }
  if (!S_ISLNK(status.st_mode) && chmod(copy.c_str(), mode) != 0) return errno;
  set_time(copy, status.st_mtim);
  struct stat made;
  if (lstat(copy.c_str(), &made) != 0) return errno;
  const bool is_pending = S_ISDIR(status.st_mode) || (S_ISREG(status.st_mode) && status.st_size > 0);
  known_[{made.st_dev, made.st_ino}] = {original, status, is_pending, 0};
  met_[original] = {original, kind_of(status.st_mode), S_ISDIR(status.st_mode) ? 0 : status.st_size, ns_of(status.st_mtim), "",
                    false};
  return 0;
}

// After an error the folder stays pending; entries already created stay.
int FolderViews::expand(const std::string& copy, Known& folder) {
  DIR* const entries = opendir(folder.original.c_str());
  if (entries == nullptr) return errno == ENOENT ? 0 : errno;
  std::vector<std::string> names;
  while (const dirent* const entry = readdir(entries)) {
    const std::string name = entry->d_name;
    if (name != "." && name != ".." && !is_run_folder(name)) names.push_back(name);
  }
  closedir(entries);
  std::ranges::sort(names);
  chmod(copy.c_str(), 0700);
  int error = 0;
  for (const std::string& name : names) {
    const int failed = make_entry(copy + "/" + name, folder.original + "/" + name);
    if (failed != 0 && failed != EEXIST && error == 0) error = failed;
  }
  chmod(copy.c_str(), folder.status.st_mode & 07777);
  set_time(copy, folder.status.st_mtim);
  if (error == 0) folder.is_pending = false;
  return error;
}

int FolderViews::fill(const std::string& copy, Known& file) {
  const Descriptor from(open(file.original.c_str(), O_RDONLY | O_CLOEXEC));
  if (from.get() < 0) return errno;
  struct stat status;
  if (stat(copy.c_str(), &status) != 0) return errno;
  const bool is_closed = (status.st_mode & S_IWUSR) == 0;
  if (is_closed) chmod(copy.c_str(), status.st_mode | S_IWUSR);
  int error = 0;
  {
    const Descriptor to(open(copy.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
    // FICLONE shares the blocks where the file system supports it.
    if (to.get() < 0)
      error = errno;
    else if (ioctl(to.get(), FICLONE, from.get()) != 0)
      error = copy_data(from.get(), to.get(), status.st_size, [](std::uint64_t) { return true; });
  }
  if (is_closed) chmod(copy.c_str(), status.st_mode & 07777);
  set_time(copy, status.st_mtim);
  if (error == 0) file.is_pending = false;
  return error;
}

FolderViews::Prepared FolderViews::prepare(const std::string& path, std::int64_t use) {
  const std::string seen = original_of(path);
  if (seen.empty()) return {0, path};
  const std::size_t view = static_cast<std::size_t>(std::stoul(path.substr(place_.size() + 1)));
  if (const int error = make_root(view); error != 0) return {error, path};
  const auto is_refused = [](const Known* found) {
    return found != nullptr && !found->original.empty() && faccessat(AT_FDCWD, found->original.c_str(), W_OK, AT_EACCESS) != 0 &&
           errno == EACCES;
  };
  const std::size_t root = place_.size() + 1 + std::to_string(view).size();
  for (std::size_t end = root;; end = path.find('/', end + 1)) {
    const bool is_last = end == std::string::npos || end + 1 >= path.size();
    const std::string at = path.substr(0, end);
    struct stat status;
    if (lstat(at.c_str(), &status) != 0) return {0, path};  // the kernel will report the error
    Known* const found = known(status);
    if (S_ISDIR(status.st_mode)) {
      const bool is_used = !is_last || (use & ~protocol::kViewWrites) != 0;
      if (found != nullptr && found->is_pending && is_used) {
        if (const int error = expand(at, *found); error != 0) return {error, path};
      }
      const bool is_above = !is_last && (path.find('/', end + 1) == std::string::npos ||
                                         path.find('/', end + 1) + 1 >= path.size());
      if (is_above && (use & protocol::kViewNames) != 0 && is_refused(known(status))) return {EACCES, path};
    }
    if (!is_last) {
      if (!S_ISDIR(status.st_mode)) return {0, path};
      continue;
    }
    const bool writes = (use & (protocol::kViewWrites | protocol::kViewEmpties)) != 0;
    if (writes && (use & protocol::kViewNames) == 0 && !S_ISLNK(status.st_mode) && is_refused(found)) return {EACCES, path};
    if (!S_ISREG(status.st_mode) || found == nullptr || !found->is_pending || (use & protocol::kViewOpens) == 0)
      return {0, path};
    if ((use & protocol::kViewEmpties) != 0) {
      found->is_pending = false;
      return {0, path};
    }
    opened_[found->original] = true;
    const Descriptor original(open(found->original.c_str(), O_RDONLY | O_CLOEXEC));
    if (original.get() < 0) return {errno, path};
    if (!writes && (found->status.st_size >= kLargeFile || is_elf(original.get()))) return {0, found->original};
    return {fill(at, *found), path};
  }
}

void FolderViews::note_made(std::uint64_t device, std::uint64_t inode) {
  Known made;
  made.number = kFirstMade + ++made_;
  known_[{device, inode}] = made;
}

void FolderViews::note_listed(std::uint64_t device, std::uint64_t inode) {
  const auto found = known_.find({device, inode});
  const auto met = found == known_.end() ? met_.end() : met_.find(found->second.original);
  if (met != met_.end()) met->second.is_listed = true;
}

void FolderViews::look(protocol::ViewedFile& file) {
  const Id id = {file.device, file.inode};
  if (!known_.contains(id)) note_made(file.device, file.inode);
  const Known& found = known_.at(id);
  constexpr std::int64_t kBlock = 4096, kSector = 512;
  file.has_original = !found.original.empty();
  file.links = 0;
  file.block_size = kBlock;
  file.blocks = (file.size + kBlock - 1) / kBlock * (kBlock / kSector);
  file.seen_size = file.size;
  file.user = file.group = 0;
  file.is_unchanged = 0;
  if (file.has_original == 0) {
    file.seen_device = device_;
    file.seen_inode = found.number;
    return;
  }
  const struct stat& status = found.status;
  file.seen_device = status.st_dev;
  file.seen_inode = status.st_ino;
  file.block_size = status.st_blksize;
  file.user = status.st_uid;
  file.group = status.st_gid;
  if (S_ISDIR(status.st_mode)) file.seen_size = status.st_size;
  if (S_ISDIR(status.st_mode)) file.blocks = status.st_blocks;
  const bool is_same_size = S_ISDIR(status.st_mode) || file.size == status.st_size;
  file.is_unchanged = is_same_size && file.modified_ns == ns_of(status.st_mtim);
  if (file.is_unchanged == 0) return;
  file.links = status.st_nlink;
  file.blocks = status.st_blocks;
  file.changed_ns = ns_of(status.st_ctim);
}

std::vector<std::string> FolderViews::drop_unchanged() {
  std::vector<std::string> left;
  for (std::size_t i = 0; i < originals_.size(); ++i) {
    const std::string root = place_ + "/" + std::to_string(i);
    if (has_root_[i] && !drop_unchanged_in(root)) left.push_back(root);
  }
  return left;
}

// Returns whether the folder is then empty.
bool FolderViews::drop_unchanged_in(const std::string& folder) {
  chmod(folder.c_str(), 0700);
  std::error_code error;
  std::vector<std::string> paths;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    paths.push_back(at->path().string());
  bool is_empty = true;
  for (const std::string& path : paths) {
    struct stat status;
    if (lstat(path.c_str(), &status) != 0) continue;
    const Known* const found = known(status);
    const bool has_original = found != nullptr && !found->original.empty();
    bool is_dropped = false;
    if (has_original && S_ISDIR(status.st_mode)) {
      is_dropped = drop_unchanged_in(path) && rmdir(path.c_str()) == 0;
    } else if (struct stat original; has_original && lstat(original_of(path).c_str(), &original) == 0 &&
                                     is_copy_of(path, original)) {
      const bool is_same = status.st_size == found->status.st_size && ns_of(status.st_mtim) == ns_of(found->status.st_mtim);
      is_dropped = is_same && unlink(path.c_str()) == 0;
    }
    is_empty = is_empty && is_dropped;
  }
  return is_empty;
}

FolderSnapshot FolderViews::snapshot() const {
  FolderSnapshot all;
  for (const auto& [path, entry] : met_) all.entries.push_back(entry);
  for (const auto& [path, is_opened] : opened_) all.opened.push_back(path);
  return all;
}

}  // namespace verbatim::supervisor
