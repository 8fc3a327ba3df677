// The memory model: for each case of memory_model.c the allowed outcomes, all of which must occur with `spec`. All
// others are forbidden. Sources: RDMA^TSO (Ambal et al., OOPSLA 2024) for WRITEs, READs, fences and the processor;
// ibv_reg_mr(3), ORDERING SEMANTICS, and IBA 9.5, 10.8.3 for SENDs, atomics and order within one message.
#pragma once

#include <string>
#include <vector>

namespace verbatim::litmus {

struct MemoryCase {
  std::string name;
  std::string question;
  std::vector<std::string> allowed;
  // Allowed by the model, and never shown by the simulator: see the guide.
  std::vector<std::string> not_shown = {};
};

inline const std::vector<MemoryCase>& memory_cases() {
  static const std::vector<MemoryCase> all = {
      {"mp-write-write", "WRITE x, WRITE y on one queue pair; the processor sees y and not x", {"a=0 b=0", "a=0 b=1", "a=1 b=1"}},
      {"mp-write-write-2qp", "the same on two queue pairs", {"a=0 b=0", "a=0 b=1", "a=1 b=0", "a=1 b=1"}},
      {"mp-write-wait-write-2qp",
       "the same, and the completion of the first is waited for",
       {"a=0 b=0", "a=0 b=1", "a=1 b=1"},
       {"a=1 b=0"}},
      {"mp-write-send", "WRITE x, SEND; x behind the receive's completion", {"a=1"}},
      {"mp-write-send-2qp", "the same on two queue pairs", {"a=0", "a=1"}},
      {"mp-write-imm", "WRITE x with immediate; x behind the completion", {"a=1"}},
      {"mp-write-atomic", "WRITE x, FETCH_ADD y; the processor sees y and not x", {"a=0 b=0", "a=0 b=1", "a=1 b=1"}},
      {"mp-send-send-2qp", "two SENDs on two queue pairs", {"a=1 b=2", "a=2 b=1"}},
      {"mp-read-read", "READ y, READ x on one queue pair, the processor writes x, then y", {"c=0 d=0", "c=0 d=1", "c=1 d=1"}},
      {"mp-read-read-2qp", "the same on two queue pairs", {"c=0 d=0", "c=0 d=1", "c=1 d=0", "c=1 d=1"}},
      {"mp-read-wait-read-2qp", "the same, one after the other's completion", {"c=0 d=0", "c=0 d=1", "c=1 d=1"}},
      {"sb-write-read", "WRITE x, READ y against y = 1, x read by the processor", {"a=0 c=0", "a=0 c=1", "a=1 c=0", "a=1 c=1"}},
      {"sb-write-read-2qp", "the same on two queue pairs", {"a=0 c=0", "a=0 c=1", "a=1 c=0", "a=1 c=1"}},
      {"lb-read-write", "READ x, WRITE y against y read, x = 1 by the processor", {"a=0 c=0", "a=0 c=1", "a=1 c=0", "a=1 c=1"}},
      {"lb-read-fence-write", "the same with a fence", {"a=0 c=0", "a=0 c=1", "a=1 c=0"}},
      {"iriw",
       "x and y written by two queue pairs; the processor sees y and not x, READs on one queue pair x and not y",
       {"a=0 b=0 c=0 d=0", "a=0 b=0 c=0 d=1", "a=0 b=0 c=1 d=0", "a=0 b=0 c=1 d=1", "a=0 b=1 c=0 d=0", "a=0 b=1 c=0 d=1",
        "a=0 b=1 c=1 d=0", "a=0 b=1 c=1 d=1", "a=1 b=0 c=0 d=0", "a=1 b=0 c=0 d=1", "a=1 b=0 c=1 d=1", "a=1 b=1 c=0 d=0",
        "a=1 b=1 c=0 d=1", "a=1 b=1 c=1 d=0", "a=1 b=1 c=1 d=1"}},
      {"co-read-write", "READ x, WRITE x on one queue pair", {"c=0 x=1", "c=1 x=1"}},
      {"co-read-fence-write", "the same with a fence", {"c=0 x=1"}},
      {"co-write-read", "WRITE x, READ x on one queue pair", {"c=1 x=1"}},
      {"co-write-read-2qp", "the same on two queue pairs", {"c=0 x=1", "c=1 x=1"}},
      {"co-write-write",
       "WRITE 1, WRITE 2 to x on one queue pair, read twice",
       {"a=0 b=0 x=2", "a=0 b=1 x=2", "a=0 b=2 x=2", "a=1 b=1 x=2", "a=1 b=2 x=2", "a=2 b=2 x=2"}},
      {"co-write-write-2qp", "the same on two queue pairs", {"x=1", "x=2"}},
      {"co-read-twice", "WRITE x, read twice by the processor", {"a=0 b=0", "a=0 b=1", "a=1 b=1"}},
      {"reuse", "WRITE from a buffer that is written again at once", {"x=1", "x=2"}},
      {"reuse-wait", "the same behind the completion", {"x=1"}},
      {"copy", "READ into a buffer, WRITE from it", {"y=0", "y=5"}},
      {"copy-fence", "the same with a fence", {"y=5"}},
      {"atomic-atomic-2qp", "two FETCH_ADDs on two queue pairs", {"c=0 d=1 x=2", "c=1 d=0 x=2"}},
      {"atomic-cpu", "FETCH_ADD against an addition by the processor", {"x=1", "x=2"}},
      {"one-message",
       "one WRITE of 256 bytes; its last word is there and its first is not",
       {"a=0 b=0", "a=0 b=1", "a=1 b=0", "a=1 b=1"}},
  };
  return all;
}

}  // namespace verbatim::litmus
