#include "sim/core/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace verbatim {

namespace {

constexpr std::size_t kReadBytes = 16384;  // on the stack, which may be small

}  // namespace

std::string size_text(std::size_t bytes) {
  static constexpr const char* kUnits[] = {" KiB", " MiB", " GiB", " TiB"};
  std::size_t unit = 0;
  for (bytes /= 1024; bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits); bytes /= 1024) ++unit;
  return std::to_string(bytes) + kUnits[unit];
}

InputFile::InputFile(const std::string& path, Accepts accepts) {
  const bool accepts_pipes = accepts == Accepts::kRegularFilesAndPipes;
  struct stat status {};
  const bool is_pipe = accepts_pipes && ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | (is_pipe ? 0 : O_NONBLOCK));
  if (fd_ < 0) {
    is_missing_ = errno == ENOENT;
    problem_ = is_missing_ ? "there is no such file" : std::string("cannot be read: ") + std::strerror(errno);
    return;
  }
  const bool is_known = ::fstat(fd_, &status) == 0;
  is_folder_ = is_known && S_ISDIR(status.st_mode);
  if (is_folder_) {
    problem_ = "is a folder, not a file";
  } else if (!is_known || (!S_ISREG(status.st_mode) && !(is_pipe && S_ISFIFO(status.st_mode)))) {
    problem_ = accepts_pipes ? "is a device or a socket, not a file" : "is not a regular file";
  }
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

bool InputFile::fill() {
  if (!problem_.empty()) return false;
  char bytes[kReadBytes];
  ssize_t n = 0;
  do n = ::read(fd_, bytes, sizeof bytes);
  while (n < 0 && errno == EINTR);
  if (n < 0) problem_ = std::string("cannot be read: ") + std::strerror(errno);
  if (n <= 0) return false;
  buffer_.erase(0, std::exchange(at_, 0));
  buffer_.append(bytes, static_cast<std::size_t>(n));
  taken_ += static_cast<std::size_t>(n);
  return true;
}

std::string_view InputFile::peek(std::size_t bytes) {
  while (buffer_.size() - at_ < bytes && fill()) {
  }
  return std::string_view(buffer_).substr(at_, bytes);
}

std::optional<std::string> InputFile::rest(std::size_t most) {
  struct stat status {};
  const bool is_large = problem_.empty() && ::fstat(fd_, &status) == 0 && status.st_size > 0 &&
                        static_cast<std::size_t>(status.st_size) > most;
  while (!is_large && buffer_.size() - at_ <= most && fill()) {
  }
  if (problem_.empty() && (is_large || buffer_.size() - at_ > most)) problem_ = "is larger than " + size_text(most);
  if (!problem_.empty()) return std::nullopt;
  buffer_.erase(0, std::exchange(at_, 0));
  return std::exchange(buffer_, {});
}

std::optional<std::string_view> InputFile::line() {
  std::size_t searched = 0;  // bytes without a newline
  while (problem_.empty()) {
    const std::string_view left = std::string_view(buffer_).substr(at_);
    const std::size_t end = left.find('\n', searched);
    const std::size_t length = end == left.npos ? left.size() : end;
    if (length > kMostLine) {
      problem_ = "has a line longer than " + size_text(kMostLine);
    } else if (end != left.npos) {
      at_ += end + 1;
      return left.substr(0, end);
    } else if (taken_ > kMostText) {
      problem_ = "is larger than " + size_text(kMostText);
    } else {
      searched = length;
      if (fill() || !problem_.empty()) continue;
      if (left.empty()) return std::nullopt;
      at_ = buffer_.size();
      return std::string_view(buffer_).substr(buffer_.size() - length);
    }
  }
  return std::nullopt;
}

}  // namespace verbatim
