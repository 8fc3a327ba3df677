// Instructions decoded by Zydis, with all operands.
#pragma once

#include <Zydis/Zydis.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace verbatim::code {

inline ZydisDecoder make_decoder(bool minimal) {
  ZydisDecoder made;
  ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  ZydisDecoderEnableMode(&made, ZYDIS_DECODER_MODE_MINIMAL, minimal);
  return made;
}

struct Decoded {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

// Whether `code` begins with a valid instruction, which is then in `decoded`.
inline bool decode(std::span<const std::byte> code, Decoded& decoded) {
  static const ZydisDecoder decoder = make_decoder(false);
  return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.data(), code.size(), &decoded.instruction, decoded.operands));
}

}  // namespace verbatim::code
