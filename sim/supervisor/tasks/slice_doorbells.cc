#include "sim/supervisor/tasks/slice_doorbells.h"

#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

void SliceDoorbells::add(std::span<const protocol::QueuedDoorbell> doorbells) {
  waiting_.insert(waiting_.end(), doorbells.begin(), doorbells.end());
  if (!waiting_.empty() && !timer_.scheduled()) timer_.schedule_at(instant_from_ps(waiting_.front().time_ps));
}

void SliceDoorbells::ring_next() {
  const protocol::QueuedDoorbell doorbell = waiting_.front();
  waiting_.pop_front();
  if (!waiting_.empty()) timer_.schedule_at(instant_from_ps(waiting_.front().time_ps));
  thread_.process().owner().ring(thread_, doorbell);
}

void SliceDoorbells::clear() {
  timer_.cancel();
  waiting_.clear();
}

}  // namespace verbatim::supervisor
