#include "sim/observe/folder_content.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "sim/core/check.h"
#include "sim/core/open_file.h"

namespace verbatim::observe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlock = 4096;

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

// Hashes the blocks that are not all zeros, each with its offset. A hole and written zeros therefore have the
// same hash on every file system, and a large sparse file takes little time.
std::optional<XXH128_hash_t> content_hash(int fd) {
  const std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  CHECK(state != nullptr && XXH3_128bits_reset(state.get()) == XXH_OK);
  static constexpr std::array<char, kBlock> kZeros{};
  std::array<char, 64 * kBlock> buffer;
  off_t at = 0;
  while (true) {
    const off_t data = ::lseek(fd, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // only a hole follows
    // If the file system does not report holes, everything is read.
    if (data >= 0) at = data / static_cast<off_t>(kBlock) * static_cast<off_t>(kBlock);
    std::size_t got = 0;
    while (got < buffer.size()) {
      const ssize_t n = ::pread(fd, buffer.data() + got, buffer.size() - got, at + static_cast<off_t>(got));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return std::nullopt;
      if (n == 0) break;
      got += static_cast<std::size_t>(n);
    }
    if (got == 0) break;
    for (std::size_t from = 0; from < got; from += kBlock) {
      const std::size_t length = std::min(kBlock, got - from);
      if (std::memcmp(buffer.data() + from, kZeros.data(), length) == 0) continue;
      const std::uint64_t place = static_cast<std::uint64_t>(at) + from;
      XXH3_128bits_update(state.get(), &place, sizeof(place));
      XXH3_128bits_update(state.get(), buffer.data() + from, length);
    }
    at += static_cast<off_t>(got);
  }
  return XXH3_128bits_digest(state.get());
}

std::string sentence(const std::string& path, int error) {
  return path + " cannot be read: " + std::strerror(error) + "; its content is not part of the digest";
}

// Opens a file or folder for reading even if its permissions forbid that to its owner: a program's root could
// read it.
class Opened {
 public:
  explicit Opened(const std::string& path) : path_(path) {
    struct stat status;
    if (::lstat(path.c_str(), &status) != 0 || (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))) return;
    const mode_t wanted = S_ISDIR(status.st_mode) ? S_IRUSR | S_IXUSR : S_IRUSR;
    constexpr mode_t kPermissions = 07777;
    if ((status.st_mode & wanted) == wanted) return;
    before_ = status.st_mode & kPermissions;
    changed_ = ::chmod(path.c_str(), before_ | wanted) == 0;
  }
  ~Opened() {
    if (changed_) ::chmod(path_.c_str(), before_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

 private:
  std::string path_;
  mode_t before_ = 0;
  bool changed_ = false;
};

struct Content {
  std::uint64_t length = 0;
  XXH128_hash_t hash{};
};

// Sets `error` to an errno if it could not be read.
Content content_of(const std::string& path, const struct stat& status, int& error) {
  Content content;
  const Opened opened(path);
  if (S_ISLNK(status.st_mode)) {
    std::error_code failed;
    const std::string target = fs::read_symlink(path, failed).string();
    error = failed.value();
    content.length = target.size();
    content.hash = XXH3_128bits(target.data(), target.size());
  } else if (S_ISREG(status.st_mode)) {
    content.length = static_cast<std::uint64_t>(status.st_size);
    const int fd = open_file(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    const auto hash = fd < 0 ? std::nullopt : content_hash(fd);
    if (!hash) error = errno;
    if (fd >= 0) ::close(fd);
    if (hash) content.hash = *hash;
  }
  return content;
}

void walk(Tracer& tracer, ComponentId component, const std::string& folder, const std::string& below,
          const std::set<std::string>& known, std::vector<std::string>& failures) {
  std::vector<std::string> names;
  std::error_code failed;
  const Opened opened(folder + below);
  for (fs::directory_iterator it(folder + below, failed), end; !failed && it != end; it.increment(failed)) {
    names.push_back(it->path().filename().string());
  }
  if (failed && failed.value() != ENOENT) failures.push_back(sentence(folder + below, failed.value()));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string path = below + "/" + name;
    struct stat status;
    if (::lstat((folder + path).c_str(), &status) != 0) {
      failures.push_back(sentence(folder + path, errno));
      continue;
    }
    int error = 0;
    const Content content = content_of(folder + path, status, error);
    if (error != 0) failures.push_back(sentence(folder + path, error));
    if (!S_ISDIR(status.st_mode) || !known.contains(path)) {
      tracer.record(component, TraceEvent::kFile, status.st_mode & S_IFMT, content.length, content.hash.high64,
                    content.hash.low64, std::as_bytes(std::span(path)));
    }
    if (S_ISDIR(status.st_mode)) walk(tracer, component, folder, path, known, failures);
  }
}

}  // namespace

std::vector<std::string> record_folder(Tracer& tracer, ComponentId component, const std::string& folder,
                                       const std::set<std::string>& known) {
  std::vector<std::string> failures;
  walk(tracer, component, folder, "", known, failures);
  return failures;
}

std::string content_digest(const std::string& path) {
  const int fd = open_file(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return "";
  struct stat status {};
  const bool is_file = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);  // a device may have endless content
  const auto hash = is_file ? content_hash(fd) : std::nullopt;
  ::close(fd);
  if (!hash) return "";
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash->high64),
                static_cast<unsigned long long>(hash->low64));
  return text;
}

}  // namespace verbatim::observe
