#include "verbs_shim/runtime/file_rights.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verbs_shim/runtime/file_user.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

using protocol::FileRights;
using protocol::PathCall;
using protocol::PathUse;
using Where = ResolvedPath::Where;

// Argument index of the times; -1: the call has none.
int times_of(long number) {
  switch (number) {
    case SYS_utime:
    case SYS_utimes:
      return 1;
    case SYS_futimesat:
    case SYS_utimensat:
      return 2;
    default:
      return -1;
  }
}

// Whether the call sets the present, for which write permission suffices.
bool sets_present(long number, long times) {
  if (times == 0) return true;
  timespec both[2];
  return number == SYS_utimensat && read_program(times, both) && both[0].tv_nsec == UTIME_NOW && both[1].tv_nsec == UTIME_NOW;
}

// Argument on which the permission depends besides the file (FileRights).
long argument_of(long number, const long (&a)[6], const PathCall& call) {
  if (number == SYS_creat) return O_CREAT | O_WRONLY | O_TRUNC;
  if (number == SYS_access) return a[1];
  if (number == SYS_faccessat || number == SYS_faccessat2) return a[2];
  if (const int times = times_of(number); times >= 0) return sets_present(number, a[times]) ? 1 : 0;
  return call.flags >= 0 ? a[call.flags] : 0;
}

void put_name(FileRights& asked, int i, const char* native_name, std::uint32_t begin) {
  asked.begin[i] = begin;
  memcpy(asked.native[i], native_name, strnlen(native_name, protocol::kPathRoom - 1) + 1);
}

FileRights& question() { return *reinterpret_cast<FileRights*>(my_mailbox().bytes); }

long ask(long number, long argument, bool real) {
  return exchange(protocol::Request::kSystemCall, protocol::kFileRightsCall, {number, argument, real ? 1 : 0, 0, 0, 0});
}

// A program file of the machine. The kernel would execute it with the permissions of the user who runs the
// simulator.
long error_of_executing(const ResolvedPath& program, const long (&a)[6], const PathCall& call) {
  const protocol::PathArgument& path = call.paths[0];
  if (!program.known || (program.where != Where::kReal && program.where != Where::kElsewhere)) return 0;
  const AsFileUser user(SYS_faccessat2, false);
  const long flags = AT_EACCESS | (protocol::follows(call, path, a) ? 0 : AT_SYMLINK_NOFOLLOW);
  return native(SYS_faccessat2, AT_FDCWD, program.seen, X_OK, flags) == -EACCES ? -EACCES : 0;
}

}  // namespace

long error_of_rights(long number, const long (&a)[6], const PathCall& call, const ResolvedPath (&resolved)[2]) {
  const bool real = asks_for_real_user(number, a[3]);
  if ((real ? my_slot->user : my_slot->file_user) == 0) return 0;
  if (call.paths[0].use == PathUse::kExecute && resolved[0].where != Where::kMoved)
    return error_of_executing(resolved[0], a, call);
  const bool has_second = call.paths[1].path >= 0;
  const bool first = resolved[0].where == Where::kMoved, second = has_second && resolved[1].where == Where::kMoved;
  if (!first && !second) return 0;
  const long argument = argument_of(number, a, call);  // reads program memory, before the mailbox is filled
  FileRights& asked = question();
  asked.begin[0] = asked.begin[1] = 0;
  if (first) put_name(asked, 0, resolved[0].native, resolved[0].begin);
  if (second) put_name(asked, 1, resolved[1].native, resolved[1].begin);
  return ask(number, argument, real);
}

long error_of_rights(long number, long fd) {
  if (my_slot->file_user == 0) return 0;
  char name[kPathRoom];
  const long size = name_of_own_file(fd, name);
  if (size == 0) return 0;
  question().begin[1] = 0;
  put_name(question(), 0, name, static_cast<std::uint32_t>(size));
  return ask(number, 0, false);
}

}  // namespace verbatim::shim
