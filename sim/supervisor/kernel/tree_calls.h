// Calls that name a file by a path (kernel_path.cc), and access rights (kernel_file_rights.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sim/supervisor/kernel/host_trees.h"
#include "verbs_shim/protocol/path_calls.h"

namespace verbatim::supervisor {

CallOutcome sys_path(CallContext& call, HostTrees& trees);
// Opens a path of a tree; other paths are opened natively, named pipes here.
CallOutcome sys_open(CallContext& call, HostTrees& trees);
CallOutcome sys_file_numbers(CallContext& call);
CallOutcome sys_file_owner(CallContext& call);
CallOutcome sys_lock_holder(CallContext& call);
CallOutcome sys_lock_wait(CallContext& call);
CallOutcome sys_file_rights(CallContext& call);

// The call's path, appended to its folder's path. nullopt: the path is empty or invalid; `error`: the folder
// is none.
std::optional<std::string> whole_path(CallContext& call, const protocol::PathArgument& argument, int* error);
// The common answer of all calls to a path that leads to nothing in a tree; nullopt: there is a file.
CallOutcome missing(CallContext& call, HostTrees& trees, int index, const TreeWalk& walk);
// For a link to an open file (/proc/PID/fd): the owning process, and the descriptor's native name for
// `viewer`.
Process& owner_of(CallContext& call, const TreeWalk& found);
std::string native_descriptor(const Process& viewer, const Process& owner, int descriptor);
// nullopt: `path` can be executed; a /proc/PID/fd link has been replaced by its target. Otherwise the
// call's answer.
CallOutcome find_executable(CallContext& call, HostTrees& trees, std::string& path);

// Stores struct stat or statx, as the call asks, for a file of a tree or without a path.
CallOutcome store_attributes(CallContext& call, std::uint64_t address, std::uint32_t mode,
                             std::uint64_t inode, std::uint64_t device);
// As above for an open file. Assigns its inode number at first use.
CallOutcome store_attributes(CallContext& call, std::uint64_t address, VirtualFile& file);
CallOutcome store_file_system(CallContext& call, std::uint64_t address, const std::string& path);
// Sets the working folder of the process to one of a tree.
CallOutcome work_in(CallContext& call, const std::string& folder);

// 0 or -errno: permission to create the socket file of an AF_UNIX name (`makes`), or to send to it.
// own_socket_file() makes the thread the owner of a new one.
int error_of_socket_name(CallContext& call, std::span<const std::byte> name, bool makes);
void own_socket_file(CallContext& call, std::span<const std::byte> name);

}  // namespace verbatim::supervisor
