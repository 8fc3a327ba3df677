// Which instructions are interpreted, and as what. For the decoder only: the one other place that knows
// Zydis.
#pragma once

#include <Zydis/Zydis.h>

#include <cstdint>

#include "sim/supervisor/spin/instruction.h"

namespace verbatim::spin {

struct Operation {
  Op op = Op::kRefused;
  std::uint8_t element = 0;  // bytes, where a vector operation has elements of its own
  Condition condition = Condition::kO;
};

// Whatever is not in the tables is refused, so an instruction nobody thought of is never interpreted wrongly.
Operation find_operation(ZydisMnemonic mnemonic);

// Why an instruction that is not interpreted ends an analysis.
Reason refusal_reason(ZydisMnemonic mnemonic);

}  // namespace verbatim::spin
