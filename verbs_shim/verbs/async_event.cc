// Asynchronous events of an opened device.
#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {
namespace {

enum class Affiliation { kPort, kCq, kQp, kSrq, kWq };

// Kind of the event's element (ibv_get_async_event(3)).
Affiliation affiliation_of(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_CQ_ERR:
      return Affiliation::kCq;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return Affiliation::kQp;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return Affiliation::kSrq;
    case IBV_EVENT_WQ_FATAL:
      return Affiliation::kWq;
    default:
      return Affiliation::kPort;
  }
}

void acknowledge(pthread_mutex_t* mutex, pthread_cond_t* condition, std::uint32_t* acknowledged) {
  pthread_mutex_lock(mutex);
  ++*acknowledged;
  pthread_cond_signal(condition);
  pthread_mutex_unlock(mutex);
}

template <typename Object>
bool count_event(Object* object) {
  if (object == nullptr) return false;
  ++object->async_events;
  object->event_taker = own_virtual_tid();
  return true;
}

// Fills in the program's event and counts it. False if the object has been destroyed; the event is then
// dropped.
bool deliver(const protocol::AsyncEvent& raw, ibv_async_event* event) {
  event->event_type = static_cast<ibv_event_type>(raw.event_type);
  switch (affiliation_of(event->event_type)) {
    case Affiliation::kCq: {
      event->element.cq = reinterpret_cast<ibv_cq*>(raw.element);
      auto* cq = object_if_alive<Cq>(event->element.cq);
      return count_event(cq);
    }
    case Affiliation::kQp: {
      event->element.qp = reinterpret_cast<ibv_qp*>(raw.element);
      auto* qp = object_if_alive<Qp>(event->element.qp);
      return count_event(qp);
    }
    case Affiliation::kSrq: {
      event->element.srq = reinterpret_cast<ibv_srq*>(raw.element);
      auto* srq = object_if_alive<Srq>(event->element.srq);
      return count_event(srq);
    }
    case Affiliation::kWq: {
      event->element.wq = reinterpret_cast<ibv_wq*>(raw.element);
      auto* wq = object_if_alive<Wq>(event->element.wq);
      return count_event(wq);
    }
    case Affiliation::kPort:
      event->element.port_num = static_cast<int>(raw.element);
      return true;
  }
  return true;
}

}  // namespace
}  // namespace verbatim::verbs

using namespace verbatim;
using verbs::Affiliation;

extern "C" int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  const verbs::VerbScope scope(VERBATIM_WAIT_IN(protocol::WaitingVerb::kGetAsyncEvent));
  for (;;) {
    protocol::AsyncEvent raw{};
    const long got = shim::read_cancellably(context->async_fd, &raw, sizeof(raw));
    if (got != static_cast<long>(sizeof(raw))) {
      errno = got < 0 ? static_cast<int>(-got) : EIO;
      return -1;
    }
    if (verbs::deliver(raw, event)) return 0;
  }
}

extern "C" void ibv_ack_async_event(ibv_async_event* event) {
  switch (verbs::affiliation_of(event->event_type)) {
    case Affiliation::kCq:
      if (auto* cq = verbs::object_if_alive<verbs::Cq>(event->element.cq)) {
        verbs::acknowledge(&cq->base.mutex, &cq->base.cond, &cq->base.async_events_completed);
      }
      break;
    case Affiliation::kQp:
      if (auto* qp = verbs::object_if_alive<verbs::Qp>(event->element.qp)) {
        ibv_qp* base = verbs::public_qp(qp);
        verbs::acknowledge(&base->mutex, &base->cond, &base->events_completed);
      }
      break;
    case Affiliation::kSrq:
      if (auto* srq = verbs::object_if_alive<verbs::Srq>(event->element.srq)) {
        verbs::acknowledge(&srq->base.mutex, &srq->base.cond, &srq->base.events_completed);
      }
      break;
    case Affiliation::kWq:
      if (auto* wq = verbs::object_if_alive<verbs::Wq>(event->element.wq)) {
        verbs::acknowledge(&wq->base.mutex, &wq->base.cond, &wq->base.events_completed);
      }
      break;
    case Affiliation::kPort:
      break;
  }
}
