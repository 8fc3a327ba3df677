// Events of files (inotify). Programs change files of their hosts' own by calls that the machine's kernel executes, and that
// kernel tells the supervisor of each before it returns. When it is told to programs is virtual time's to say, which only the
// thread knows that has made the call: after every call that may have touched files it asks for what there is to be kept
// (Request::kFileEvents), and when there is something it makes a call of its own, which comes in its turn like any other.
//
// So an event is seen at the time of the call that made it, in both modes, and events of one host come in the order of the
// calls of its programs.
#pragma once

#include <cstdint>

namespace verbatim::protocol {

// kFileEventsCall: events that have been kept become visible to those who watch. Answered with 0.

}  // namespace verbatim::protocol
