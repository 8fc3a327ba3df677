#include "sim/supervisor/machine/kept_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "sim/core/open_file.h"
#include "sim/supervisor/machine/file_copy.h"

namespace verbatim::supervisor {

namespace {

namespace fs = std::filesystem;

class Keeping {
 public:
  Keeping(const KeptLimits& limits, const std::function<bool()>& is_interrupted)
      : limits_(limits), is_interrupted_(is_interrupted) {}

  void keep(const fs::path& from, const fs::path& to) {
    struct stat is;
    if (lstat(from.c_str(), &is) != 0) return fail(from, errno);
    is_full_ = is_full_ || files_ == limits_.files;
    if (has_to_stop()) return;
    ++files_;
    if (S_ISDIR(is.st_mode)) return keep_folder(from, to, is);
    if (S_ISLNK(is.st_mode)) {
      std::error_code error;
      fs::create_symlink(fs::read_symlink(from, error), to, error);
      if (error) fail(to, error.value());
      return;
    }
    if (!S_ISREG(is.st_mode)) {
      if (++special_count_ <= kMostNamed) special_ += (special_count_ == 1 ? "" : ", ") + from.string();
      return;
    }
    if (is.st_nlink > 1) {
      const auto [known, is_new] = names_.try_emplace({is.st_dev, is.st_ino}, to);
      if (!is_new) {
        if (link(known->second.c_str(), to.c_str()) != 0) fail(to, errno);
        return;
      }
    }
    keep_data(from, to, is);
  }

  KeptFiles result() && {
    KeptFiles result;
    result.is_interrupted = was_interrupted_;
    if (was_interrupted_) result.failures.push_back("not all was kept: a signal ended the copying");
    if (is_full_)
      result.failures.push_back("not all was kept: there is more than " + std::to_string(limits_.bytes >> 20) + " MiB of data or " +
                                 std::to_string(limits_.files) + " files");
    if (special_count_ > kMostNamed) special_ += " and " + std::to_string(special_count_ - kMostNamed) + " more";
    if (special_count_ != 0) result.left_out = "not kept, since they are no files with data: " + special_;
    if (!failure_.empty()) result.failures.push_back("not all was kept: " + failure_);
    return result;
  }

 private:
  static constexpr std::uint64_t kMostNamed = 5;

  bool has_to_stop() {
    was_interrupted_ = was_interrupted_ || is_interrupted_();
    return was_interrupted_ || is_full_;
  }
  // Keeps only the first failure, for result().
  void fail(const fs::path& path, int error) {
    if (failure_.empty()) failure_ = path.string() + ": " + std::strerror(error);
  }

  void keep_folder(const fs::path& from, const fs::path& to, const struct stat& is) {
    if (mkdir(to.c_str(), 0700) != 0 && errno != EEXIST) return fail(to, errno);
    std::error_code error;
    std::vector<fs::path> names;
    for (fs::directory_iterator at(from, error), end; !error && at != end; at.increment(error))
      names.push_back(at->path().filename());
    if (error) fail(from, error.value());
    // Sorted, so that a limit leaves out the same files on every file system.
    std::ranges::sort(names);
    for (const fs::path& name : names) {
      if (has_to_stop()) break;
      keep(from / name, to / name);
    }
    chmod(to.c_str(), is.st_mode & 07777);
  }

  void keep_data(const fs::path& from, const fs::path& to, const struct stat& is) {
    const Descriptor source(open_file(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (source.get() < 0) return fail(from, errno);
    const Descriptor copy(open_file(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (copy.get() < 0 || ftruncate(copy.get(), is.st_size) != 0) return fail(to, errno);
    fchmod(copy.get(), is.st_mode & 07777);
    const int error = copy_data(source.get(), copy.get(), is.st_size, [this](std::uint64_t bytes) {
      bytes_ += bytes;
      is_full_ = is_full_ || bytes_ > limits_.bytes;
      return !has_to_stop();
    });
    if (error != 0 && error != ECANCELED) fail(to, error);
  }

  const KeptLimits limits_;
  const std::function<bool()>& is_interrupted_;
  std::map<std::pair<dev_t, ino_t>, fs::path> names_;  // copies of files with several hard links
  std::uint64_t bytes_ = 0, files_ = 0, special_count_ = 0;
  std::string special_, failure_;
  bool was_interrupted_ = false, is_full_ = false;
};

}  // namespace

KeptFiles keep_files(const std::string& from, const std::string& to, const KeptLimits& limits,
                     const std::function<bool()>& is_interrupted) {
  Keeping keeping(limits, is_interrupted);
  keeping.keep(from, to);
  return std::move(keeping).result();
}

}  // namespace verbatim::supervisor
