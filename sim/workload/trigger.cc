#include "sim/workload/trigger.h"

#include "sim/workload/flow.h"

namespace verbatim::workload {

void Trigger::fire() {
  ++firings_;
  if (plan_.kind == TriggerPlan::Kind::kNext) {
    if (firings_ <= flows_.size()) flows_[firings_ - 1]->start_now();
    return;
  }
  const std::size_t count = plan_.kind == TriggerPlan::Kind::kAll ? 1 : plan_.count;
  if (firings_ != count) return;
  for (Flow* const flow : flows_) flow->start_now();
}

}  // namespace verbatim::workload
