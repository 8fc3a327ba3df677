#include "verbs_shim/runtime/file_events.h"

#include "verbs_shim/protocol/file_events.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

// Has the supervisor collect the kernel's file events; returns how many are kept. `own_work`: the runtime has
// caused them, and they are discarded.
long keep_file_events(bool own_work) {
  return exchange(protocol::Request::kFileEvents, 0, {own_work ? 1 : 0, 0, 0, 0, 0, 0});
}

}  // namespace

bool files_are_watched() { return region_header().watches_files != 0; }

void report_file_events() {
  if (keep_file_events(false) == 0) return;
  exchange(protocol::Request::kSystemCall, protocol::kFileEventsCall, {0, 0, 0, 0, 0, 0});
}

OwnFileWork::OwnFileWork() : watched_(files_are_watched()) {
  if (watched_) keep_file_events(false);
}

OwnFileWork::~OwnFileWork() {
  if (watched_) keep_file_events(true);
}

}  // namespace verbatim::shim
