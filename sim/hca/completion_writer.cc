#include "sim/hca/completion_writer.h"

#include <utility>

#include "sim/hca/adapter.h"

namespace verbatim::hca {

CompletionWriter::CompletionWriter(Adapter& adapter)
    : adapter_(adapter),
      stage_(adapter.clock, adapter.profile.completion),
      staged_(DelayLine<Pending>::of<&CompletionWriter::on_staged>(adapter.engine, adapter.id,
                                                                   EventClass::kStage, this)) {}

void CompletionWriter::push(const Ref<CompletionQueue>& cq, const protocol::Cqe& entry, bool solicited) {
  staged_.push(stage_.accept(adapter_.engine.now()), {cq, entry, solicited});
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
