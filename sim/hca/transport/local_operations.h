// What a request that sends nothing does on this side: it binds a memory window, or invalidates a key (memory_window.h).
#pragma once

#include "sim/hca/queues/work_request.h"
#include "sim/ib/types.h"

namespace verbatim::hca {

class LocalOperations {
 public:
  // What is wrong with the request; kSuccess when it has been executed.
  virtual ib::WcStatus execute_local(const SendWork& work) = 0;

 protected:
  ~LocalOperations() = default;
};

}  // namespace verbatim::hca
