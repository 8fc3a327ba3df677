// getdents64 on folders of the real file system: names are sorted by their bytes, whatever order the file
// system has, and an entry's offset is its position in that order. Inode numbers are those that stat(2)
// reports.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verbs_shim/runtime/attributes.h"
#include "verbs_shim/runtime/file_events.h"
#include "verbs_shim/runtime/folder_view.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/path.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

struct Entry {  // struct linux_dirent64
  std::uint64_t number;
  std::int64_t next;
  std::uint16_t length;
  std::uint8_t type;
  char name[1];
};

// Memory mapped from the kernel, unmapped by the destructor.
struct Pages {
  explicit Pages(std::size_t bytes) : size(bytes) {
    const long made = native(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory = made < 0 && made > -4096 ? nullptr : reinterpret_cast<char*>(made);
  }
  ~Pages() {
    if (memory != nullptr) native(SYS_munmap, reinterpret_cast<long>(memory), size);
  }
  bool grow() {
    const long moved = native(SYS_mremap, reinterpret_cast<long>(memory), size, 2 * size, MREMAP_MAYMOVE);
    if (moved < 0 && moved > -4096) return false;
    memory = reinterpret_cast<char*>(moved);
    size *= 2;
    return true;
  }
  char* memory;
  std::size_t size;
};

// Reads all entries of the folder `fd`; returns the number of bytes, or -errno.
long read_all(long fd, Pages& pages) {
  constexpr std::size_t kRoom = 32 * 1024;
  std::size_t used = 0;
  while (true) {
    if (pages.size - used < kRoom && !pages.grow()) return -ENOMEM;
    const long n = native(SYS_getdents64, fd, reinterpret_cast<long>(pages.memory + used), pages.size - used);
    if (n < 0) return n;
    if (n == 0) return static_cast<long>(used);
    used += static_cast<std::size_t>(n);
  }
}

// Heap sort: needs no memory, O(n log n) in the worst case.
void sort(Entry** entries, std::size_t count) {
  const auto sift = [&](std::size_t root, std::size_t end) {
    for (std::size_t child; (child = 2 * root + 1) < end; root = child) {
      if (child + 1 < end && strcmp(entries[child]->name, entries[child + 1]->name) < 0) ++child;
      if (strcmp(entries[root]->name, entries[child]->name) >= 0) return;
      Entry* const moved = entries[root];
      entries[root] = entries[child];
      entries[child] = moved;
    }
  };
  for (std::size_t root = count / 2; root-- > 0;) sift(root, count);
  for (std::size_t end = count; end-- > 1;) {
    Entry* const last = entries[end];
    entries[end] = entries[0];
    entries[0] = last;
    sift(0, end);
  }
}

// The same for a descriptor of the program, whose file offset `at` counts the sorted names that the program
// has read. A folder whose permissions forbid another open is read through `fd` itself. -ESPIPE: `fd` has no
// offset.
long read_whole(long fd, long at, Pages& pages) {
  const OwnFileWork own_work;
  const long again = native(SYS_openat, fd, reinterpret_cast<long>("."), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (again < 0 && native(SYS_lseek, fd, 0, SEEK_SET) < 0) return -ESPIPE;
  const long bytes = pages.memory == nullptr ? -ENOMEM : read_all(again >= 0 ? again : fd, pages);
  again >= 0 ? native(SYS_close, again) : native(SYS_lseek, fd, at, SEEK_SET);
  return bytes;
}

// Reports the program's read to watchers (IN_ACCESS): the kernel does so even for a call without room for an
// entry.
void touch_folder(long fd, long at) {
  Entry entry;
  native(SYS_getdents64, fd, reinterpret_cast<long>(&entry), 1);
  native(SYS_lseek, fd, at, SEEK_SET);
}

}  // namespace

long read_folder(const long (&a)[6]) {
  const long at = native(SYS_lseek, a[0], 0, SEEK_CUR);
  if (at < 0) return native(SYS_getdents64, a[0], a[1], a[2]);
  Pages pages(64 * 1024);
  const long bytes = read_whole(a[0], at, pages);
  if (bytes == -ESPIPE) return native(SYS_getdents64, a[0], a[1], a[2]);
  if (bytes < 0) return bytes;
  if (files_are_watched()) touch_folder(a[0], at);
  std::size_t count = 0;
  const auto entry_at = [&](long offset) { return reinterpret_cast<Entry*>(pages.memory + offset); };
  for (long offset = 0; offset < bytes; offset += entry_at(offset)->length) ++count;
  Pages order((count + 1) * sizeof(Entry*));
  if (order.memory == nullptr) return -ENOMEM;
  auto** entries = reinterpret_cast<Entry**>(order.memory);
  std::size_t n = 0;
  for (long offset = 0; offset < bytes; offset += entry_at(offset)->length) entries[n++] = entry_at(offset);
  sort(entries, count);
  const auto first = static_cast<std::size_t>(at);
  std::size_t next = first;
  for (long room = a[2]; next < count && entries[next]->length <= room; ++next) room -= entries[next]->length;
  auto** const numbers = reinterpret_cast<std::uint64_t**>(entries) + first;
  if (next > first && is_own_file(a[0])) replace_entry_numbers(a[0], numbers, static_cast<long>(next - first));
  if (next > first && is_in_view(a[0])) replace_view_numbers(a[0], numbers, static_cast<long>(next - first));
  const std::size_t end = next;
  long written = 0;
  for (next = first; next < end; ++next) {
    entries[next]->next = static_cast<std::int64_t>(next + 1);
    if (!copy_bytes(reinterpret_cast<char*>(a[1]) + written, entries[next], entries[next]->length)) return -EFAULT;
    written += entries[next]->length;
  }
  if (written == 0 && next < count) return -EINVAL;
  native(SYS_lseek, a[0], static_cast<long>(next), SEEK_SET);
  return written;
}

}  // namespace verbatim::shim
