#include "sim/supervisor/machine/machine_files.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <system_error>
#include <utility>

#include "sim/supervisor/code/elf_tables.h"
#include "sim/supervisor/machine/file_times.h"
#include "sim/supervisor/machine/path_names.h"

namespace verbatim::supervisor {

namespace {

constexpr int kMostLinks = 40;  // the limit of Linux

const char* or_root(const std::string& path) { return path.empty() ? "/" : path.c_str(); }

MachineLook::Attributes attributes_of(const struct stat& status) {
  const auto shown = [](std::uint32_t id, std::uint32_t caller) { return id == caller ? 0 : id; };
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .links = status.st_nlink,
          .mode = status.st_mode,
          .user = shown(status.st_uid, geteuid()),
          .group = shown(status.st_gid, getegid()),
          .device_number = status.st_rdev,
          .size = status.st_size,
          .block_size = status.st_blksize,
          .blocks = status.st_blocks,
          .modified_ns = ns_of(status.st_mtim),
          .changed_ns = ns_of(status.st_ctim)};
}

struct stat status_of(const MachineLook::Attributes& attributes) {
  struct stat status {};
  status.st_dev = attributes.device;
  status.st_ino = attributes.inode;
  status.st_nlink = attributes.links;
  status.st_mode = attributes.mode;
  status.st_uid = attributes.user;
  status.st_gid = attributes.group;
  status.st_rdev = attributes.device_number;
  status.st_size = attributes.size;
  status.st_blksize = attributes.block_size;
  status.st_blocks = attributes.blocks;
  status.st_mtim = status.st_atim = time_of(attributes.modified_ns);
  status.st_ctim = time_of(attributes.changed_ns);
  return status;
}

class RealFiles : public MachineFiles {
 public:
  int status(const std::string& path, struct stat& status) override {
    return lstat(or_root(path), &status) == 0 ? 0 : errno;
  }
  int target(const std::string& path, std::string& target) override {
    char text[PATH_MAX];
    const ssize_t size = readlink(or_root(path), text, sizeof text);
    if (size < 0) return errno;
    target.assign(text, static_cast<std::size_t>(size));
    return 0;
  }
  int names(const std::string& path, std::vector<std::string>& names) override {
    DIR* const entries = opendir(or_root(path));
    if (entries == nullptr) return errno;
    while (const dirent* const entry = readdir(entries)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    closedir(entries);
    std::ranges::sort(names);
    return 0;
  }
  std::string content(const std::string& path) override { return path; }
  bool may_change(const std::string& path) override {
    return faccessat(AT_FDCWD, or_root(path), W_OK, AT_EACCESS) == 0 || errno != EACCES;
  }
  int access(const std::string& path, int mode) override { return ::access(path.c_str(), mode) == 0 ? 0 : errno; }
  std::string real_path(const std::string& path) override {
    char buffer[PATH_MAX];
    return realpath(path.c_str(), buffer) != nullptr ? buffer : path;
  }
};

// Copies the program at `from` to `to` with `loader` as its interpreter. The name is appended to the file and the
// PT_INTERP header leads the kernel there; the program's memory keeps the usual name. The copy appears as a whole:
// other processes use it as well. False: it has no interpreter, or the copy cannot be written.
bool copy_with_loader(const std::string& from, const std::string& to, const std::string& loader) {
  std::ifstream input(from, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(input), {}};
  Elf64_Ehdr header;
  if (!code::load(std::as_bytes(std::span(bytes)), 0, header)) return false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const std::uint64_t at = header.e_phoff + std::uint64_t{i} * sizeof(Elf64_Phdr);
    Elf64_Phdr segment;
    if (!code::load(std::as_bytes(std::span(bytes)), at, segment)) return false;
    if (segment.p_type != PT_INTERP) continue;
    segment.p_offset = bytes.size();
    segment.p_filesz = loader.size() + 1;
    const auto* const raw = reinterpret_cast<const char*>(&segment);
    std::copy(raw, raw + sizeof segment, bytes.begin() + static_cast<std::ptrdiff_t>(at));
    bytes.append(loader.c_str(), loader.size() + 1);
    const std::string part = to + ".part-" + std::to_string(getpid());
    std::ofstream(part, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    struct stat found;
    if (lstat(from.c_str(), &found) != 0) return false;
    const timespec times[2] = {found.st_mtim, found.st_mtim};
    utimensat(AT_FDCWD, part.c_str(), times, 0);
    std::error_code error;
    return std::filesystem::file_size(part, error) == bytes.size() && chmod(part.c_str(), 0700) == 0 &&
           rename(part.c_str(), to.c_str()) == 0;
  }
  return false;
}

}  // namespace

MachineFiles& real_files() {
  static RealFiles files;
  return files;
}

int MachineFiles::stat(const std::string& path, struct stat& status) { return this->status(real_path(path), status); }

int MachineFiles::access(const std::string& path, int mode) {
  struct stat found;
  if (const int error = stat(path, found); error != 0) return error;
  constexpr mode_t kAnyExecutes = S_IXUSR | S_IXGRP | S_IXOTH;
  return (mode & X_OK) != 0 && !S_ISDIR(found.st_mode) && (found.st_mode & kAnyExecutes) == 0 ? EACCES : 0;
}

std::string MachineFiles::real_path(const std::string& path) {
  std::vector<std::string> rest = parts_of(path);
  std::ranges::reverse(rest);
  std::string done;
  int links = 0;
  while (!rest.empty()) {
    const std::string part = std::move(rest.back());
    rest.pop_back();
    if (part == ".") continue;
    if (part == "..") {
      done = parent_of(done);
      continue;
    }
    const std::string at = done + "/" + part;
    struct stat found;
    if (status(at, found) != 0) return path;
    std::string link;
    if (!S_ISLNK(found.st_mode)) {
      done = at;
      continue;
    }
    if (++links > kMostLinks || target(at, link) != 0) return path;
    if (link.starts_with('/')) done.clear();
    std::vector<std::string> parts = parts_of(link);
    rest.insert(rest.end(), parts.rbegin(), parts.rend());
  }
  return done.empty() ? "/" : done;
}

MachineLook& RecordedFiles::look(const std::string& path) {
  const auto [at, is_new] = looks_.try_emplace(path == "/" ? "" : path);
  if (!is_new) return at->second;
  struct stat found;
  at->second.error = source_->status(path, found);
  if (at->second.error == 0) at->second.attributes = attributes_of(found);
  return at->second;
}

int RecordedFiles::status(const std::string& path, struct stat& status) {
  const MachineLook& found = look(path);
  if (found.error == 0) status = status_of(found.attributes);
  return found.error;
}

int RecordedFiles::target(const std::string& path, std::string& target) {
  MachineLook& found = look(path);
  if (found.error != 0) return found.error;
  if (const int error = source_->target(path, target); error != 0) return error;
  found.target = target;
  return 0;
}

int RecordedFiles::names(const std::string& path, std::vector<std::string>& names) {
  MachineLook& found = look(path);
  if (found.error != 0) return found.error;
  if (const int error = source_->names(path, names); error != 0) return error;
  found.names = names;
  return 0;
}

std::string RecordedFiles::content(const std::string& path) {
  MachineLook& found = look(path);
  if (found.error == 0 && S_ISREG(found.attributes.mode)) found.has_content = true;
  return source_->content(path);
}

bool RecordedFiles::may_change(const std::string& path) {
  MachineLook& found = look(path);
  found.may_change = source_->may_change(path);
  return found.may_change;
}

void add_looks(const MachineLooks& more, MachineLooks& looks) {
  for (const auto& [path, look] : more) {
    const auto [at, is_new] = looks.try_emplace(path, look);
    if (is_new) continue;
    MachineLook& known = at->second;
    if (known.target.empty()) known.target = look.target;
    if (!known.names) known.names = look.names;
    known.has_content |= look.has_content;
  }
}

FilesOfRecord::FilesOfRecord(MachineLooks looks, std::string folder, Fetch fetch)
    : looks_(std::move(looks)), folder_(std::move(folder)), fetch_(std::move(fetch)) {}

const MachineLook* FilesOfRecord::find(const std::string& path) {
  const std::string key = path == "/" ? "" : path;
  if (const auto found = looks_.find(key); found != looks_.end()) return &found->second;
  // Below a folder whose names are known, or below something that is no folder, the file is missing.
  std::string above = key;
  while (!above.empty()) {
    const std::string name = above.substr(above.rfind('/') + 1);
    above = parent_of(above);
    const auto folder = looks_.find(above);
    if (folder == looks_.end()) continue;
    const MachineLook& look = folder->second;
    if (look.error != 0 || !S_ISDIR(look.attributes.mode)) return nullptr;
    if (look.names && !std::ranges::binary_search(*look.names, name)) return nullptr;
    break;
  }
  miss(path);
  return nullptr;
}

int FilesOfRecord::status(const std::string& path, struct stat& status) {
  const MachineLook* const found = find(path);
  if (found == nullptr) return ENOENT;
  if (found->error == 0) status = status_of(found->attributes);
  return found->error;
}

int FilesOfRecord::target(const std::string& path, std::string& target) {
  const MachineLook* const found = find(path);
  if (found == nullptr || found->error != 0) return found == nullptr ? ENOENT : found->error;
  if (!S_ISLNK(found->attributes.mode)) return EINVAL;
  if (found->target.empty()) return miss(path), ENOENT;
  target = found->target;
  return 0;
}

int FilesOfRecord::names(const std::string& path, std::vector<std::string>& names) {
  const MachineLook* const found = find(path);
  if (found == nullptr || found->error != 0) return found == nullptr ? ENOENT : found->error;
  if (!S_ISDIR(found->attributes.mode)) return ENOTDIR;
  if (!found->names) return miss(path), ENOENT;
  names = *found->names;
  return 0;
}

std::string FilesOfRecord::content(const std::string& path) {
  const MachineLook* const found = find(path);
  const std::string native = folder_ + "/root" + path;
  if (found == nullptr || found->error != 0 || !S_ISREG(found->attributes.mode)) return native;
  if (!found->has_content) {
    miss(path);
  } else if (fetch_ && ::access(native.c_str(), F_OK) != 0) {
    const std::string failure = fetch_(path);
    if (damage_.empty()) damage_ = failure;
  }
  return native;
}

// The program is at `exec`, below its own name, so that a process has the name and the mappings of a direct start.
std::string FilesOfRecord::executable(const std::string& path, const std::string& native) {
  const std::string exec = folder_ + "/exec", of_record = folder_ + "/root";
  const bool is_of_record = is_below(native, of_record);
  const std::string name = is_of_record ? native.substr(of_record.size()) : path;
  // A program that the run has made is this process's own.
  const std::string base =
      is_of_record ? exec : folder_ + "/exec-" + std::to_string(getpid()) + "-" + std::to_string(made_.size());
  const std::string made = base + name;
  std::error_code error;
  if (::access(made.c_str(), F_OK) != 0) {
    std::filesystem::create_directories(parent_of(made), error);
    const std::string loader = content(real_path("/lib64/ld-linux-x86-64.so.2"));
    if (!copy_with_loader(native, made, loader)) return native;
    if (!is_of_record) made_[made] = name;
  }
  if (path == name) return made;
  const std::string link = exec + path;
  std::filesystem::create_directories(parent_of(link), error);
  return symlink(made.c_str(), link.c_str()) == 0 || errno == EEXIST ? link : made;
}

std::string FilesOfRecord::name_of(const std::string& native) const {
  if (const auto found = made_.find(native); found != made_.end()) return found->second;
  for (const std::string& root : roots()) {
    if (is_below(native, root)) return native.size() == root.size() ? "/" : native.substr(root.size());
  }
  return {};
}

bool FilesOverRoot::is_shown(const std::string& path) const {
  return std::ranges::any_of(shown_, [&](const std::string& one) { return is_below(path, one); });
}

std::string FilesOverRoot::next_name(const std::string& path, const std::string& shown) {
  const std::string folder = path == "/" ? "" : path;
  if (!is_below(shown, folder) || shown.size() <= folder.size()) return {};
  const std::size_t begin = folder.size() + 1;
  return shown.substr(begin, shown.find('/', begin) - begin);
}

// A folder above one of the machine's is the machine's unless the root has it.
int FilesOverRoot::status(const std::string& path, struct stat& status) {
  const bool leads_to_shown =
      std::ranges::any_of(shown_, [&](const std::string& one) { return !next_name(path, one).empty(); });
  if (!leads_to_shown) return of(path).status(path, status);
  const bool is_known = root_.unknown().empty();
  const int error = root_.status(path, status);
  if (error == 0 && S_ISDIR(status.st_mode)) return 0;
  if (is_known) root_.forget_unknown();
  return machine_.status(path, status);
}

int FilesOverRoot::names(const std::string& path, std::vector<std::string>& names) {
  if (is_shown(path)) return machine_.names(path, names);
  const bool is_known = root_.unknown().empty();
  const int error = root_.names(path, names);
  bool leads_to_shown = false;
  for (const std::string& one : shown_) {
    const std::string next = next_name(path, one);
    leads_to_shown |= !next.empty();
    if (!next.empty() && std::ranges::find(names, next) == names.end()) names.push_back(next);
  }
  std::ranges::sort(names);
  if (leads_to_shown && is_known) root_.forget_unknown();
  return leads_to_shown ? 0 : error;
}

bool FilesOfRecord::may_change(const std::string& path) {
  const MachineLook* const found = find(path);
  return found == nullptr || found->may_change;
}

}  // namespace verbatim::supervisor
