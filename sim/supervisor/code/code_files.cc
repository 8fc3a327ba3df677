#include "sim/supervisor/code/code_files.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <system_error>
#include <utility>

#include "sim/core/open_file.h"

namespace verbatim::code {

namespace {

// Applies `search` to a file's bytes; nullopt: no ELF file.
template <class Result>
auto in_image(Result (*search)(const ElfImage&, std::span<const std::byte>)) {
  return [search](std::span<const std::byte> file) -> std::optional<Result> {
    const auto image = ElfImage::read(file);
    return image ? std::optional(search(*image, file)) : std::nullopt;
  };
}

}  // namespace

// An open file, mapped when its code is needed.
class CodeFiles::File {
 public:
  explicit File(const std::string& path) : fd_(open_file(path, O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0 || fstat(fd_, &status_) != 0 || !S_ISREG(status_.st_mode) || status_.st_size <= 0) return;
    size_ = static_cast<std::size_t>(status_.st_size);
    key_ = key_of(status_);
  }
  File(File&& from) noexcept : fd_(std::exchange(from.fd_, -1)), status_(from.status_), size_(from.size_), key_(from.key_) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }

  static Key key_of(const struct stat& status) {
    return {status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  }
  bool usable() const { return size_ > 0; }
  const Key& key() const { return key_; }
  Found search() const { return look_with<SearchResult>(in_image(search_image)); }
  // nullopt: not in the table.
  Found look_up(const CodeTable& table) const {
    if (!table.has_one_of_size(size_)) return std::nullopt;
    if (Found known = table.find(status_)) return known;
    return look_with<SearchResult>([&](std::span<const std::byte> file) { return table.find(file); });
  }
  template <class Result, class Look>
  std::optional<Result> look_with(Look look) const {
    void* const bytes = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd_, 0);
    if (bytes == MAP_FAILED) return std::nullopt;
    std::optional<Result> found = look(std::span(static_cast<const std::byte*>(bytes), size_));
    munmap(bytes, size_);
    return found;
  }

 private:
  int fd_;
  struct stat status_ {};
  std::size_t size_ = 0;
  Key key_;
};

// A file that is searched once: by the searcher, or by of() if the searcher has not begun.
struct CodeFiles::Ahead {
  explicit Ahead(File of) : file(std::move(of)) {}

  void search() {
    if (!begun.exchange(true)) found.set_value(file.search());
  }

  File file;
  std::atomic<bool> begun = false;
  std::promise<Found> found;
};

CodeFiles::CodeFiles() = default;
CodeFiles::~CodeFiles() = default;

const FileCode* CodeFiles::of(const std::string& path) {
  const FileCode* const file = find(path);
  if (file != nullptr) asked_for_.insert(file->path);
  return file;
}

std::vector<std::byte> read_part(const FileCode& file, std::uint64_t offset, std::uint64_t length) {
  std::ifstream stream(file.path, std::ios::binary);
  std::vector<std::byte> bytes(length);
  stream.seekg(static_cast<std::streamoff>(offset));
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(length));
  return stream ? bytes : std::vector<std::byte>();
}

const FileCode* CodeFiles::find(const std::string& path) {
  struct stat status {};  // a file that has been searched need not be opened
  const auto searched = stat(path.c_str(), &status) == 0 ? files_.find(File::key_of(status)) : files_.end();
  if (searched != files_.end()) return searched->second.get();
  const File file(path);
  if (!file.usable()) return nullptr;
  if (const auto it = files_.find(file.key()); it != files_.end()) return it->second.get();
  Found found;
  if (const auto ahead = ahead_.find(file.key()); ahead != ahead_.end()) {
    ahead->second->search();
    found = ahead->second->found.get_future().get();
  } else if (found = file.look_up(table_); !found) {
    found = file.search();
  }
  std::unique_ptr<FileCode> code;
  if (found) {
    std::error_code error;
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    code = std::make_unique<FileCode>(FileCode{error ? path : target.string(), std::move(*found)});
  }
  return (files_[file.key()] = std::move(code)).get();
}

// The path may lead to another file by now; the result is then empty.
template <class Result>
Result CodeFiles::look_again(const FileCode& file, Result (*search)(const ElfImage&, std::span<const std::byte>)) const {
  const File opened(file.path);
  const auto it = opened.usable() ? files_.find(opened.key()) : files_.end();
  const bool is_same = it != files_.end() && it->second.get() == &file;
  return is_same ? opened.look_with<Result>(in_image(search)).value_or(Result{}) : Result{};
}

const std::vector<CallSite>* CodeFiles::calls_of(const FileCode& file, std::uint64_t traps) {
  Calls& calls = calls_[&file];
  if (!calls.found) {
    calls.traps += std::min(traps, kTrapsWorthSearch);
    if (calls.traps < kTrapsWorthSearch) return nullptr;
    calls.found = look_again(file, search_calls);
  }
  return &*calls.found;
}

const std::vector<AccessSite>& CodeFiles::accesses_of(const FileCode& file) {
  const auto [it, is_new] = accesses_.try_emplace(&file);
  if (is_new) it->second = look_again(file, search_accesses);
  return it->second;
}

void CodeFiles::begin_run() {
  asked_for_.clear();
  for (auto& [file, calls] : calls_) calls.traps = 0;
}

std::vector<std::string> CodeFiles::paths() const { return {asked_for_.begin(), asked_for_.end()}; }

void CodeFiles::search_ahead(const std::vector<std::string>& paths, int busy_core) {
  cpu_set_t others;
  if (sched_getaffinity(0, sizeof others, &others) != 0) return;
  CPU_CLR(static_cast<std::size_t>(busy_core), &others);
  if (CPU_COUNT(&others) == 0) return;
  std::vector<std::shared_ptr<Ahead>> work;
  for (const std::string& path : paths) {
    File file(path);
    if (!file.usable() || ahead_.contains(file.key()) || files_.contains(file.key())) continue;
    const Key key = file.key();
    const auto& ahead = ahead_[key] = std::make_shared<Ahead>(std::move(file));
    if (Found known = ahead->file.look_up(table_)) {
      ahead->begun = true;
      ahead->found.set_value(std::move(known));
    } else {
      work.push_back(ahead);
    }
  }
  if (work.empty()) return;
  // Signals are for the simulator's main thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    searcher_ = std::jthread([work = std::move(work), others] {
      sched_setaffinity(0, sizeof others, &others);
      for (const auto& ahead : work) ahead->search();
    });
  } catch (const std::system_error&) {
    ahead_.clear();  // no thread could be created
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace verbatim::code
