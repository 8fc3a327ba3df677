#include "sim/supervisor/code/code_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace verbatim::code {

const FileCode* CodeFiles::of(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) {
    close(fd);
    return nullptr;
  }
  const Key key{status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  if (const auto it = files_.find(key); it != files_.end()) {
    close(fd);
    return it->second.get();
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (bytes == MAP_FAILED) return nullptr;
  const std::span file(static_cast<const std::byte*>(bytes), size);
  std::unique_ptr<FileCode> code;
  if (const auto image = ElfImage::read(file)) {
    std::error_code error;
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    code = std::make_unique<FileCode>();
    code->path = error ? path : target.string();
    code->found = search_image(*image, file);
  }
  munmap(bytes, size);
  return (files_[key] = std::move(code)).get();
}

}  // namespace verbatim::code
