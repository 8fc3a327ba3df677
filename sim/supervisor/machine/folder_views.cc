#include "sim/supervisor/machine/folder_views.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "sim/core/open_file.h"
#include "sim/supervisor/machine/file_copy.h"
#include "sim/supervisor/machine/file_times.h"
#include "sim/supervisor/machine/path_names.h"
#include "sim/supervisor/machine/run_folder.h"

namespace verbatim::supervisor {

namespace {

constexpr std::int64_t kLargeFile = std::int64_t{16} << 20;  // bytes; larger files are not copied for reading
constexpr std::uint64_t kFirstMade = std::uint64_t{1} << 40;  // above the inode numbers of most file systems

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

FolderViews::FolderViews(std::string place, std::vector<std::string> originals, const FolderSnapshot* expected,
                         MachineFiles* all)
    : place_(std::move(place)), files_(all != nullptr ? *all : real_files()), views_all_(all != nullptr) {
  if (views_all_) originals = {""};
  std::ranges::sort(originals);
  for (std::string& original : originals) {
    const bool is_inside =
        std::ranges::any_of(originals_, [&](const std::string& outer) { return is_below(original, outer); });
    if ((original.size() > 1 || views_all_) && !is_inside) originals_.push_back(std::move(original));
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
    if (is_below(copy, root)) return copy.size() == root.size() && views_all_ ? "/" : originals_[i] + copy.substr(root.size());
  }
  return files_.name_of(copy);
}

FolderViews::Known* FolderViews::known(const struct stat& status) {
  const auto found = known_.find({status.st_dev, status.st_ino});
  return found == known_.end() ? nullptr : &found->second;
}

// The program may have replaced the copy by another file.
bool FolderViews::is_copy_of(const std::string& copy, const struct stat& original) {
  struct stat status;
  const Known* const found = lstat(copy.c_str(), &status) == 0 ? known(status) : nullptr;
  return found != nullptr && found->has_original() && found->status.st_dev == original.st_dev &&
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
  if (const int error = files_.status(original, status); error != 0) return error == ENOENT ? 0 : error;
  if (const auto found = expected_.find(original); found != expected_.end())
    status.st_mtim = time_of(found->second->modified_ns);
  if (device_ == 0) device_ = status.st_dev;
  const mode_t mode = status.st_mode & 07777;
  if (S_ISDIR(status.st_mode)) {
    if (mkdir(copy.c_str(), 0700) != 0) return errno;
  } else if (S_ISLNK(status.st_mode)) {
    std::string target;
    if (const int error = files_.target(original, target); error != 0) return error;
    if (symlink(target.c_str(), copy.c_str()) != 0) return errno;
  } else if (S_ISREG(status.st_mode)) {
    const Id id = {status.st_dev, status.st_ino};
    const auto first = status.st_nlink > 1 ? linked_.find(id) : linked_.end();
    if (first != linked_.end() && is_copy_of(first->second, status) && link(first->second.c_str(), copy.c_str()) == 0) {
      met_[original] = {original, "file", status.st_size, ns_of(status.st_mtim), "", false};
      return 0;
    }
    const Descriptor file(open_file(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
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
  Known& known = known_[{made.st_dev, made.st_ino}];
  known = {};
  known.original = original;
  known.status = status;
  known.is_pending = S_ISDIR(status.st_mode) || (S_ISREG(status.st_mode) && status.st_size > 0);
  met_[original] = {original, kind_of(status.st_mode), S_ISDIR(status.st_mode) ? 0 : status.st_size, ns_of(status.st_mtim), "",
                    false};
  return 0;
}

// Creates the entries `names` that were not created before. The folder keeps its mode and time. After an error
// the other entries are created.
int FolderViews::make_entries(const std::string& copy, const struct stat& status, Known& folder,
                              std::span<const std::string> names) {
  int error = 0;
  bool is_open = false;
  for (const std::string& name : names) {
    if (!folder.made.insert(name).second || is_run_folder(name)) continue;
    if (!is_open && (status.st_mode & 0300) != 0300) chmod(copy.c_str(), 0700);
    is_open = true;
    const int failed = make_entry(copy + "/" + name, folder.original + "/" + name);
    if (failed == 0 || failed == EEXIST) continue;
    folder.made.erase(name);  // for the next try
    if (error == 0) error = failed;
  }
  if (!is_open) return 0;
  if ((status.st_mode & 0300) != 0300) chmod(copy.c_str(), status.st_mode & 07777);
  set_time(copy, status.st_mtim);
  return error;
}

// Creates all entries of a folder.
int FolderViews::expand(const std::string& copy, const struct stat& status, Known& folder) {
  std::vector<std::string> names;
  if (const int error = files_.names(folder.original, names); error != 0) return error == ENOENT ? 0 : error;
  const int error = make_entries(copy, status, folder, names);
  if (error == 0) folder.is_pending = false;
  return error;
}

int FolderViews::fill(const std::string& copy, Known& file) {
  const Descriptor from(open_file(files_.content(file.original), O_RDONLY | O_CLOEXEC));
  if (from.get() < 0) return errno;
  struct stat status;
  if (stat(copy.c_str(), &status) != 0) return errno;
  const bool is_closed = (status.st_mode & S_IWUSR) == 0;
  if (is_closed) chmod(copy.c_str(), status.st_mode | S_IWUSR);
  int error = 0;
  {
    const Descriptor to(open_file(copy, O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
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
  const auto is_refused = [this](const Known* found) {
    return found != nullptr && found->has_original() && !files_.may_change(found->original);
  };
  const std::size_t root = place_.size() + 1 + std::to_string(view).size();
  for (std::size_t end = root;; end = path.find('/', end + 1)) {
    const bool is_last = end == std::string::npos || end + 1 >= path.size();
    const std::string at = path.substr(0, end);
    struct stat status;
    if (lstat(at.c_str(), &status) != 0) return {0, path};  // the kernel will report the error
    Known* const found = known(status);
    if (S_ISDIR(status.st_mode)) {
      if (found != nullptr && found->is_pending) {
        const std::string next = is_last ? "" : path.substr(end + 1, path.find('/', end + 1) - end - 1);
        const bool is_listed = is_last && (use & protocol::kViewLists) != 0;
        const int error = is_listed           ? expand(at, status, *found)
                          : !next.empty()     ? make_entries(at, status, *found, std::span(&next, 1))
                                              : 0;
        if (error != 0) return {error, path};
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
    const std::string content = files_.content(found->original);
    const Descriptor original(open_file(content, O_RDONLY | O_CLOEXEC));
    if (original.get() < 0) return {errno, path};
    if (!writes && (found->status.st_size >= kLargeFile || is_elf(original.get()))) {
      if (content != found->original) note_in_place(original.get(), *found);
      return {0, content};
    }
    return {fill(at, *found), path};
  }
}

// The attributes of a file used in place are those of `original`.
void FolderViews::note_in_place(int file, const Known& original) {
  struct stat used;
  if (fstat(file, &used) != 0) return;
  Known& in_place = known_[{used.st_dev, used.st_ino}];
  in_place.original = original.original;
  in_place.status = original.status;
  in_place.is_in_place = true;
}

std::string FolderViews::executable(const std::string& seen, const std::string& native) {
  const std::string program = files_.executable(seen, native);
  struct stat status;
  const Known* const found = program != native && lstat(native.c_str(), &status) == 0 ? known(status) : nullptr;
  if (found == nullptr) return program;
  const Descriptor file(open_file(program, O_RDONLY | O_CLOEXEC));
  if (file.get() >= 0) note_in_place(file.get(), Known(*found));
  return program;
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
  file.has_original = found.has_original();
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
  if (S_ISDIR(status.st_mode) || found.is_in_place) {
    file.seen_size = status.st_size;
    file.blocks = status.st_blocks;
  }
  const bool is_same_size = S_ISDIR(status.st_mode) || file.size == status.st_size;
  file.is_unchanged = found.is_in_place || (is_same_size && file.modified_ns == ns_of(status.st_mtim));
  if (file.is_unchanged == 0) return;
  file.links = status.st_nlink;
  file.blocks = status.st_blocks;
  file.changed_ns = ns_of(status.st_ctim);
}

std::vector<std::string> FolderViews::drop_unchanged() {
  make_links_of_changed_files();
  std::vector<std::string> left;
  for (std::size_t i = 0; i < originals_.size(); ++i) {
    const std::string root = place_ + "/" + std::to_string(i);
    if (has_root_[i] && !drop_unchanged_in(root)) left.push_back(root);
  }
  return left;
}

// Other names of a changed file are changed as well, also those that no path has led to.
void FolderViews::make_links_of_changed_files() {
  struct stat status;
  const bool has_changed = std::ranges::any_of(linked_, [&](const auto& linked) {
    if (lstat(linked.second.c_str(), &status) != 0) return true;
    const Known* const found = known(status);
    return found == nullptr || status.st_size != found->status.st_size || ns_of(status.st_mtim) != ns_of(found->status.st_mtim);
  });
  if (!has_changed) return;
  std::vector<std::string> entered;
  for (const auto& [id, folder] : known_) {
    if (folder.is_pending && !folder.made.empty()) entered.push_back(folder.original);
  }
  for (const std::string& original : entered) {
    const std::string copy = copy_of(original);
    if (lstat(copy.c_str(), &status) != 0) continue;
    if (Known* const folder = known(status); folder != nullptr && folder->is_pending) expand(copy, status, *folder);
  }
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
    const bool has_original = found != nullptr && found->has_original();
    bool is_dropped = false;
    if (has_original && S_ISDIR(status.st_mode)) {
      is_dropped = drop_unchanged_in(path) && rmdir(path.c_str()) == 0;
    } else if (struct stat original; has_original && files_.status(original_of(path), original) == 0 &&
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
