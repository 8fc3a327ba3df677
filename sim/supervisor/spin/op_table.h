// The instructions that are interpreted, and their operation. Used by the decoder only, which is the only
// other user of Zydis.
#pragma once

#include <Zydis/Zydis.h>

#include <cstdint>

#include "sim/supervisor/spin/instruction.h"

namespace verbatim::spin {

struct Operation {
  Op op = Op::kRefused;
  std::uint8_t element = 0;  // element size of a vector operation in bytes, if it has one
  Condition condition = Condition::kO;
};

// An instruction that is not in the tables is refused.
Operation find_operation(ZydisMnemonic mnemonic);

// The reason for refusing the instruction.
Reason refusal_reason(ZydisMnemonic mnemonic);

}  // namespace verbatim::spin
