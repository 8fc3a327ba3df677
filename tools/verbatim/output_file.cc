#include "tools/verbatim/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "sim/config/words.h"
#include "tools/verbatim/cli.h"
#include "tools/verbatim/interrupted.h"

namespace verbatim::cli {

namespace {

namespace fs = std::filesystem;
using config::in_quotes;

struct Input {
  dev_t device;
  ino_t inode;
  std::string path;
};

std::vector<Input>& inputs() {
  static std::vector<Input> all;
  return all;
}

const Input* input_at(const struct stat& file) {
  for (const Input& input : inputs()) {
    if (input.device != file.st_dev || input.inode != file.st_ino) continue;
    // An inode number may be reused after the file is deleted.
    struct stat now;
    if (::stat(input.path.c_str(), &now) == 0 && now.st_dev == file.st_dev && now.st_ino == file.st_ino) return &input;
  }
  return nullptr;
}

std::string cannot_write(const std::string& path, int error) { return "cannot write " + in_quotes(path) + ": " + std::strerror(error); }

// The descriptor that a path names, among those inherited by this process: programs inherit none of its own.
std::optional<int> descriptor_of(std::string_view path) {
  if (path == "-" || path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    int number = -1;
    const auto parsed = std::from_chars(path.data() + folder.size(), path.data() + path.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != path.data() + path.size()) return std::nullopt;
    const int flags = ::fcntl(number, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) return number;
  }
  return std::nullopt;
}

struct Target {
  std::optional<int> descriptor;  // to write to, if the path names a descriptor
  std::string path;               // after following all symbolic links
  std::optional<struct stat> old;  // the existing file
  std::string refusal;            // a sentence; empty: the file may be written
  bool is_regular() const { return !descriptor && (!old || S_ISREG(old->st_mode)); }
};

// Follows symbolic links to a target that does not exist.
std::string behind_links(std::string path) {
  constexpr int kMostLinks = 40;  // Linux' limit
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(path, error)); ++i) {
    const fs::path next = fs::read_symlink(path, error);
    if (error) break;
    path = next.is_absolute() ? next.string() : (fs::path(path).parent_path() / next).string();
  }
  return path;
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Target target_of(const std::string& path) {
  Target target;
  target.path = path;
  target.descriptor = descriptor_of(path);
  if (target.descriptor) {
    if (::fcntl(*target.descriptor, F_GETFD) < 0) target.refusal = cannot_write(path, errno);
    return target;
  }
  struct stat file;
  if (::stat(path.c_str(), &file) != 0) {
    if (errno != ENOENT) {
      target.refusal = cannot_write(path, errno);
      return target;
    }
    target.path = behind_links(path);
    const std::string folder = folder_of(target.path);
    if (path.empty() || target.path.ends_with('/')) target.refusal = cannot_write(path, path.empty() ? ENOENT : EISDIR);
    else if (::stat(folder.c_str(), &file) != 0) target.refusal = cannot_write(path, errno) + " (folder " + in_quotes(folder) + ")";
    else if (::access(folder.c_str(), W_OK | X_OK) != 0) target.refusal = cannot_write(path, errno) + " (folder " + in_quotes(folder) + ")";
    return target;
  }
  target.old = file;
  if (S_ISDIR(file.st_mode)) {
    target.refusal = "cannot write " + in_quotes(path) + ": it is a folder";
  } else if (S_ISSOCK(file.st_mode)) {
    target.refusal = "cannot write " + in_quotes(path) + ": it is a socket";
  } else if (const Input* input = input_at(file)) {
    target.refusal = "cannot write " + in_quotes(path) + ": this command reads " +
                     (input->path == path ? "that file" : "the same file as " + in_quotes(input->path)) + "; name another";
  } else if (::access(path.c_str(), W_OK) != 0) {
    target.refusal = cannot_write(path, errno);
  } else if (S_ISREG(file.st_mode)) {
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    if (!error) target.path = real.string();
  }
  return target;
}

// The errno of the first failed write, else 0.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

// -1 and errno on failure.
int open_in_place(const Target& target, OutputStream::From from) {
  if (target.descriptor) return ::fcntl(*target.descriptor, F_DUPFD_CLOEXEC, 3);
  const int how = from == OutputStream::From::kEnd ? O_APPEND : O_TRUNC;
  return ::open(target.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | (target.is_regular() ? O_CREAT | how : 0), 0666);
}

// Writes a document to a descriptor; returns "" or a sentence.
using Writer = std::function<std::string(int descriptor)>;

std::string write_in_place(const Target& target, const std::string& path, const Writer& write) {
  // If both have the same destination, earlier output must precede.
  if (target.descriptor) flush_standard_output();
  const int descriptor = open_in_place(target, OutputStream::From::kStart);
  if (descriptor < 0) return cannot_write(path, errno);
  const std::string failure = write(descriptor);
  return ::close(descriptor) != 0 && failure.empty() ? cannot_write(path, errno) : failure;
}

// Creates a file in the folder of `target` with default permissions, and stores its path, which is removed
// after an interruption. -1 and errno on failure.
int open_beside(const std::string& target, std::string& path, std::optional<TemporaryPath>& temporary) {
  for (int i = 0;; ++i) {
    path = folder_of(target) + "/.verbatim-" + std::to_string(::getpid()) + "-" + std::to_string(i);
    temporary.emplace(path);
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
}

// Whether the new file can replace the old one.
bool takes_over(int descriptor, const std::optional<struct stat>& old) {
  if (!old) return true;
  struct stat made;
  if (::fstat(descriptor, &made) != 0) return false;
  const bool has_owner = made.st_uid == old->st_uid && made.st_gid == old->st_gid;
  return (has_owner || ::fchown(descriptor, old->st_uid, old->st_gid) == 0) && ::fchmod(descriptor, old->st_mode & 07777) == 0;
}

}  // namespace

void protect_input(const std::string& path) {
  struct stat file;
  if (::stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode) || input_at(file) != nullptr) return;
  inputs().push_back({file.st_dev, file.st_ino, path});
}

int flush_standard_output() {
  static int error = 0;
  if (std::fflush(stdout) != 0 && error == 0) error = errno;
  return error;
}

std::string output_refusal(const std::string& path) { return target_of(path).refusal; }

bool can_write(const std::string& path) {
  const std::string refusal = path.empty() ? "" : output_refusal(path);
  if (!refusal.empty()) complain(refusal);
  return refusal.empty();
}

bool is_standard_output(const std::string& path) { return descriptor_of(path) == STDOUT_FILENO; }

std::string write_document(const std::string& path, std::string_view text) {
  return write_document(path, [&](int descriptor) {
    const int error = write_all(descriptor, text);
    return error == 0 ? "" : cannot_write(path, error);
  });
}

std::string write_document(const std::string& path, const std::function<std::string(int descriptor)>& write) {
  const Target target = target_of(path);
  if (!target.refusal.empty()) return target.refusal;
  const bool has_other_names = target.old && target.old->st_nlink > 1;
  std::string beside;
  std::optional<TemporaryPath> temporary;
  const int descriptor = target.is_regular() && !has_other_names ? open_beside(target.path, beside, temporary) : -1;
  if (descriptor < 0 && target.is_regular() && !has_other_names) {
    // If the folder is not writable, the file itself may be. If the disk is full, the file keeps its content.
    const bool has_no_right = errno == EACCES || errno == EPERM;
    if (!target.old || !has_no_right) return cannot_write(path, errno);
  }
  if (descriptor >= 0 && !takes_over(descriptor, target.old)) {
    ::close(descriptor);
    ::unlink(beside.c_str());
  } else if (descriptor >= 0) {
    std::string failure = write(descriptor);
    if (::close(descriptor) != 0 && failure.empty()) failure = cannot_write(path, errno);
    if (failure.empty() && ::rename(beside.c_str(), target.path.c_str()) != 0) failure = cannot_write(path, errno);
    if (!failure.empty()) ::unlink(beside.c_str());
    return failure;
  }
  return write_in_place(target, path, write);
}

ssize_t OutputStream::write(void* stream, const char* bytes, std::size_t size) {
  OutputStream& own = *static_cast<OutputStream*>(stream);
  const int error = write_all(own.descriptor_, {bytes, size});
  if (error != 0 && own.error_ == 0) own.error_ = error;
  return error == 0 ? static_cast<ssize_t>(size) : 0;
}

std::string OutputStream::open(const std::string& path, From from) {
  path_ = path;
  error_ = 0;
  const Target target = target_of(path);
  if (!target.refusal.empty()) return target.refusal;
  if (target.descriptor == STDOUT_FILENO) flush_standard_output();
  descriptor_ = open_in_place(target, from);
  if (descriptor_ < 0) return cannot_write(path, errno);
  file_ = ::fopencookie(this, "w", {nullptr, &OutputStream::write, nullptr, nullptr});
  if (file_ != nullptr) return "";
  const int error = errno;
  ::close(std::exchange(descriptor_, -1));
  return cannot_write(path, error);
}

std::string OutputStream::close() {
  if (file_ == nullptr) return "";
  std::fclose(std::exchange(file_, nullptr));
  if (::close(std::exchange(descriptor_, -1)) != 0 && error_ == 0) error_ = errno;
  return error_ == 0 ? "" : in_quotes(path_) + " is not complete: " + std::strerror(error_);
}

}  // namespace verbatim::cli
