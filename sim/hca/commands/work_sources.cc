// Queue pairs of work sources (work_source.h): made and connected without commands, and rung like those of programs.
#include <bit>

#include "sim/hca/commands/hca_impl.h"

namespace verbatim::hca {

std::uint32_t Hca::Impl::source_key() {
  if (source_region_ == nullptr) {
    source_region_ = std::make_unique<MemoryRegion>();
    source_region_->access = SourceSide::kAccess;
    source_region_->length = adapter.profile.max_message_bytes;
    source_region_->context = own_context_.get();
    source_region_->key = adapter.keys.add(*source_region_);
  }
  return source_region_->key;
}

SourceEnd Hca::Impl::add_source(WorkSource& source, std::uint32_t depth) {
  CHECK(qp_count_ < adapter.profile.max_qp && depth > 0 && depth <= adapter.profile.max_qp_wr);
  QueuePairParams params;
  params.number = take_qp_number();
  // A ring of entries for one buffer each, of which there are the numbers but not the bytes.
  const WorkQueue send({}, std::bit_ceil(depth), SourceSide::ring_entry_bytes());
  const Ref<QueuePair> ref = qp_pool_.create(adapter, *own_context_.get(), params, send, WorkQueue());
  add_qp(ref);
  QueuePair& qp = *ref.get();
  qp.source.reset(new SourceSide{.source = source, .key = source_key(), .capacity = source_region_->length});
  sources_.push_back(ref);
  return {qp.number, qp.source->key};
}

void Hca::Impl::connect_source(std::uint32_t qpn, const SourcePath& path) {
  QueuePair* qp = adapter.qp_by_number(ib::Qpn{qpn});
  CHECK(qp != nullptr && qp->source != nullptr);
  qp->source->peer_key = path.peer.key;
  protocol::QpAttributes to = attributes_of(path);
  const auto move_to = [&](ib::QpState state, std::uint32_t mask) {
    to.qp_state = static_cast<std::uint32_t>(state);
    CHECK(qp->modify(to, ib::kQpState | mask) == 0);
  };
  move_to(ib::QpState::kInit, ib::kQpPkeyIndex | ib::kQpPort | ib::kQpAccessFlags);
  move_to(ib::QpState::kRtr, ib::kQpAv | ib::kQpPathMtu | ib::kQpDestQpn | ib::kQpRqPsn | ib::kQpMaxDestRdAtomic |
                                 ib::kQpMinRnrTimer);
  move_to(ib::QpState::kRts,
          ib::kQpSqPsn | ib::kQpTimeout | ib::kQpRetryCount | ib::kQpRnrRetry | ib::kQpMaxRdAtomic);
}

void Hca::Impl::post_source(std::uint32_t qpn, std::uint32_t count) {
  if (adapter.has_failed) return;
  QueuePair* qp = adapter.qp_by_number(ib::Qpn{qpn});
  CHECK(qp != nullptr && qp->source != nullptr);
  qp->source->producer += count;
  CHECK(qp->source->producer - qp->send_queue.retired() <= qp->send_queue.entries());
  send_doorbell(*own_context_.get(), protocol::DoorbellKind::kSendQueue, qpn, qp->source->producer, qp->ring_epoch, 0,
                Duration(0));
}

void Hca::Impl::fail_sources() {
  for (const Ref<QueuePair>& ref : sources_) {
    QueuePair& qp = *ref.get();
    qp.source->source.on_adapter_failed(qp.number);
    --qp_count_;
    destroy_numbered(qp);
  }
  sources_.clear();
}

SourceEnd Hca::add_source(WorkSource& source, std::uint32_t depth) { return impl_->add_source(source, depth); }
void Hca::connect_source(std::uint32_t qpn, const SourcePath& path) { impl_->connect_source(qpn, path); }
void Hca::post_source(std::uint32_t qpn, std::uint32_t count) { impl_->post_source(qpn, count); }

}  // namespace verbatim::hca
