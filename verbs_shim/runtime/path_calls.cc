// Calls that name files. The kernel executes those that lead outside every tree; the supervisor answers the
// others, including opens and executes, and may redirect a path, for example from /proc/self/cwd to a folder
// of the machine.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verbs_shim/protocol/path_calls.h"
#include "verbs_shim/protocol/system_calls.h"
#include "verbs_shim/runtime/attributes.h"
#include "verbs_shim/runtime/descriptors.h"
#include "verbs_shim/runtime/file_events.h"
#include "verbs_shim/runtime/file_rights.h"
#include "verbs_shim/runtime/file_user.h"
#include "verbs_shim/runtime/folder_view.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/huge_pages.h"
#include "verbs_shim/runtime/memory_calls.h"
#include "verbs_shim/runtime/path.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

using protocol::PathArgument;
using protocol::PathCall;
using Where = ResolvedPath::Where;

constexpr int kMostTurns = 40;  // redirections, out of trees and into them

// The arguments of a call for the supervisor and for the kernel.
struct Arguments {
  long seen[6];
  PathExchange paths;
  bool made = false;  // an open is about to create the file
};

void put_path(long (&a)[6], const PathArgument& argument, const char* path) {
  a[argument.path] = reinterpret_cast<long>(path);
  if (argument.folder >= 0) a[argument.folder] = AT_FDCWD;
}

void put_resolved(const ResolvedPath& resolved, const PathArgument& argument, Arguments& arguments) {
  if (resolved.known) put_path(arguments.seen, argument, resolved.seen);
  if (resolved.where == Where::kMoved || resolved.where == Where::kElsewhere)
    put_path(arguments.paths.native, argument, resolved.native);
}

LastName last_name(const PathCall& call, const PathArgument& argument, const long (&a)[6]) {
  if (argument.use == protocol::PathUse::kMake || argument.use == protocol::PathUse::kRemove)
    return LastName::kEntry;
  return follows(call, argument, a) ? LastName::kFollowed : LastName::kKept;
}

bool asks(const ResolvedPath& resolved) {
  return resolved.where == Where::kTree || resolved.where == Where::kFolder;
}

bool leads_to_own(const ResolvedPath& resolved) { return resolved.where == Where::kMoved; }

bool reads_attributes(long number) {
  return number == SYS_stat || number == SYS_lstat || number == SYS_newfstatat || number == SYS_statx;
}

bool sets_times(long number) {
  return number == SYS_utimensat || number == SYS_utime || number == SYS_utimes || number == SYS_futimesat;
}

// Whether the open will create the file at `path`.
bool makes(long number, const PathCall& call, const long (&a)[6], const char* path) {
  if (number == SYS_creat) return native(SYS_access, path, 0) == -ENOENT;
  if (call.paths[0].use != protocol::PathUse::kOpen) return false;
  const long flags = a[call.flags];
  return (flags & O_TMPFILE) == O_TMPFILE || ((flags & O_CREAT) != 0 && native(SYS_access, path, 0) == -ENOENT);
}

// Whether the call sets the virtual times of a file in the host's own folders, which the kernel must not
// execute.
bool is_own_times_call(long number, const long (&a)[6], const ResolvedPath& resolved) {
  if (!sets_times(number)) return false;
  if (leads_to_own(resolved)) return true;
  return !resolved.known && number == SYS_utimensat && static_cast<int>(a[0]) != AT_FDCWD &&
         !is_virtual_fd(static_cast<int>(a[0])) && is_own_file(a[0]);
}

bool sets_owner(long number) { return number == SYS_chown || number == SYS_lchown || number == SYS_fchownat; }

// Owners are virtual in the host's own folders; those of the machine's files never change.
long set_owner(long number, const Arguments& arguments, const PathCall& call, const ResolvedPath& resolved) {
  const long(&n)[6] = arguments.paths.native;
  const PathArgument& path = call.paths[0];
  const long user = n[path.path + 1], group = n[path.path + 2];
  if (resolved.known) {
    const bool own = leads_to_own(resolved);
    const bool elsewhere = own || resolved.where == Where::kElsewhere;
    return change_owner({-1, elsewhere ? resolved.native : resolved.seen, follows(call, path, n)}, own, user, group);
  }
  char first;
  if (!read_program(n[path.path], first)) return -EFAULT;
  const long folder = path.folder >= 0 ? n[path.folder] : AT_FDCWD;
  if (first != 0) {  // the kernel reports the error
    const long found = native(SYS_faccessat, folder, n[path.path], F_OK);
    return found < 0 ? found : -EPERM;
  }
  constexpr long kEmptyPath = AT_EMPTY_PATH;
  if (number != SYS_fchownat || (n[4] & kEmptyPath) == 0) return -ENOENT;
  if (static_cast<int>(n[0]) == AT_FDCWD) return change_owner({-1, ".", true}, false, user, group);
  return change_owner({n[0], nullptr, true}, is_own_file(n[0]), user, group);
}

// The program opens and checks files in its host's own folders with root's permissions, whichever user runs
// the simulator.
long execute_as_root(long number, const long (&n)[6], const PathCall& call, const char* path) {
  const bool looks = protocol::checks_access(number);
  if (looks) return access_as_root(path, n[call.paths[0].path + 1]);
  std::uint32_t mode;
  if (call.paths[0].use != protocol::PathUse::kOpen || !open_to_owner(path, &mode)) return -EACCES;
  const long result = native(number, n[0], n[1], n[2], n[3], n[4], n[5]);
  const OwnFileWork own_work;
  native(SYS_chmod, path, mode);
  return result;
}

// Executes the call with the kernel's arguments, by the permissions of the program's user.
long execute(long number, Arguments& arguments, const PathCall& call, const ResolvedPath& resolved) {
  if (sets_owner(number)) return set_owner(number, arguments, call, resolved);
  const long(&n)[6] = arguments.paths.native;
  arguments.paths.executed = true;
  const bool real = asks_for_real_user(number, n[3]);
  const AsFileUser user(number, arguments.paths.names_own, real);
  if (!real) return call_with_room(number, n);
  // access(2) would check the native real user, who runs the simulator.
  const bool by_path = number == SYS_access;
  const long flags = number == SYS_faccessat2 ? n[3] : 0;
  return native(SYS_faccessat2, by_path ? AT_FDCWD : n[0], n[by_path ? 0 : 1], n[by_path ? 1 : 2], flags | AT_EACCESS);
}

// Copies into the view what the call needs, if its path number `i` leads into one. -errno, else 0.
long enter_view(long number, const long (&a)[6], const PathCall& call, int i, ResolvedPath& resolved) {
  if (!resolved.in_view) return 0;
  const long result = prepare_in_view(number, a, call, i, resolved.native);
  if (result == protocol::kUseOriginal) resolved.in_view = false;
  return result < 0 ? result : 0;
}

// Virtualizes the results of a call that has created files in a view, or read attributes there.
void settle_in_view(long number, const long (&a)[6], const PathCall& call, const ResolvedPath (&resolved)[2], long result,
                    bool made) {
  if (made) note_made_in_view(result, nullptr);
  const bool makes_one = call.paths[1].path < 0 && call.paths[0].use == protocol::PathUse::kMake;
  if (makes_one) note_made_in_view(-1, resolved[0].native);
  if (reads_attributes(number)) replace_view_attributes(number, a[number == SYS_statx ? 4 : call.paths[0].path + 1]);
}

long look_and_execute(long number, const long (&a)[6], Arguments& arguments, ResolvedPath (&resolved)[2]) {
  const PathCall& call = *arguments.paths.call;
  const bool always_asks = protocol::system_call(static_cast<std::uint64_t>(number)).call_class ==
                           protocol::CallClass::kVirtual;
  bool ask = always_asks;
  for (int i = 0; i < 2 && call.paths[i].path >= 0; ++i) {
    const PathArgument& argument = call.paths[i];
    const long folder = argument.folder >= 0 ? a[argument.folder] : AT_FDCWD;
    if (is_shim_fd(static_cast<int>(folder))) return -EBADF;
    resolve_path(folder, a[argument.path], last_name(call, argument, a), resolved[i]);
    if (resolved[i].where == Where::kWrong) return resolved[i].error;
    if (const long error = enter_view(number, a, call, i, resolved[i]); error != 0) return error;
    put_resolved(resolved[i], argument, arguments);
    ask = ask || asks(resolved[i]);
  }
  for (int turn = 0; turn < kMostTurns; ++turn) {
    const long rights = error_of_rights(number, a, call, resolved);
    if (rights < 0) return rights;
    if (rights == protocol::kClearsSetGroupId)
      arguments.paths.native[call.paths[0].path + 1] &= ~static_cast<long>(S_ISGID);
    // A view and the rest of the machine are different file systems.
    if (!ask && call.paths[1].path >= 0 && resolved[0].in_view != resolved[1].in_view) return -EXDEV;
    if (resolved[0].in_view) arguments.made = makes(number, call, a, resolved[0].native);
    arguments.paths.names_own = leads_to_own(resolved[0]) || (call.paths[1].path >= 0 && leads_to_own(resolved[1]));
    if (leads_to_own(resolved[0])) arguments.made = makes(number, call, a, resolved[0].native);
    if (!ask && is_own_times_call(number, a, resolved[0])) {
      const bool by_path = leads_to_own(resolved[0]);
      const long times = a[number == SYS_utime || number == SYS_utimes ? 1 : 2];
      return set_times(number, times,
                       {a[0], by_path ? resolved[0].native : nullptr, follows(call, call.paths[0], a)});
    }
    if (!ask) return execute(number, arguments, call, resolved[0]);
    arguments.paths.other = -1;
    const long result = exchange(protocol::Request::kSystemCall, static_cast<std::uint32_t>(number),
                                 arguments.seen, &arguments.paths);
    const int i = arguments.paths.other;
    if (i < 0) return result;
    const PathArgument& argument = call.paths[i];
    if (argument.path < 0) return -ENOSYS;
    resolve_text(arguments.paths.text, last_name(call, argument, a), resolved[i]);
    if (resolved[i].where == Where::kWrong) return resolved[i].error;
    if (!resolved[i].known) return -ENOENT;
    if (const long error = enter_view(number, a, call, i, resolved[i]); error != 0) return error;
    put_resolved(resolved[i], argument, arguments);
    ask = always_asks;
    for (int j = 0; j < 2 && call.paths[j].path >= 0; ++j) ask = ask || asks(resolved[j]);
  }
  return -ELOOP;
}

// After a native call: files in the host's own folders get their virtual times and inode numbers, and
// reported attributes are replaced.
void settle(long number, const long (&a)[6], const PathCall& call, const ResolvedPath (&resolved)[2], long result,
            bool made) {
  for (int i = 0; i < 2 && call.paths[i].path >= 0; ++i) {
    note_shared_change(number, a, call, i, resolved[i]);
    if (i == 0 && resolved[0].in_view) settle_in_view(number, a, call, resolved, result, made);
    if (!leads_to_own(resolved[i])) {
      if (number == SYS_statfs) replace_file_system_status(a[1], false, 0);
      if (resolved[i].known && reads_attributes(number))
        replace_machine_attributes(number, a[number == SYS_statx ? 4 : call.paths[i].path + 1]);
      continue;
    }
    const NativeFile file = {-1, resolved[i].native, follows(call, call.paths[i], a)};
    switch (call.paths[i].use) {
      case protocol::PathUse::kLook:
        if (reads_attributes(number)) replace_attributes(number, a[number == SYS_statx ? 4 : call.paths[i].path + 1], file);
        if (number == SYS_statfs) replace_file_system_status(a[1], true, huge_page_of_path(resolved[i].seen));
        break;
      case protocol::PathUse::kOpen: {
        const long flags = number == SYS_creat ? O_TRUNC : a[call.flags];
        const NativeFile opened = {result, nullptr, true};
        if (made) note_made(opened, resolved[i].native, (flags & O_TMPFILE) == O_TMPFILE);
        if (made) note_folder_of(resolved[i].native);
        if (!made && (flags & O_TRUNC) != 0) note_change(opened);
        break;
      }
      case protocol::PathUse::kMake:
        if (call.paths[1].path < 0) note_made(file, resolved[i].native, false);
        note_folder_of(resolved[i].native);
        break;
      case protocol::PathUse::kRemove:
        note_folder_of(resolved[i].native);
        break;
      case protocol::PathUse::kChange:
        if (number == SYS_truncate) note_change(file);
        break;
      default:
        break;
    }
  }
}

// The same if the path is empty or absent, so that the descriptor itself is meant.
void settle_descriptor(long number, const long (&a)[6], const PathCall& call) {
  const PathArgument& argument = call.paths[0];
  if (argument.folder < 0 || !reads_attributes(number)) return;
  if (replace_device_attributes(number, a[2])) return;
  if (is_own_file(a[argument.folder]))
    replace_attributes(number, a[number == SYS_statx ? 4 : 2], {a[argument.folder], nullptr, true});
  else
    replace_attributes_of_machine_file(number, a[argument.folder], a[number == SYS_statx ? 4 : 2]);
}

// linkat(2) with AT_EMPTY_PATH needs CAP_DAC_READ_SEARCH, which no program has.
bool links_by_descriptor(long number, const long (&a)[6]) {
  constexpr long kFlags = AT_SYMLINK_FOLLOW | AT_EMPTY_PATH;
  return number == SYS_linkat && (a[4] & AT_EMPTY_PATH) != 0 && (a[4] & ~kFlags) == 0;
}

}  // namespace

long call_by_path(long number, const long (&a)[6]) {
  if (links_by_descriptor(number, a)) return -ENOENT;
  Arguments arguments;
  arguments.paths.call = protocol::path_call(static_cast<std::uint64_t>(number));
  arguments.paths.executed = false;
  memcpy(arguments.seen, a, sizeof arguments.seen);
  memcpy(arguments.paths.native, a, sizeof arguments.paths.native);
  ResolvedPath resolved[2];
  long result = look_and_execute(number, a, arguments, resolved);
  const PathCall& call = *arguments.paths.call;
  if (result == -EACCES && arguments.paths.executed && leads_to_own(resolved[0]))
    result = execute_as_root(number, arguments.paths.native, call, resolved[0].native);
  if (result >= 0 && arguments.paths.executed) {
    settle(number, a, call, resolved, result, arguments.made);
    if (!resolved[0].known && call.paths[1].path < 0) settle_descriptor(number, a, call);
  }
  if (result < 0 && arguments.paths.executed) report_machine_error(number, result);
  // If the folder is in a tree, the supervisor has set the working folder.
  if (number == SYS_chdir && result == 0 && arguments.paths.executed) path_view().working_folder[0] = 0;
  return result;
}

long get_working_folder(const long (&a)[6]) {
  char path[kPathRoom];
  const char* const working = path_view().working_folder;
  long size;
  if (working[0] != 0) {
    size = static_cast<long>(strnlen(working, kPathRoom - 1)) + 1;
    memcpy(path, working, static_cast<std::size_t>(size - 1));
    path[size - 1] = 0;
  } else {
    size = native(SYS_getcwd, path, sizeof path);
    if (size < 0) return size;
    if (path[0] == '/' && !seen_from_real(path)) return -ENAMETOOLONG;
    size = static_cast<long>(strlen(path)) + 1;
  }
  if (static_cast<unsigned long>(a[1]) < static_cast<unsigned long>(size)) return -ERANGE;
  return copy_bytes(reinterpret_cast<void*>(a[0]), path, static_cast<std::size_t>(size)) ? size : -EFAULT;
}

}  // namespace verbatim::shim
