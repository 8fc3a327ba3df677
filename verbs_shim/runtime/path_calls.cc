// Calls that name files. Those that lead out of every tree are the kernel's; the supervisor answers the others, opens
// and executes included, and may say that a path leads on: through /proc/self/cwd, say, to a folder of the machine.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "verbs_shim/protocol/path_calls.h"
#include "verbs_shim/protocol/system_calls.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/path.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

using protocol::PathArgument;
using protocol::PathCall;
using Where = ResolvedPath::Where;

constexpr int kMostTurns = 40;  // through trees and out of them again

// The arguments of a call as the supervisor is to see them and as the kernel is.
struct Arguments {
  long seen[6];
  PathExchange paths;
};

void put_path(long (&a)[6], const PathArgument& argument, const char* path) {
  a[argument.path] = reinterpret_cast<long>(path);
  if (argument.folder >= 0) a[argument.folder] = AT_FDCWD;
}

void put_resolved(const ResolvedPath& resolved, const PathArgument& argument, Arguments& arguments) {
  if (resolved.known) put_path(arguments.seen, argument, resolved.seen);
  if (resolved.where == Where::kMoved) put_path(arguments.paths.native, argument, resolved.native);
}

bool asks(const ResolvedPath& resolved) {
  return resolved.where == Where::kTree || resolved.where == Where::kFolder;
}

long execute(long number, Arguments& arguments) {
  const long(&n)[6] = arguments.paths.native;
  arguments.paths.executed = true;
  return native(number, n[0], n[1], n[2], n[3], n[4], n[5]);
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
    resolve_path(folder, a[argument.path], follows(call, argument, a), resolved[i]);
    if (resolved[i].where == Where::kWrong) return resolved[i].error;
    put_resolved(resolved[i], argument, arguments);
    ask = ask || asks(resolved[i]);
  }
  for (int turn = 0; turn < kMostTurns; ++turn) {
    if (!ask) return execute(number, arguments);
    arguments.paths.other = -1;
    const long result = exchange(protocol::Request::kSystemCall, static_cast<std::uint32_t>(number),
                                 arguments.seen, &arguments.paths);
    const int i = arguments.paths.other;
    if (i < 0) return result;
    const PathArgument& argument = call.paths[i];
    if (argument.path < 0) return -ENOSYS;
    resolve_text(arguments.paths.text, follows(call, argument, a), resolved[i]);
    if (resolved[i].where == Where::kWrong) return resolved[i].error;
    if (!resolved[i].known) return -ENOENT;
    // What the kernel would follow from the program's own spelling leads through the machine's trees.
    put_path(arguments.paths.native, argument, resolved[i].seen);
    put_resolved(resolved[i], argument, arguments);
    ask = always_asks;
    for (int j = 0; j < 2 && call.paths[j].path >= 0; ++j) ask = ask || asks(resolved[j]);
  }
  return -ELOOP;
}

}  // namespace

long call_by_path(long number, const long (&a)[6]) {
  Arguments arguments;
  arguments.paths.call = protocol::path_call(static_cast<std::uint64_t>(number));
  arguments.paths.executed = false;
  memcpy(arguments.seen, a, sizeof arguments.seen);
  memcpy(arguments.paths.native, a, sizeof arguments.paths.native);
  ResolvedPath resolved[2];
  const long result = look_and_execute(number, a, arguments, resolved);
  // The supervisor has told where the program works when that is in a tree.
  if (number == SYS_chdir && result == 0 && arguments.paths.executed) path_view().working_folder[0] = 0;
  return result;
}

long tell_working_folder(const long (&a)[6]) {
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
  if (a[1] < size) return -ERANGE;
  return copy_bytes(reinterpret_cast<void*>(a[0]), path, static_cast<std::size_t>(size)) ? size : -EFAULT;
}

}  // namespace verbatim::shim
