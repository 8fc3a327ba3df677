#include "sim/hca/datapath/notifier.h"

#include <algorithm>
#include <utility>

#include "sim/hca/adapter_base.h"
#include "sim/hca/datapath/completion_queue.h"
#include "sim/hca/datapath/queue_pair.h"
#include "sim/hca/datapath/shared_receive_queue.h"
#include "sim/hca/freedom.h"

namespace verbatim::hca {

Notifier::Notifier(AdapterBase& adapter, host::DmaEngine& dma, KeyTable& keys)
    : adapter_(adapter),
      dma_(dma),
      keys_(keys),
      due_(DelayLine<Notice>::of<&Notifier::on_due>(adapter.engine, adapter.id, EventClass::kStage, this)) {}

void Notifier::push(Notice notice) {
  notice.delay = rare_delays_.choose(freedom::kEventDelay, adapter_.choices, adapter_.id);
  const InterruptProfile& interrupt = adapter_.profile.interrupt;
  if (interrupt.event_bytes == 0) return wake(std::move(notice));
  writing_.push_back(std::move(notice));
  dma_.write(interrupt.event_bytes, *this, false);
  dma_.write(interrupt.message_bytes, *this, true);
}

void Notifier::on_dma_write(std::uint64_t is_message) {
  if (is_message != 0) wake(writing_.pop_front());
}

void Notifier::wake(Notice notice) {
  last_due_ = std::max(last_due_, adapter_.engine.now() + adapter_.profile.event_latency + notice.delay);
  due_.push(last_due_, std::move(notice));
}

void Notifier::completion_event(CompletionQueue& cq) { push({cq.self, {}, {}, {}, true, {}, {}}); }

void Notifier::async_event(CompletionQueue& cq, ib::AsyncEventType type) {
  push({cq.self, {}, {}, type, false, {}, {}});
}

void Notifier::async_event(QueuePair& qp, ib::AsyncEventType type) {
  push({{}, qp.self, {}, type, false, {}, {}});
}

void Notifier::async_event(SharedReceiveQueue& srq, ib::AsyncEventType type) {
  push({{}, {}, srq.self, type, false, {}, {}});
}

void Notifier::port_event(Context& context, ib::AsyncEventType type) {
  push({{}, {}, {}, type, false, context.self, {}});
}

void Notifier::on_due(Notice notice) {
  CompletionQueue* cq = notice.cq.get();
  QueuePair* qp = notice.qp.get();
  if (notice.is_completion) {
    if (cq == nullptr) return;
    ++cq->events_reported;
    adapter_.tracer.record(adapter_.id, TraceEvent::kCompletionEvent, cq->number(), cq->params().channel,
                           cq->context.program.process);
    cq->context.program.listener->on_completion_event(cq->params().channel, {cq->params().cookie});
    return;
  }
  SharedReceiveQueue* srq = notice.srq.get();
  Context* context = nullptr;
  std::uint32_t number = 0;
  protocol::AsyncEvent event{};
  event.event_type = static_cast<std::uint32_t>(notice.type);
  if (cq != nullptr) {
    ++cq->async_events_reported;
    event.element = cq->params().cookie;
    number = cq->number();
    context = &cq->context;
  } else if (qp != nullptr && qp->is_xrc_receiver()) {
    return notify_openings(*qp, event);
  } else if (qp != nullptr) {
    ++qp->async_events_reported;
    event.element = qp->params.cookie;
    number = qp->number;
    context = &qp->context;
  } else if (srq != nullptr) {
    ++srq->async_events_reported;
    event.element = srq->params.cookie;
    number = srq->params.number;
    context = &srq->context;
  } else if (notice.context.get() != nullptr) {
    if (notice.type != ib::AsyncEventType::kDeviceFatal) event.element = number = kPortNumber;
    context = notice.context.get();
  } else {
    return;
  }
  adapter_.tracer.record(adapter_.id, TraceEvent::kAsyncEvent, event.event_type, number,
                         context->program.process);
  context->program.listener->on_async_event(context->number, event);
}

void Notifier::notify_openings(QueuePair& qp, protocol::AsyncEvent event) {
  for (const QueuePairOpening& opening : qp.openings) {
    event.element = opening.cookie;
    Context& context = *opening.context.get();
    adapter_.tracer.record(adapter_.id, TraceEvent::kAsyncEvent, event.event_type, qp.number,
                           context.program.process);
    context.program.listener->on_async_event(context.number, event);
  }
}

void Notifier::dma_fault(Context& context, std::uint32_t key, std::uint64_t va, std::uint64_t length) {
  MemoryRegion* region = keys_.find(key);
  if (region == nullptr || region->context != &context || region->fault_reported) return;
  region->fault_reported = true;
  context.program.listener->on_dma_fault(context.number, va, length);
}

}  // namespace verbatim::hca
