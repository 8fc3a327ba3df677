// Random instructions of every form that is interpreted, made by Zydis' encoder.
#pragma once

#include <Zydis/Zydis.h>

#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include "sim/core/rng.h"

namespace verbatim::spin {

enum class Form {
  kNone,
  kR,
  kRm,
  kRmRm,
  kRmR,
  kRR,
  kRRm,
  kRmImm8,
  kRmCl,
  kRRmImm,
  kRRmImm8,
  kRRR,
  kExtend,
  kLea,
  kPushPop,
  kRmOnlyMem,
  kXmmXmm,
  kXmmMem,
  kMemXmm,
  kXmmGpr,
  kGprXmm,
  kXmmYmmImm,
  kRRmR,
  kXmmXmmImm,
  kXmmImm,
  kXmmNarrow,
  kVex3,
  kVex3Imm,
  kR32Xmm,
  kRmXmmImm,
  kXmmRmImm,
  kVexXmmRmImm
};

struct Template {
  ZydisMnemonic mnemonic;
  Form form;
};

#define M(name) ZYDIS_MNEMONIC_##name
inline const Template kInteger[] = {
    {M(MOV), Form::kRmRm},     {M(ADD), Form::kRmRm},      {M(ADC), Form::kRmRm},
    {M(SUB), Form::kRmRm},     {M(SBB), Form::kRmRm},      {M(CMP), Form::kRmRm},
    {M(AND), Form::kRmRm},     {M(OR), Form::kRmRm},       {M(XOR), Form::kRmRm},
    {M(TEST), Form::kRmR},     {M(NOT), Form::kRm},        {M(NEG), Form::kRm},
    {M(INC), Form::kRm},       {M(DEC), Form::kRm},        {M(MUL), Form::kRm},
    {M(IMUL), Form::kRm},      {M(IMUL), Form::kRRm},      {M(IMUL), Form::kRRmImm},
    {M(DIV), Form::kRm},       {M(IDIV), Form::kRm},       {M(SHL), Form::kRmImm8},
    {M(SHR), Form::kRmImm8},   {M(SAR), Form::kRmImm8},    {M(ROL), Form::kRmImm8},
    {M(ROR), Form::kRmImm8},   {M(SHL), Form::kRmCl},      {M(SHR), Form::kRmCl},
    {M(SAR), Form::kRmCl},     {M(ROL), Form::kRmCl},      {M(ROR), Form::kRmCl},
    {M(BT), Form::kRmImm8},    {M(BTS), Form::kRmImm8},    {M(BTR), Form::kRmImm8},
    {M(BTC), Form::kRmImm8},   {M(BT), Form::kRR},         {M(BTS), Form::kRR},
    {M(BSF), Form::kRRm},      {M(BSR), Form::kRRm},       {M(TZCNT), Form::kRRm},
    {M(LZCNT), Form::kRRm},    {M(POPCNT), Form::kRRm},    {M(BSWAP), Form::kR},
    {M(CBW), Form::kNone},     {M(CWDE), Form::kNone},     {M(CDQE), Form::kNone},
    {M(CWD), Form::kNone},     {M(CDQ), Form::kNone},      {M(CQO), Form::kNone},
    {M(CLC), Form::kNone},     {M(STC), Form::kNone},      {M(CMC), Form::kNone},
    {M(NOP), Form::kNone},     {M(PAUSE), Form::kNone},    {M(MOVZX), Form::kExtend},
    {M(MOVSX), Form::kExtend}, {M(MOVSXD), Form::kExtend}, {M(LEA), Form::kLea},
    {M(XCHG), Form::kRmR},     {M(XADD), Form::kRmR},      {M(CMPXCHG), Form::kRmOnlyMem},
    {M(PUSH), Form::kPushPop}, {M(ANDN), Form::kRRR},      {M(SETO), Form::kRm},
    {M(SETNO), Form::kRm},     {M(SETB), Form::kRm},       {M(SETNB), Form::kRm},
    {M(SETZ), Form::kRm},      {M(SETNZ), Form::kRm},      {M(SETBE), Form::kRm},
    {M(SETNBE), Form::kRm},    {M(SETS), Form::kRm},       {M(SETNS), Form::kRm},
    {M(SETP), Form::kRm},      {M(SETNP), Form::kRm},      {M(SETL), Form::kRm},
    {M(SETNL), Form::kRm},     {M(SETLE), Form::kRm},      {M(SETNLE), Form::kRm},
    {M(CMOVO), Form::kRRm},    {M(CMOVNO), Form::kRRm},    {M(CMOVB), Form::kRRm},
    {M(CMOVNB), Form::kRRm},   {M(CMOVZ), Form::kRRm},     {M(CMOVNZ), Form::kRRm},
    {M(CMOVBE), Form::kRRm},   {M(CMOVNBE), Form::kRRm},   {M(CMOVS), Form::kRRm},
    {M(CMOVNS), Form::kRRm},   {M(CMOVP), Form::kRRm},     {M(CMOVNP), Form::kRRm},
    {M(CMOVL), Form::kRRm},    {M(CMOVNL), Form::kRRm},    {M(CMOVLE), Form::kRRm},
    {M(CMOVNLE), Form::kRRm},  {M(SHLX), Form::kRRmR},     {M(SHRX), Form::kRRmR},
    {M(SARX), Form::kRRmR},    {M(BZHI), Form::kRRmR},     {M(RORX), Form::kRRmImm8},
    {M(BEXTR), Form::kRRmR},   {M(PDEP), Form::kRRR},      {M(PEXT), Form::kRRR},
    {M(MULX), Form::kRRR},
    {M(BLSI), Form::kRRm},     {M(BLSR), Form::kRRm},      {M(BLSMSK), Form::kRRm},
};
inline const Template kVector[] = {
    {M(MOVAPS), Form::kXmmXmm},    {M(MOVAPS), Form::kXmmMem},     {M(MOVAPS), Form::kMemXmm},
    {M(MOVUPS), Form::kXmmMem},    {M(MOVUPS), Form::kMemXmm},     {M(MOVDQA), Form::kXmmXmm},
    {M(MOVDQU), Form::kXmmMem},    {M(MOVDQU), Form::kMemXmm},     {M(MOVQ), Form::kXmmGpr},
    {M(MOVQ), Form::kGprXmm},      {M(MOVQ), Form::kXmmMem},       {M(MOVQ), Form::kMemXmm},
    {M(MOVQ), Form::kXmmXmm},      {M(MOVD), Form::kXmmGpr},       {M(MOVD), Form::kGprXmm},
    {M(MOVD), Form::kXmmMem},      {M(MOVD), Form::kMemXmm},       {M(MOVSS), Form::kXmmXmm},
    {M(MOVSS), Form::kXmmMem},     {M(MOVSS), Form::kMemXmm},      {M(MOVSD), Form::kXmmXmm},
    {M(MOVSD), Form::kXmmMem},     {M(MOVSD), Form::kMemXmm},      {M(MOVHPS), Form::kXmmMem},
    {M(MOVHPS), Form::kMemXmm},    {M(PXOR), Form::kXmmXmm},       {M(XORPS), Form::kXmmMem},
    {M(PAND), Form::kXmmXmm},      {M(PANDN), Form::kXmmXmm},      {M(POR), Form::kXmmMem},
    {M(PCMPEQB), Form::kXmmXmm},   {M(PCMPEQW), Form::kXmmXmm},    {M(PCMPEQD), Form::kXmmMem},
    {M(PCMPEQQ), Form::kXmmXmm},   {M(PUNPCKLQDQ), Form::kXmmXmm}, {M(PSHUFD), Form::kXmmXmmImm},
    {M(PMOVMSKB), Form::kR32Xmm},  {M(PTEST), Form::kXmmXmm},      {M(VPTEST), Form::kXmmXmm},
    {M(VMOVDQU), Form::kXmmMem},   {M(VMOVDQU), Form::kMemXmm},    {M(VMOVDQA), Form::kXmmXmm},
    {M(VPXOR), Form::kVex3},       {M(VPAND), Form::kVex3},        {M(VPANDN), Form::kVex3},
    {M(VPOR), Form::kVex3},        {M(VPCMPEQB), Form::kVex3},     {M(VPCMPEQD), Form::kVex3},
    {M(VPUNPCKLQDQ), Form::kVex3}, {M(VPSHUFD), Form::kXmmXmmImm}, {M(VPMOVMSKB), Form::kR32Xmm},
    {M(VMOVQ), Form::kXmmGpr},     {M(VMOVD), Form::kXmmGpr},      {M(VZEROUPPER), Form::kNone},
    {M(PUNPCKLBW), Form::kXmmXmm}, {M(PUNPCKLWD), Form::kXmmXmm},  {M(PUNPCKLDQ), Form::kXmmXmm},
    {M(VPUNPCKLBW), Form::kVex3},  {M(VPUNPCKLDQ), Form::kVex3},   {M(PADDB), Form::kXmmXmm},
    {M(PADDW), Form::kXmmXmm},     {M(PADDD), Form::kXmmXmm},      {M(PADDQ), Form::kXmmXmm},
    {M(VPADDB), Form::kVex3},      {M(VPADDD), Form::kVex3},       {M(VPADDQ), Form::kVex3},
    {M(ANDPD), Form::kXmmXmm},     {M(ANDNPS), Form::kXmmXmm},     {M(ANDNPD), Form::kXmmMem},
    {M(ORPD), Form::kXmmXmm},      {M(VANDPD), Form::kVex3},       {M(VANDNPD), Form::kVex3},
    {M(VANDNPS), Form::kVex3},     {M(VORPD), Form::kVex3},
    {M(PSLLDQ), Form::kXmmImm},    {M(PSRLDQ), Form::kXmmImm},     {M(VPSLLDQ), Form::kXmmXmmImm},
    {M(VPSRLDQ), Form::kXmmXmmImm}, {M(VPBROADCASTB), Form::kXmmNarrow}, {M(VPBROADCASTW), Form::kXmmNarrow},
    {M(VPBROADCASTD), Form::kXmmNarrow}, {M(VPBROADCASTQ), Form::kXmmNarrow},
    {M(PSLLW), Form::kXmmImm},     {M(PSLLD), Form::kXmmImm},      {M(PSLLQ), Form::kXmmImm},
    {M(PSRLW), Form::kXmmImm},     {M(PSRLD), Form::kXmmImm},      {M(PSRLQ), Form::kXmmImm},
    {M(MOVHLPS), Form::kXmmXmm},   {M(VMOVHLPS), Form::kVex3},
    {M(PSUBB), Form::kXmmXmm},     {M(PSUBW), Form::kXmmXmm},      {M(PSUBD), Form::kXmmMem},
    {M(PSUBQ), Form::kXmmXmm},     {M(VPSUBB), Form::kVex3},       {M(VPSUBW), Form::kVex3},
    {M(VPSUBD), Form::kVex3},      {M(VPSUBQ), Form::kVex3},       {M(PUNPCKHBW), Form::kXmmXmm},
    {M(PUNPCKHWD), Form::kXmmXmm}, {M(PUNPCKHDQ), Form::kXmmXmm},  {M(PUNPCKHQDQ), Form::kXmmXmm},
    {M(VPUNPCKHBW), Form::kVex3},  {M(VPUNPCKHWD), Form::kVex3},   {M(VPUNPCKHDQ), Form::kVex3},
    {M(VPUNPCKHQDQ), Form::kVex3}, {M(PEXTRD), Form::kRmXmmImm},   {M(PEXTRQ), Form::kRmXmmImm},
    {M(VPEXTRD), Form::kRmXmmImm}, {M(VPEXTRQ), Form::kRmXmmImm},
    {M(VPSLLQ), Form::kXmmXmmImm}, {M(VPSRLD), Form::kXmmXmmImm},  {M(VEXTRACTI128), Form::kXmmYmmImm},
    {M(PALIGNR), Form::kXmmXmmImm},
    {M(PINSRD), Form::kXmmRmImm},  {M(PINSRQ), Form::kXmmRmImm},   {M(VPINSRD), Form::kVexXmmRmImm},
    {M(VPINSRQ), Form::kVexXmmRmImm}, {M(MOVDDUP), Form::kXmmXmm}, {M(MOVDDUP), Form::kXmmMem},
    {M(VMOVDDUP), Form::kXmmXmm},  {M(VMOVDDUP), Form::kXmmMem},
};
#undef M

// Memory operands lie around r15, indexed by r14 (0 to 15); both are never written. rsp only by PUSH and POP.
inline constexpr int kBufferSize = 4096;

// Any bytes, of which `zeros` out of four are zero.
inline void fill(std::uint8_t (&buffer)[kBufferSize], Rng& rng, unsigned zeros) {
  for (int i = 0; i < kBufferSize; i += 8) {
    std::uint64_t word = rng.next();
    const std::uint64_t draws = rng.next();  // two bits for each byte
    for (unsigned byte = 0; byte < 8; ++byte) {
      if ((draws >> 2 * byte & 3) < zeros) word &= ~(0xffull << 8 * byte);
    }
    std::memcpy(buffer + i, &word, sizeof word);
  }
}

class Generator {
 public:
  Generator(Rng& rng, bool vectors) : rng_(rng), vectors_(vectors) {}

  // One instruction; empty when the encoder knows no such form.
  std::vector<std::uint8_t> instruction() {
    used_ = nullptr;
    // A conditional jump over the next instruction, a call of it: the processor and the interpreter go there
    // too.
    if (rng_.chance(1, 24)) return call_next();
    if (rng_.chance(1, 12)) {
      const std::vector<std::uint8_t> skipped = encode();
      std::vector<std::uint8_t> bytes = {static_cast<std::uint8_t>(0x70 + rng_.below(16)),
                                         static_cast<std::uint8_t>(skipped.size())};
      bytes.insert(bytes.end(), skipped.begin(), skipped.end());
      used_ = nullptr;
      return bytes;
    }
    return encode();
  }
  // The template of the last instruction.
  const Template* used() const { return used_; }

 private:
  static std::vector<std::uint8_t> call_next() { return {0xe8, 0, 0, 0, 0}; }

  std::vector<std::uint8_t> encode() {
    request_ = {};
    request_.machine_mode = ZYDIS_MACHINE_MODE_LONG_64;
    request_.allowed_encodings =
        static_cast<ZydisEncodableEncoding>(ZYDIS_ENCODABLE_ENCODING_LEGACY | ZYDIS_ENCODABLE_ENCODING_VEX);
    const Template& chosen = vectors_ && rng_.chance(2, 3) ? kVector[rng_.below(std::size(kVector))]
                                                           : kInteger[rng_.below(std::size(kInteger))];
    request_.mnemonic = chosen.mnemonic;
    size_ = 1u << rng_.below(4);
    operands(chosen);
    std::uint8_t bytes[15];
    ZyanUSize length = sizeof bytes;
    if (ZYAN_FAILED(ZydisEncoderEncodeInstruction(&request_, bytes, &length))) return {};
    if (chosen.form == Form::kPushPop && rng_.chance(1, 2)) return push_pop();
    used_ = &chosen;
    return {bytes, bytes + length};
  }

  void operands(const Template& chosen) {
    const bool wide = rng_.chance(1, 3) && ZydisMnemonicGetString(chosen.mnemonic)[0] == 'v';
    switch (chosen.form) {
      case Form::kNone:
        return;
      case Form::kR:
        gpr(size_ < 4 ? 4 : size_);
        return;  // BSWAP
      case Form::kRR:
        gpr(size_);
        gpr(size_);
        return;
      case Form::kRm:
        if (ZydisMnemonicGetString(chosen.mnemonic)[0] == 's') size_ = 1;  // SETcc
        rm();
        return;
      case Form::kRmRm:
        if (rng_.chance(1, 4)) {
          rm();
          immediate();
        } else if (rng_.chance(1, 2)) {
          rm();
          gpr(size_);
        } else {
          gpr(size_);
          rm();
        }
        return;
      case Form::kRmR:
        rm();
        gpr(size_);
        return;
      case Form::kRRm:
        gpr(size_);
        rm();
        return;
      case Form::kRmImm8:
        rm();
        imm(rng_.below(256));
        return;
      case Form::kRmCl:
        rm();
        named(ZYDIS_REGISTER_CL);
        return;
      case Form::kRRmImm:
        gpr(size_);
        rm();
        immediate();
        return;
      case Form::kRRmImm8:
        gpr(size_);
        rm();
        imm(rng_.below(256));
        return;
      case Form::kRRR:
        gpr(size_);
        gpr(size_);
        rm();
        return;
      case Form::kExtend:
        gpr(size_);
        size_ = 1u << rng_.below(3);
        rm();
        return;
      case Form::kLea:
        gpr(size_);
        memory(size_);
        return;
      case Form::kPushPop:
        gpr(8);
        return;
      case Form::kRmOnlyMem:
        memory(size_);
        gpr(size_);
        return;
      case Form::kXmmXmm:
        xmm(wide);
        xmm(wide);
        return;
      case Form::kXmmMem:
        xmm(wide);
        memory(vector_bytes(chosen, wide));
        return;
      case Form::kMemXmm:
        memory(vector_bytes(chosen, wide));
        xmm(wide);
        return;
      case Form::kXmmGpr:
        xmm(false);
        gpr(move_bytes(chosen));
        return;
      case Form::kGprXmm:
        gpr(move_bytes(chosen));
        xmm(false);
        return;
      case Form::kXmmXmmImm:
        xmm(wide);
        xmm(wide);
        imm(rng_.below(256));
        return;
      case Form::kXmmImm:
        xmm(false);
        imm(rng_.below(20));
        return;
      case Form::kXmmYmmImm:
        xmm(false);
        xmm(true);
        imm(rng_.below(256));
        return;
      case Form::kRRmR:
        gpr(size_);
        rm();
        gpr(size_);
        return;
      case Form::kXmmNarrow:
        xmm(wide);
        xmm(false);
        return;
      case Form::kVex3:
        xmm(wide);
        xmm(wide);
        if (rng_.chance(1, 2))
          xmm(wide);
        else
          memory(wide ? 32 : 16);
        return;
      case Form::kVex3Imm:
        xmm(wide);
        xmm(wide);
        xmm(wide);
        imm(rng_.below(256));
        return;
      case Form::kRmXmmImm:
        size_ = chosen.mnemonic == ZYDIS_MNEMONIC_PEXTRD || chosen.mnemonic == ZYDIS_MNEMONIC_VPEXTRD ? 4 : 8;
        rm();
        xmm(false);
        imm(rng_.below(256));
        return;
      case Form::kVexXmmRmImm:
        xmm(false);
        [[fallthrough]];
      case Form::kXmmRmImm:
        size_ = chosen.mnemonic == ZYDIS_MNEMONIC_PINSRD || chosen.mnemonic == ZYDIS_MNEMONIC_VPINSRD ? 4 : 8;
        xmm(false);
        rm();
        imm(rng_.below(256));
        return;
      case Form::kR32Xmm:
        gpr(4);
        xmm(wide);
        return;
    }
  }

  static unsigned move_bytes(const Template& chosen) {
    return chosen.mnemonic == ZYDIS_MNEMONIC_MOVD || chosen.mnemonic == ZYDIS_MNEMONIC_VMOVD ? 4 : 8;
  }
  static unsigned vector_bytes(const Template& chosen, bool wide) {
    switch (chosen.mnemonic) {
      case ZYDIS_MNEMONIC_MOVD:
      case ZYDIS_MNEMONIC_MOVSS:
        return 4;
      case ZYDIS_MNEMONIC_MOVQ:
      case ZYDIS_MNEMONIC_MOVSD:
      case ZYDIS_MNEMONIC_MOVHPS:
      case ZYDIS_MNEMONIC_MOVDDUP:
        return 8;
      case ZYDIS_MNEMONIC_VMOVDDUP:
        return wide ? 32 : 8;
      default:
        return wide ? 32 : 16;
    }
  }

  std::vector<std::uint8_t> push_pop() {
    static constexpr std::uint8_t kPop[] = {0x58, 0x59, 0x5a, 0x5b, 0x5d, 0x5e, 0x5f};
    return {kPop[rng_.below(std::size(kPop))]};
  }

  ZydisEncoderOperand& next() { return request_.operands[request_.operand_count++]; }

  void named(ZydisRegister name) {
    ZydisEncoderOperand& operand = next();
    operand.type = ZYDIS_OPERAND_TYPE_REGISTER;
    operand.reg.value = name;
  }
  void gpr(unsigned size) {
    static constexpr int kUsable[] = {0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13};
    const int index = kUsable[rng_.below(std::size(kUsable))];
    if (size == 1 && index < 4 && rng_.chance(1, 3)) {
      named(static_cast<ZydisRegister>(ZYDIS_REGISTER_AH + index));
      return;
    }
    const ZydisRegisterClass kind = size == 1   ? ZYDIS_REGCLASS_GPR8
                                    : size == 2 ? ZYDIS_REGCLASS_GPR16
                                    : size == 4 ? ZYDIS_REGCLASS_GPR32
                                                : ZYDIS_REGCLASS_GPR64;
    if (size == 1) {
      named(
          static_cast<ZydisRegister>(index < 4 ? ZYDIS_REGISTER_AL + index : ZYDIS_REGISTER_SPL + index - 4));
      return;
    }
    named(ZydisRegisterEncode(kind, static_cast<ZyanU8>(index)));
  }
  void xmm(bool wide) {
    named(ZydisRegisterEncode(wide ? ZYDIS_REGCLASS_YMM : ZYDIS_REGCLASS_XMM,
                              static_cast<ZyanU8>(rng_.below(16))));
  }
  void memory(unsigned size) {
    ZydisEncoderOperand& operand = next();
    operand.type = ZYDIS_OPERAND_TYPE_MEMORY;
    operand.mem.base = ZYDIS_REGISTER_R15;
    if (rng_.chance(1, 2)) {
      operand.mem.index = ZYDIS_REGISTER_R14;
      operand.mem.scale = static_cast<ZyanU8>(1u << rng_.below(4));
    }
    operand.mem.displacement = static_cast<ZyanI64>(rng_.below(256)) - 128;
    if (rng_.chance(1, 2)) operand.mem.displacement &= ~31;
    operand.mem.size = static_cast<ZyanU16>(size);
  }
  void rm() {
    if (rng_.chance(1, 3)) {
      memory(size_);
    } else {
      gpr(size_);
    }
  }
  void imm(std::uint64_t value) {
    ZydisEncoderOperand& operand = next();
    operand.type = ZYDIS_OPERAND_TYPE_IMMEDIATE;
    operand.imm.u = value;
  }
  void immediate() {
    static constexpr std::int64_t kInteresting[] = {0, 1, -1, 127, -128, 0x7fff'ffff, -0x8000'0000ll};
    const std::int64_t value = rng_.chance(1, 2) ? kInteresting[rng_.below(std::size(kInteresting))]
                                                 : static_cast<std::int8_t>(rng_.next());
    ZydisEncoderOperand& operand = next();
    operand.type = ZYDIS_OPERAND_TYPE_IMMEDIATE;
    operand.imm.s = value;
  }

  Rng& rng_;
  bool vectors_;
  const Template* used_ = nullptr;
  unsigned size_ = 8;
  ZydisEncoderRequest request_{};
};

inline std::uint64_t interesting(Rng& rng) {
  switch (rng.below(6)) {
    case 0:
      return 0;
    case 1:
      return ~0ull;
    case 2:
      return 1ull << rng.below(64);
    case 3:
      return rng.below(64);
    case 4:
      return ~(1ull << rng.below(64));
    default:
      return rng.next();
  }
}

}  // namespace verbatim::spin
