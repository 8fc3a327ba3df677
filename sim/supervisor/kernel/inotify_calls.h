// inotify(7) calls.
#pragma once

#include "sim/supervisor/files/inotify_file.h"
#include "sim/supervisor/kernel/host_trees.h"

namespace verbatim::supervisor {

CallOutcome sys_inotify_init(CallContext& call);
CallOutcome sys_inotify_add_watch(CallContext& call, HostTrees& trees);
CallOutcome sys_inotify_rm_watch(CallContext& call);
CallOutcome sys_file_events(CallContext& call);

// Watches of files in the own folders of host `index`.
std::shared_ptr<FileWatches> make_file_watches(ProcessTable& table, std::size_t index);

}  // namespace verbatim::supervisor
