#include "sim/supervisor/tasks/call_wait.h"

#include <utility>

namespace verbatim::supervisor {

Instant CallWait::begin(std::vector<VirtualFilePtr> files, Instant deadline, std::string what, Instant now, Duration late) {
  if (!is_retried_) since_ = now;
  is_retried_ = true;
  is_woken_ = false;
  late_ = late;
  deadline_ = deadline;
  what_ = std::move(what);
  watch(std::move(files));
  return deadline == kNever ? kNever : deadline + late;
}

void CallWait::watch(std::vector<VirtualFilePtr> files) {
  files_ = std::move(files);
  for (const VirtualFilePtr& file : files_) file->wait_queue.add(waiter_);
}

std::optional<Instant> CallWait::wake(Instant now, bool by_adapter_event) {
  if (is_woken_ || now >= deadline_) return std::nullopt;
  is_woken_ = true;
  return now + wake_up_ + (by_adapter_event ? event_wake_up_ : Duration::zero()) + late_;
}

void CallWait::leave() {
  for (const VirtualFilePtr& file : files_) file->wait_queue.remove(waiter_);
  files_.clear();
}

}  // namespace verbatim::supervisor
