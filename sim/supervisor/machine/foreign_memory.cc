#include "sim/supervisor/machine/foreign_memory.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>

#include "sim/core/open_file.h"

namespace verbatim::supervisor {

namespace {

constexpr std::uint64_t kIsShared = 8;  // PROCMAP_QUERY_VMA_SHARED

std::uint64_t device_number(std::uint64_t major, std::uint64_t minor) { return major << 32 | minor; }

std::string path_of(pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

// Called after a file of /proc/PID could not be opened. A machine without descriptors or memory must not look like
// unmapped memory, which the program would get as EFAULT.
void throw_if_refused(pid_t pid) {
  const int error = errno;
  const bool is_gone = error == ENOENT || error == ESRCH, is_forbidden = error == EACCES || error == EPERM;
  if (!is_gone && !is_forbidden)
    throw std::system_error(error, std::generic_category(), "cannot access the memory of process " + std::to_string(pid));
}

}  // namespace

// PROCMAP_QUERY of linux/fs.h (Linux 6.11), which older headers lack.
struct ForeignMemory::MapsQuery {
  std::uint64_t size, flags, address;
  std::uint64_t start, end, mapping_flags, page_size, offset, inode;
  std::uint32_t device_major, device_minor, name_size, build_id_size;
  std::uint64_t name, build_id;
};

int ForeignMemory::ProcessFile::open(pid_t pid) {
  if (fd_ < 0) fd_ = open_file(path_of(pid, name_), flags_ | O_CLOEXEC);
  if (fd_ < 0) throw_if_refused(pid);
  return fd_;
}

void ForeignMemory::ProcessFile::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

ForeignMemory::ForeignMemory(pid_t pid)
    : pid_(pid), memory_("mem", O_RDWR), maps_("maps", O_RDONLY), page_map_("pagemap", O_RDONLY) {}

std::int64_t ForeignMemory::judged(std::int64_t answer) {
  if (answer >= 0) return answer;
  if (errno == EPERM || errno == ENOSYS) has_calls_ = false;
  return errno == EFAULT || errno == ESRCH ? 0 : -1;
}

template <class Call>
std::size_t ForeignMemory::by_call(Call call, std::span<const spin::MemoryRange>& places, std::byte* local) {
  constexpr std::size_t kMost = 64;
  std::size_t done = 0;
  while (has_calls_ && !places.empty()) {
    iovec remote[kMost];
    const std::size_t n = std::min(kMost, places.size());
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < n; ++i) {
      remote[i] = {reinterpret_cast<void*>(places[i].address), places[i].length};
      bytes += places[i].length;
    }
    const iovec here{local + done, bytes};
    const std::int64_t copied = judged(call(pid_, &here, 1, remote, n, 0));
    if (copied < 0) break;
    done += static_cast<std::size_t>(copied);
    places = static_cast<std::size_t>(copied) == bytes ? places.subspan(n) : places.last(0);
  }
  return done;
}

std::size_t ForeignMemory::read(std::span<const spin::MemoryRange> from, std::byte* to) {
  const std::size_t done = by_call(process_vm_readv, from, to);
  return from.empty() ? done : done + read_by_file(from, to + done);
}

std::size_t ForeignMemory::read_by_file(std::span<const spin::MemoryRange> from, std::byte* to) {
  std::size_t done = 0;
  for (const spin::MemoryRange& range : from) {
    const std::uint64_t length = permitted(range.address, range.length, kRead);
    const std::size_t copied = length == 0 ? 0 : by_file(memory_, [&](int fd) {
      return pread(fd, to + done, length, static_cast<off_t>(range.address));
    });
    done += copied;
    if (copied != range.length) break;
  }
  return done;
}

std::size_t ForeignMemory::write(host::ProgramAddress to, std::span<const std::byte> from) {
  if (has_calls_) {
    const iovec local{const_cast<std::byte*>(from.data()), from.size()};
    const iovec remote{reinterpret_cast<void*>(to), from.size()};
    const std::int64_t copied = judged(process_vm_writev(pid_, &local, 1, &remote, 1, 0));
    if (copied >= 0) return static_cast<std::size_t>(copied);
  }
  return write_anyway(to, from.first(permitted(to, from.size(), kWrite)));
}

std::size_t ForeignMemory::write(std::span<const spin::MemoryRange> to, std::span<const std::byte> from) {
  std::size_t done = by_call(process_vm_writev, to, const_cast<std::byte*>(from.data()));
  for (const spin::MemoryRange& place : to) {
    const std::size_t copied = write(place.address, from.subspan(done, place.length));
    done += copied;
    if (copied != place.length) break;
  }
  return done;
}

std::size_t ForeignMemory::write_anyway(host::ProgramAddress to, std::span<const std::byte> from) {
  if (from.empty()) return 0;
  return by_file(memory_, [&](int fd) { return pwrite(fd, from.data(), from.size(), static_cast<off_t>(to)); });
}

template <class Transfer>
std::size_t ForeignMemory::by_file(ProcessFile& file, Transfer transfer) {
  for (int tries = 0; tries < 2; ++tries) {
    const int fd = file.open(pid_);
    const ssize_t n = fd < 0 ? -1 : transfer(fd);
    if (n != 0) return n > 0 ? static_cast<std::size_t>(n) : 0;
    file.close();  // the process has executed another program since the file was opened
  }
  return 0;
}

std::uint64_t ForeignMemory::private_pages(std::uint64_t first, std::uint64_t count) {
  // 64 bits per page (Linux, admin-guide/mm/pagemap): bit 63 present, bit 61 file page or shared.
  constexpr std::uint64_t kPresent = 1ull << 63, kShared = 1ull << 61;
  constexpr std::size_t kMost = 64;
  std::uint64_t entries[kMost], found = 0;
  while (found < count) {
    const std::size_t pages = std::min<std::uint64_t>(count - found, kMost), bytes = pages * sizeof *entries;
    const auto place = static_cast<off_t>((first + found) * sizeof *entries);
    const std::size_t n = by_file(page_map_, [&](int fd) { return pread(fd, entries, bytes, place); });
    const auto is_private = [](std::uint64_t entry) { return (entry & (kPresent | kShared)) == kPresent; };
    const std::span read = std::span(entries).first(n / sizeof *entries);
    const auto other = std::ranges::find_if_not(read, is_private);
    found += static_cast<std::uint64_t>(other - read.begin());
    if (other != read.end() || n != bytes) break;
  }
  return found;
}

std::uint64_t ForeignMemory::permitted(host::ProgramAddress from, std::uint64_t most, unsigned rights) {
  std::uint64_t length = 0;
  while (length < most) {
    const auto mapping = mapping_at(from + length);
    if (!mapping || (mapping->rights & rights) != rights) break;
    length = std::min(most, mapping->end - from);
  }
  return length;
}

bool ForeignMemory::ask(MapsQuery& query) {
  static_assert(sizeof(MapsQuery) == 104);
  constexpr unsigned long kMapsQuery = _IOWR('f', 17, MapsQuery);
  query.size = sizeof query;
  for (int tries = 0; tries < 2; ++tries) {
    const int fd = maps_.open(pid_);
    if (fd < 0) return false;
    if (ioctl(fd, kMapsQuery, &query) == 0) return true;
    if (errno == ENOTTY) has_queries_ = false;
    if (errno != ESRCH) return false;
    maps_.close();  // the process has executed another program since the file was opened
  }
  return false;
}

std::optional<ForeignMapping> ForeignMemory::mapping_at(host::ProgramAddress address) {
  if (has_queries_) {
    MapsQuery query{.address = address};
    if (ask(query)) {
      return ForeignMapping{query.start, query.end, static_cast<unsigned>(query.mapping_flags) & (kRead | kWrite),
                            (query.mapping_flags & kIsShared) != 0, device_number(query.device_major, query.device_minor),
                            query.inode, query.offset};
    }
    if (has_queries_) return std::nullopt;
  }
  return mapping_by_text(address, nullptr);
}

std::string ForeignMemory::name_at(host::ProgramAddress address) {
  std::string name(PATH_MAX, '\0');
  if (has_queries_) {
    MapsQuery query{.address = address, .name_size = static_cast<std::uint32_t>(name.size())};
    query.name = reinterpret_cast<std::uintptr_t>(name.data());
    if (ask(query)) return {name.data(), strnlen(name.data(), query.name_size)};
    if (has_queries_) return "";
  }
  name.clear();
  mapping_by_text(address, &name);
  return name;
}

std::optional<ForeignMapping> ForeignMemory::mapping_by_text(host::ProgramAddress address, std::string* name) const {
  std::FILE* const maps = std::fopen(path_of(pid_, "maps").c_str(), "re");
  if (maps == nullptr) throw_if_refused(pid_);
  if (maps == nullptr) return std::nullopt;
  std::optional<ForeignMapping> found;
  char line[512 + PATH_MAX];
  while (!found && std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long begin, end, offset, inode;
    unsigned major, minor;
    char access[5];
    int name_at = 0;
    if (std::sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &begin, &end, access, &offset, &major, &minor, &inode, &name_at) != 7)
      continue;
    if (address < begin || address >= end) continue;
    const unsigned rights = (access[0] == 'r' ? kRead : 0u) | (access[1] == 'w' ? kWrite : 0u);
    found = ForeignMapping{begin, end, rights, access[3] == 's', device_number(major, minor), inode, offset};
    if (name != nullptr) name->assign(line + name_at, strcspn(line + name_at, "\n"));
  }
  std::fclose(maps);
  return found;
}

}  // namespace verbatim::supervisor
