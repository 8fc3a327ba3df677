// Starts flows when others have ended.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/workload/traffic.h"

namespace verbatim::workload {

class Flow;

class Trigger {
 public:
  explicit Trigger(const TriggerPlan& plan) : plan_(plan) {}
  // Must be called before the first firing. The flow's start must be kNever.
  void add(Flow& flow) { flows_.push_back(&flow); }
  // Called in the event in which a flow has ended; see TriggerPlan.
  void fire();

 private:
  const TriggerPlan plan_;
  std::vector<Flow*> flows_;
  std::size_t firings_ = 0;
};

}  // namespace verbatim::workload
