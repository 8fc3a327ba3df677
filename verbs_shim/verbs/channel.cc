// Completion channels and completion events. A channel is a descriptor that the program may poll and set to
// O_NONBLOCK, and a signal interrupts a read of it. Therefore an event is read as the program itself would
// read it.
#include <sys/syscall.h>

#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {

void wait_for_acknowledgements(pthread_mutex_t* mutex, pthread_cond_t* condition,
                               const std::uint32_t* acknowledged, const std::uint32_t* handed_out, protocol::VerbWait wait) {
  pthread_mutex_lock(mutex);
  while (*acknowledged != *handed_out) {
    wait.unacknowledged = *handed_out - *acknowledged;
    if (wait.taker == own_virtual_tid() && wait.taker != 0 && is_checked(protocol::Check::kUnacknowledged)) {
      found(protocol::Check::kUnacknowledged, wait.caller,
            "thread %u destroys %s %u and waits until %u events are acknowledged, the last of which it has taken itself",
            wait.taker, wait.verb == protocol::WaitingVerb::kDestroyCq ? "CQ" : "QP", wait.number, wait.unacknowledged);
    }
    const VerbScope scope(wait);
    pthread_cond_wait(condition, mutex);
  }
  pthread_mutex_unlock(mutex);
}

}  // namespace verbatim::verbs

using namespace verbatim;
using verbs::Channel;
using verbs::Cq;

extern "C" ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  auto* channel = verbs::allocate_object<Channel>();
  if (channel == nullptr) return nullptr;
  protocol::CreateChannel command{};
  if (int error = verbs::execute(command, verbs::handle_of(context))) {
    verbs::release_object(channel);
    return verbs::refuse(error);
  }
  channel->base.context = context;
  channel->base.fd = command.fd;
  return &channel->base;
}

extern "C" int ibv_destroy_comp_channel(ibv_comp_channel* handle) {
  auto* channel = verbs::object<Channel>(handle);
  if (channel == nullptr) return EINVAL;
  if (handle->refcnt != 0) return EBUSY;
  shim::system_call(SYS_close, handle->fd);
  verbs::release_object(channel);
  return 0;
}

extern "C" int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq_out, void** cq_context) {
  const verbs::VerbScope scope(VERBATIM_WAIT_IN(protocol::WaitingVerb::kGetCqEvent));
  for (;;) {
    protocol::CompletionEvent event{};
    const long got = shim::read_cancellably(channel->fd, &event, sizeof(event));
    if (got != static_cast<long>(sizeof(event))) {
      errno = got < 0 ? static_cast<int>(-got) : EIO;
      return -1;
    }
    auto* cq = verbs::object_if_alive<Cq>(reinterpret_cast<ibv_cq*>(event.cookie));
    // The CQ was destroyed while its event was pending: the event is dropped.
    if (cq == nullptr) continue;
    ++cq->completion_events;
    cq->event_taker = verbs::own_virtual_tid();
    *cq_out = verbs::public_cq(cq);
    *cq_context = cq->base.cq_context;
    return 0;
  }
}

extern "C" void ibv_ack_cq_events(ibv_cq* handle, unsigned count) {
  auto* cq = verbs::object<Cq>(handle);
  if (cq == nullptr) return;
  pthread_mutex_lock(&handle->mutex);
  handle->comp_events_completed += count;
  pthread_cond_signal(&handle->cond);
  pthread_mutex_unlock(&handle->mutex);
}
