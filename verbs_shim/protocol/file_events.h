// Events of files (inotify). Programs change files of their hosts by calls that the machine's kernel
// executes; it queues an event before the call returns. Only the calling thread knows the virtual time of its
// call. After each call that may have accessed files, it makes the supervisor fetch events
// (Request::kFileEvents). If there are any, it makes a call that delivers them, in virtual time order like
// any other call.
//
// An event is therefore delivered at the virtual time of its call, in both execution modes, and events of one
// host are in the order of its programs' calls.
#pragma once

#include <cstdint>

namespace verbatim::protocol {

// kFileEventsCall: makes fetched events visible to their watchers. Returns 0.

}  // namespace verbatim::protocol
