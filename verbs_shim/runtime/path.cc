// A path is first resolved lexically. If no component is a symbolic link, which one call to the kernel
// answers, the result is valid. Otherwise the path is walked component by component. Trees and moved folders
// are recognized by their names during the walk, wherever it started and whichever links it followed.
#include "verbs_shim/runtime/path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

#include "verbs_shim/runtime/file_events.h"
#include "verbs_shim/runtime/folder_view.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

using protocol::PathRow;
using Where = ResolvedPath::Where;

constexpr int kMostLinks = 40;  // the limit of Linux

// A string with a fixed limit; text that does not fit sets `overflown`.
struct Text {
  char bytes[kPathRoom];
  std::size_t size = 0;
  bool overflown = false;

  Text() { bytes[0] = 0; }
  void append(const char* text, std::size_t length) {
    if (size + length >= kPathRoom) {
      overflown = true;
      return;
    }
    memcpy(bytes + size, text, length);
    size += length;
    bytes[size] = 0;
  }
  void append(const char* text) { append(text, strlen(text)); }
  void cut(std::size_t to) { bytes[size = to] = 0; }
  void set(const char* text, std::size_t length) {
    cut(0);
    append(text, length);
  }
};

// Copies the program's string; an error if it is not terminated within the limit.
long load(long address, Text& text) {
  constexpr long kPage = 4096;
  while (text.size < kPathRoom - 1) {
    const long at = address + static_cast<long>(text.size);
    long n = kPage - (at & (kPage - 1));
    if (n > static_cast<long>(kPathRoom - 1 - text.size)) n = static_cast<long>(kPathRoom - 1 - text.size);
    if (!copy_bytes(text.bytes + text.size, reinterpret_cast<const void*>(at), static_cast<std::size_t>(n)))
      return -EFAULT;
    const void* const end = memchr(text.bytes + text.size, 0, static_cast<std::size_t>(n));
    if (end != nullptr) {
      text.size = static_cast<std::size_t>(static_cast<const char*>(end) - text.bytes);
      return 0;
    }
    text.size += static_cast<std::size_t>(n);
  }
  return -ENAMETOOLONG;
}

// The row whose folder `path` is at or below; rows with longer names precede.
const PathRow* row_of(const char* path, bool by_seen) {
  const protocol::PathView& view = path_view();
  const std::uint32_t rows = view.rows < protocol::kMostPathRows ? view.rows : protocol::kMostPathRows;
  const PathRow* found = nullptr;
  for (std::uint32_t i = 0; i < rows; ++i) {
    const PathRow& row = view.row[i];
    const std::uint32_t length = by_seen ? row.seen_length : row.real_length;
    if (!protocol::path_is_below(path, view.text + (by_seen ? row.seen : row.real), length)) continue;
    if (by_seen) return &row;
    if (found == nullptr || row.real_length > found->real_length) found = &row;
  }
  return found;
}

// Excludes rows that show the machine's files or copies of them.
bool is_own(const PathRow& row) {
  if (row.is_view != 0) return false;
  const char* const text = path_view().text;
  return row.seen_length != row.real_length || memcmp(text + row.seen, text + row.real, row.seen_length) != 0;
}

// A row but the one of "/", which all paths are below.
const PathRow* folder_row_of(const char* path) {
  const PathRow* const row = row_of(path, true);
  return row != nullptr && row->seen_length > 0 ? row : nullptr;
}

bool is_in_tree(const char* path) { return protocol::path_is_in_tree(path) && folder_row_of(path) == nullptr; }

// `from` with the beginning that a row replaces; false: the result is too long.
bool replaced(const char* from, const PathRow& row, bool by_seen, char (&to)[kPathRoom]) {
  const std::uint32_t length = by_seen ? row.real_length : row.seen_length;
  const char* const rest = from + (by_seen ? row.seen_length : row.real_length);
  const std::size_t rest_size = strlen(rest) + 1;
  if (length + rest_size > kPathRoom) return false;
  memmove(to + length, rest, rest_size);
  memcpy(to, path_view().text + (by_seen ? row.real : row.seen), length);
  return true;
}

// Has the host's own folders created at the first path of the process that leads into `row`.
void make_folders_of(const PathRow& row) {
  if (path_view().has_no_folders == 0 || !is_own(row)) return;
  path_view().has_no_folders = 0;
  exchange(protocol::Request::kFolders, 0, {0, 0, 0, 0, 0, 0});
}

// The machine's name of the folder or file that the program calls `seen`.
const char* native_name(const char* seen, char (&room)[kPathRoom]) {
  const PathRow* const row = row_of(seen, true);
  if (row == nullptr) return *seen == 0 ? "/" : seen;
  make_folders_of(*row);
  if (!replaced(seen, *row, true, room)) return seen;
  if (row->is_view != 0) prepare_in_view(room, 0);
  return room;
}

// Target of /proc/self/fd/`fd`; returns its length or -errno.
long read_link_of(int fd, char (&link)[kPathRoom]) {
  char name[32] = "/proc/self/fd/";
  std::size_t at = strlen(name);
  char digits[12];
  int count = 0;
  if (fd < 0) return -EBADF;
  for (unsigned value = static_cast<unsigned>(fd); value != 0 || count == 0; value /= 10)
    digits[count++] = static_cast<char>('0' + value % 10);
  while (count > 0) name[at++] = digits[--count];
  name[at] = 0;
  return native(SYS_readlink, name, link, sizeof link - 1);
}

// Start of a relative path: 0 and the folder, 1 when the descriptor is virtual, or -errno. `own`: the kernel
// has another name for the folder, or none.
long load_folder(long folder, Text& text, bool& own) {
  char link[kPathRoom];
  long n;
  if (static_cast<int>(folder) == AT_FDCWD) {
    const char* const working = path_view().working_folder;
    if (working[0] != 0) {
      text.set(working, strnlen(working, kPathRoom - 1));
      own = true;
      return 0;
    }
    n = native(SYS_getcwd, link, sizeof link) - 1;
  } else {
    const int fd = static_cast<int>(folder);
    if (is_virtual_fd(fd)) return 1;
    n = read_link_of(fd, link);
  }
  if (n <= 0) return n < 0 ? n : -ENOENT;
  link[n] = 0;
  // Only the kernel can resolve from a deleted or unreachable folder.
  const PathRow* const row = row_of(link, false);
  own = row != nullptr && (row->is_view != 0 || is_own(*row));
  if (link[0] != '/' || !seen_from_real(link)) return -ENOENT;
  text.set(link, strlen(link));
  if (text.size == 1) text.cut(0);
  return 0;
}

// Length of the next component of `path` from `at` on; 0: there is none.
std::size_t next_word(const char* path, std::size_t& at) {
  while (path[at] == '/') ++at;
  std::size_t length = 0;
  while (path[at + length] != 0 && path[at + length] != '/') ++length;
  return length;
}

bool is_word(const char* text, std::size_t length, const char* word) {
  return length == strlen(word) && memcmp(text, word, length) == 0;
}

void go_up(Text& done) {
  std::size_t size = done.size;
  while (size > 0 && done.bytes[size - 1] != '/') --size;
  done.cut(size > 0 ? size - 1 : 0);
}

void copy_out(const Text& done, ResolvedPath& resolved) {
  memcpy(resolved.seen, done.bytes, done.size + 1);
  if (done.size == 0) memcpy(resolved.seen, "/", 2);
  resolved.known = true;
}

// A tree may contain a host's own folder: /dev/shm. Whether `rest`, relative to `done`, leads into one.
bool leads_to_row(const Text& done, const char* rest) {
  Text ahead;
  ahead.set(done.bytes, done.size);
  for (std::size_t at = 0, length; (length = next_word(rest, at)) > 0; at += length) {
    if (is_word(rest + at, length, ".")) continue;
    if (is_word(rest + at, length, "..")) return false;
    ahead.append("/", 1);
    ahead.append(rest + at, length);
    if (folder_row_of(ahead.bytes) != nullptr) return true;
  }
  return false;
}

enum class Step { kDone, kEntersTree, kAmbiguous };

// Resolves `path` lexically from `done` on. kAmbiguous: ".." follows a name, which may be a link.
Step take_words(Text& done, const char* path) {
  bool named = false;
  for (std::size_t at = 0, length; (length = next_word(path, at)) > 0; at += length) {
    const char* const word = path + at;
    if (is_word(word, length, ".")) continue;
    if (is_word(word, length, "..")) {
      if (named) return Step::kAmbiguous;
      go_up(done);
      continue;
    }
    named = true;
    done.append("/", 1);
    done.append(word, length);
    if (is_in_tree(done.bytes) && !leads_to_row(done, word + length)) {
      done.append(word + length);
      return Step::kEntersTree;
    }
  }
  return is_in_tree(done.bytes) ? Step::kEntersTree : Step::kDone;
}

// Whether a component of `native_path` is a symbolic link.
bool has_links(const char* native_path, bool follow) {
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
  how.resolve = RESOLVE_NO_SYMLINKS;
  const OwnFileWork own_work;  // some kernels report it to watchers
  const long fd = native(SYS_openat2, AT_FDCWD, native_path, &how, sizeof how);
  if (fd >= 0) native(SYS_close, fd);
  return fd < 0 && fd != -ENOENT && fd != -ENOTDIR && fd != -EACCES;
}

// Walks `rest` as the kernel does, by the names that the program sees. Modifies `rest`.
Step take_links(Text& done, Text& rest, bool follow, char (&room)[kPathRoom], long& error) {
  char target[kPathRoom];
  int links = 0;
  std::size_t at = 0, length;
  while ((length = next_word(rest.bytes, at)) > 0) {
    const char* const word = rest.bytes + at;
    at += length;
    if (is_word(word, length, ".")) continue;
    if (is_word(word, length, "..")) {
      go_up(done);
      continue;
    }
    const std::size_t before = done.size;
    done.append("/", 1);
    done.append(word, length);
    if (done.overflown) return Step::kDone;
    if (is_in_tree(done.bytes)) {
      if (leads_to_row(done, rest.bytes + at)) continue;
      done.append(rest.bytes + at);
      return Step::kEntersTree;
    }
    std::size_t after = at;
    const bool last = next_word(rest.bytes, after) == 0;
    if (last && !follow && rest.bytes[at] != '/') return Step::kDone;
    const long n = native(SYS_readlink, native_name(done.bytes, room), target, sizeof target - 1);
    if (n == -EINVAL) continue;  // no link
    if (n < 0) {                 // missing or unreadable: the kernel will report the same error
      done.append(rest.bytes + at);
      return Step::kDone;
    }
    if (++links > kMostLinks) {
      error = -ELOOP;
      return Step::kDone;
    }
    target[n] = 0;
    done.cut(target[0] == '/' ? 0 : before);
    const std::size_t left = rest.size - at;
    if (static_cast<std::size_t>(n) + left + 1 >= kPathRoom) {
      error = -ENAMETOOLONG;
      return Step::kDone;
    }
    memmove(rest.bytes + n, rest.bytes + at, left + 1);
    memcpy(rest.bytes, target, static_cast<std::size_t>(n));
    rest.size = static_cast<std::size_t>(n) + left;
    at = 0;
  }
  return is_in_tree(done.bytes) ? Step::kEntersTree : Step::kDone;
}

// Removes the last component of `path` if it is "." or "..", and returns it; otherwise "". No slash ends
// `path`.
const char* take_last_dots(Text& path) {
  std::size_t at = path.size;
  while (at > 0 && path.bytes[at - 1] != '/') --at;
  const std::size_t length = path.size - at;
  const bool is_dot = is_word(path.bytes + at, length, "."), is_up = is_word(path.bytes + at, length, "..");
  if (is_dot || is_up) path.cut(at);
  return is_dot ? "." : is_up ? ".." : "";
}

bool ends_with_dot(const Text& path) {
  const std::size_t size = path.size;
  return size > 0 && path.bytes[size - 1] == '.' && (size == 1 || path.bytes[size - 2] == '/');
}

void resolve_from(const Text& base, bool own_base, Text& path, LastName last, ResolvedPath& resolved) {
  char room[kPathRoom];
  bool slash = path.size > 0 && path.bytes[path.size - 1] == '/', follow = last == LastName::kFollowed;
  const char* dots = "";
  if (last == LastName::kEntry) {
    while (path.size > 0 && path.bytes[path.size - 1] == '/') path.cut(path.size - 1);
    dots = take_last_dots(path);
    follow = *dots != 0;
  } else {
    slash = slash || ends_with_dot(path);
    follow = follow || slash;
  }
  Text done;
  done.set(base.bytes, base.size);
  Step step = take_words(done, path.bytes);
  long error = 0;
  bool elsewhere = own_base;
  if (step == Step::kAmbiguous || (step == Step::kDone && has_links(native_name(done.bytes, room), follow))) {
    done.set(base.bytes, base.size);
    step = take_links(done, path, follow, room, error);
    elsewhere = true;
  }
  if (error != 0 || done.overflown) {
    resolved.where = Where::kWrong;
    resolved.error = error != 0 ? error : -ENAMETOOLONG;
    return;
  }
  if (step == Step::kDone && *dots != 0) {
    done.append("/", 1);
    done.append(dots);
  }
  if (step == Step::kDone && slash && done.size > 0) done.append("/", 1);
  if (done.overflown) return;
  copy_out(done, resolved);
  if (step == Step::kEntersTree) {
    resolved.where = Where::kTree;
    return;
  }
  const PathRow* const row = row_of(resolved.seen, true);
  if (row != nullptr && row->is_view != 0) {
    resolved.in_view = replaced(resolved.seen, *row, true, resolved.native);
    resolved.where = resolved.in_view ? Where::kElsewhere : Where::kWrong;
    resolved.error = -ENAMETOOLONG;
    return;
  }
  if (row == nullptr || !is_own(*row)) {
    if (!elsewhere) return;
    resolved.where = Where::kElsewhere;
    memcpy(resolved.native, resolved.seen, sizeof resolved.native);
    return;
  }
  make_folders_of(*row);
  const bool starts_below = base.size > row->seen_length && protocol::path_is_below(resolved.seen, base.bytes, base.size);
  resolved.begin = row->real_length + (starts_below ? static_cast<std::uint32_t>(base.size) - row->seen_length : 0);
  if (!replaced(resolved.seen, *row, true, resolved.native)) {
    resolved.where = Where::kWrong;
    resolved.error = -ENAMETOOLONG;
    return;
  }
  resolved.where = Where::kMoved;
}

// Whether the kernel finds all files from the folder `base`, although their whole paths may be too long.
bool is_known_to_kernel(long folder, const Text& base) {
  if (static_cast<int>(folder) == AT_FDCWD && path_view().working_folder[0] != 0) return false;
  const PathRow* const row = row_of(base.bytes, true);
  return row == nullptr || row->is_view == 0;
}

// `target` holds `size` bytes that readlink has returned.
bool lies_in_own(char (&target)[kPathRoom], long size) {
  if (size <= 0 || target[0] != '/') return false;
  target[size] = 0;
  const PathRow* const row = row_of(target, false);
  return row != nullptr && is_own(*row);
}

}  // namespace

bool seen_from_real(char (&real)[kPathRoom]) {
  const PathRow* const row = row_of(real, false);
  if (row == nullptr) return true;
  if (!replaced(real, *row, false, real)) return false;
  if (real[0] == 0) memcpy(real, "/", 2);
  return true;
}

bool is_own_file(long fd) {
  char link[kPathRoom];
  return lies_in_own(link, read_link_of(static_cast<int>(fd), link));
}

bool is_in_shared_folder(const char* seen, char (&folder)[kPathRoom]) {
  const PathRow* const row = row_of(seen, true);
  if (row == nullptr || row->is_shared == 0) return false;
  memcpy(folder, path_view().text + row->real, row->real_length);
  folder[row->real_length] = 0;
  return true;
}

bool leads_into_view(long fd, char (&name)[kPathRoom]) {
  const long n = read_link_of(static_cast<int>(fd), name);
  if (n <= 0 || name[0] != '/') return false;
  name[n] = 0;
  const PathRow* const row = row_of(name, false);
  return row != nullptr && row->is_view != 0;
}

bool leads_to_machine_file(const char* link) {
  char target[kPathRoom];
  const long n = native(SYS_readlink, link, target, sizeof target - 1);
  return n > 0 && target[0] == '/' && !lies_in_own(target, n);
}

long name_of_own_file(long fd, char (&name)[kPathRoom]) {
  const long n = read_link_of(static_cast<int>(fd), name);
  return lies_in_own(name, n) ? n : 0;
}

void resolve_path(long folder, long address, LastName last, ResolvedPath& resolved) {
  Text path, base;
  bool own_base = false;
  resolved.where = Where::kReal;
  resolved.known = resolved.in_view = false;
  if (load(address, path) != 0 || path.size == 0) {  // the kernel reports the error, or the descriptor itself is meant
    if (static_cast<int>(folder) != AT_FDCWD && is_virtual_fd(static_cast<int>(folder)))
      resolved.where = Where::kFolder;
    return;
  }
  const bool is_relative = path.bytes[0] != '/';
  if (is_relative) {
    const long found = load_folder(folder, base, own_base);
    if (found > 0) resolved.where = Where::kFolder;
    if (found != 0) return;
  }
  resolve_from(base, own_base, path, last, resolved);
  if (is_relative && resolved.where == Where::kWrong && resolved.error == -ENAMETOOLONG && is_known_to_kernel(folder, base)) {
    resolved.where = Where::kReal;
    resolved.known = false;
  }
}

void resolve_text(const char* text, LastName last, ResolvedPath& resolved) {
  Text path, base;
  resolved.where = Where::kReal;
  resolved.known = resolved.in_view = false;
  path.set(text, strnlen(text, kPathRoom - 1));
  resolve_from(base, true, path, last, resolved);
}

}  // namespace verbatim::shim
