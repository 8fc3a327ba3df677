#include "sim/hca/completion_writer.h"

#include <algorithm>
#include <utility>

#include "sim/hca/adapter.h"
#include "sim/hca/freedom.h"

namespace verbatim::hca {

CompletionWriter::CompletionWriter(Adapter& adapter)
    : adapter_(adapter),
      stage_(adapter.clock, adapter.profile.completion),
      staged_(DelayLine<Pending>::of<&CompletionWriter::on_staged>(adapter.engine, adapter.id,
                                                                   EventClass::kStage, this)),
      hold_timer_(
          Timer::of<&CompletionWriter::on_hold_over>(adapter.engine, adapter.id, EventClass::kStage, this)) {}

void CompletionWriter::push(const Ref<CompletionQueue>& cq, const protocol::Cqe& entry, bool solicited) {
  adapter_.payloads.release_held();
  const Instant now = adapter_.engine.now();
  const Duration delay = freedom::kCompletionDelay.choose(adapter_.choices, adapter_.id);
  if (delay == Duration::zero() && held_.empty()) return stage({cq, entry, solicited});
  Instant& last = last_[{entry.qpn, entry.is_receive != 0}];
  last = std::max(last, now + delay);
  held_.emplace(std::pair(last, held_ever_++), Pending{cq, entry, solicited});
  hold_timer_.reschedule_at(held_.begin()->first.first);
}

void CompletionWriter::on_hold_over() {
  stage(held_.extract(held_.begin()).mapped());
  if (!held_.empty()) hold_timer_.schedule_at(held_.begin()->first.first);
}

void CompletionWriter::release_held() {
  hold_timer_.cancel();
  for (auto& [when, pending] : held_) stage(std::move(pending));
  held_.clear();
  last_.clear();
}

void CompletionWriter::stage(Pending pending) {
  staged_.push(stage_.accept(adapter_.engine.now()), std::move(pending));
}

void CompletionWriter::on_staged(Pending pending) {
  adapter_.dma.write(sizeof(protocol::Cqe), *this, 0);
  writing_.push_back(std::move(pending));
}

void CompletionWriter::on_dma_write(std::uint64_t) {
  const Pending pending = writing_.pop_front();
  if (CompletionQueue* cq = pending.cq.get(); cq != nullptr) cq->write(pending.entry, pending.solicited);
}

}  // namespace verbatim::hca
