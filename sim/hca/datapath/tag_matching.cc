#include "sim/hca/datapath/tag_matching.h"

#include <utility>

#include "sim/hca/datapath/adapter.h"
#include "sim/hca/datapath/shared_receive_queue.h"

namespace verbatim::hca {

namespace {

ib::WcOpcode wc_opcode(protocol::TagOpcode opcode) {
  switch (opcode) {
    case protocol::TagOpcode::kAdd:
      return ib::WcOpcode::kTagAdd;
    case protocol::TagOpcode::kDelete:
      return ib::WcOpcode::kTagDelete;
    case protocol::TagOpcode::kSync:
      break;
  }
  return ib::WcOpcode::kTagSync;
}

}  // namespace

void TagMatching::on_doorbell(std::uint32_t producer) {
  if (srq_.receives.has_failed()) return;
  if (ring_.announce(producer) == WorkQueue::Announcement::kImpossible) return srq_.receives.fail();
  fetch_more();
}

void TagMatching::fetch_more() {
  if (fetching_ > 0 || ring_.to_fetch() == 0) return;
  const std::uint32_t count = ring_.run_length(adapter_.profile.wqe_prefetch);
  adapter_.fetcher.fetch_tag_operations(srq_.self, ring_.fetched(), count, count * ring_.stride());
  ring_.fetch(count);
  fetching_ += count;
}

void TagMatching::on_operation(TagOperation&& operation) {
  --fetching_;
  if (srq_.receives.has_failed()) return;
  if (operation.malformed) return srq_.receives.fail();
  protocol::Cqe entry{};
  entry.wr_id = operation.wr_id;
  entry.opcode = static_cast<std::uint8_t>(wc_opcode(operation.opcode));
  entry.queue = protocol::CqeQueue::kNone;
  const bool is_signaled = (operation.flags & protocol::kTagSignaled) != 0;
  const ib::WcStatus status = list.execute(std::move(operation));
  entry.status = static_cast<std::uint8_t>(status);
  if (!list.is_synchronized()) entry.flags = ib::kWcTagSyncRequired;
  ring_.retire();
  publish();
  if (is_signaled || status != ib::WcStatus::kSuccess) adapter_.completions.push(srq_.params.cq, entry, false, Trail());
  fetch_more();
}

void TagMatching::publish() { adapter_.records.write_tags(srq_, ring_.retired(), list.left()); }

void TagMatching::show(std::uint32_t operations_done, std::uint32_t tags_left) {
  record_.operations_done.store(operations_done, std::memory_order_release);
  record_.tags_left.store(tags_left, std::memory_order_release);
}

}  // namespace verbatim::hca
