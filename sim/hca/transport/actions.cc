#include "sim/hca/transport/actions.h"

#include <memory>

namespace verbatim::hca {

void Actions::destroy_owned() {
  if (has_finished_) finished_.~FinishedRequests();
  if (has_received_) received_.~FinishedReceive();
  has_finished_ = has_received_ = false;
}

void Actions::take(Actions&& other) {
  std::uninitialized_copy(other.begin(), other.end(), actions_);
  size_ = other.size_;
  cause_ = other.cause_;
  has_finished_ = other.has_finished_;
  has_received_ = other.has_received_;
  if (has_finished_) new (&finished_) FinishedRequests(std::move(other.finished_));
  if (has_received_) new (&received_) FinishedReceive(std::move(other.received_));
}

}  // namespace verbatim::hca
