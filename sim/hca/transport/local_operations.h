// Requests that send nothing: they bind a memory window or invalidate a key of this side
// (datapath/memory_window.h).
#pragma once

#include "sim/hca/queues/work_request.h"
#include "sim/ib/types.h"

namespace verbatim::hca {

class LocalOperations {
 public:
  // Executes the request. Returns its error, or kSuccess.
  virtual ib::WcStatus execute_local(const SendWork& work) = 0;

 protected:
  ~LocalOperations() = default;
};

}  // namespace verbatim::hca
