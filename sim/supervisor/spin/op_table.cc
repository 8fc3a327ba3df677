#include "sim/supervisor/spin/op_table.h"

namespace verbatim::spin {
namespace {

struct Row {
  ZydisMnemonic mnemonic;
  Op op;
  std::uint8_t element = 0;
};

constexpr Row kIntegerRows[] = {
    {ZYDIS_MNEMONIC_NOP, Op::kNop},
    {ZYDIS_MNEMONIC_PAUSE, Op::kNop},
    {ZYDIS_MNEMONIC_ENDBR64, Op::kNop},
    {ZYDIS_MNEMONIC_MFENCE, Op::kNop},
    {ZYDIS_MNEMONIC_LFENCE, Op::kNop},
    {ZYDIS_MNEMONIC_SFENCE, Op::kNop},
    {ZYDIS_MNEMONIC_PREFETCH, Op::kNop},
    {ZYDIS_MNEMONIC_PREFETCHW, Op::kNop},
    {ZYDIS_MNEMONIC_PREFETCHNTA, Op::kNop},
    {ZYDIS_MNEMONIC_PREFETCHT0, Op::kNop},
    {ZYDIS_MNEMONIC_PREFETCHT1, Op::kNop},
    {ZYDIS_MNEMONIC_PREFETCHT2, Op::kNop},
    {ZYDIS_MNEMONIC_MOV, Op::kMov},
    {ZYDIS_MNEMONIC_MOVZX, Op::kMov},
    {ZYDIS_MNEMONIC_MOVSX, Op::kMovsx},
    {ZYDIS_MNEMONIC_MOVSXD, Op::kMovsx},
    {ZYDIS_MNEMONIC_LEA, Op::kLea},
    {ZYDIS_MNEMONIC_ADD, Op::kAdd},
    {ZYDIS_MNEMONIC_ADC, Op::kAdc},
    {ZYDIS_MNEMONIC_SUB, Op::kSub},
    {ZYDIS_MNEMONIC_SBB, Op::kSbb},
    {ZYDIS_MNEMONIC_CMP, Op::kCmp},
    {ZYDIS_MNEMONIC_TEST, Op::kTest},
    {ZYDIS_MNEMONIC_AND, Op::kAnd},
    {ZYDIS_MNEMONIC_ANDN, Op::kAndn},
    {ZYDIS_MNEMONIC_OR, Op::kOr},
    {ZYDIS_MNEMONIC_XOR, Op::kXor},
    {ZYDIS_MNEMONIC_NOT, Op::kNot},
    {ZYDIS_MNEMONIC_NEG, Op::kNeg},
    {ZYDIS_MNEMONIC_INC, Op::kInc},
    {ZYDIS_MNEMONIC_DEC, Op::kDec},
    {ZYDIS_MNEMONIC_SHL, Op::kShl},
    {ZYDIS_MNEMONIC_SHR, Op::kShr},
    {ZYDIS_MNEMONIC_SAR, Op::kSar},
    {ZYDIS_MNEMONIC_ROL, Op::kRol},
    {ZYDIS_MNEMONIC_ROR, Op::kRor},
    {ZYDIS_MNEMONIC_MUL, Op::kMul},
    {ZYDIS_MNEMONIC_DIV, Op::kDiv},
    {ZYDIS_MNEMONIC_IMUL, Op::kImul},
    {ZYDIS_MNEMONIC_IDIV, Op::kIdiv},
    {ZYDIS_MNEMONIC_BT, Op::kBt},
    {ZYDIS_MNEMONIC_BTS, Op::kBts},
    {ZYDIS_MNEMONIC_BTR, Op::kBtr},
    {ZYDIS_MNEMONIC_BTC, Op::kBtc},
    {ZYDIS_MNEMONIC_BSF, Op::kBsf},
    {ZYDIS_MNEMONIC_BSR, Op::kBsr},
    {ZYDIS_MNEMONIC_TZCNT, Op::kTzcnt},
    {ZYDIS_MNEMONIC_LZCNT, Op::kLzcnt},
    {ZYDIS_MNEMONIC_POPCNT, Op::kPopcnt},
    {ZYDIS_MNEMONIC_BSWAP, Op::kBswap},
    {ZYDIS_MNEMONIC_CBW, Op::kExtendAccumulator},
    {ZYDIS_MNEMONIC_CWDE, Op::kExtendAccumulator},
    {ZYDIS_MNEMONIC_CDQE, Op::kExtendAccumulator},
    {ZYDIS_MNEMONIC_CWD, Op::kSpreadSign},
    {ZYDIS_MNEMONIC_CDQ, Op::kSpreadSign},
    {ZYDIS_MNEMONIC_CQO, Op::kSpreadSign},
    {ZYDIS_MNEMONIC_CLC, Op::kClc},
    {ZYDIS_MNEMONIC_STC, Op::kStc},
    {ZYDIS_MNEMONIC_CMC, Op::kCmc},
    {ZYDIS_MNEMONIC_JMP, Op::kJmp},
    {ZYDIS_MNEMONIC_CALL, Op::kCall},
    {ZYDIS_MNEMONIC_RET, Op::kRet},
    {ZYDIS_MNEMONIC_PUSH, Op::kPush},
    {ZYDIS_MNEMONIC_POP, Op::kPop},
    {ZYDIS_MNEMONIC_LEAVE, Op::kLeave},
    {ZYDIS_MNEMONIC_XCHG, Op::kXchg},
    {ZYDIS_MNEMONIC_CMPXCHG, Op::kCmpxchg},
    {ZYDIS_MNEMONIC_XADD, Op::kXadd},
    {ZYDIS_MNEMONIC_SHLX, Op::kShlx},
    {ZYDIS_MNEMONIC_SHRX, Op::kShrx},
    {ZYDIS_MNEMONIC_SARX, Op::kSarx},
    {ZYDIS_MNEMONIC_RORX, Op::kRorx},
    {ZYDIS_MNEMONIC_BLSI, Op::kBlsi},
    {ZYDIS_MNEMONIC_BLSR, Op::kBlsr},
    {ZYDIS_MNEMONIC_BLSMSK, Op::kBlsmsk},
    {ZYDIS_MNEMONIC_BZHI, Op::kBzhi},
    {ZYDIS_MNEMONIC_BEXTR, Op::kBextr},
    {ZYDIS_MNEMONIC_PDEP, Op::kPdep},
    {ZYDIS_MNEMONIC_PEXT, Op::kPext},
    {ZYDIS_MNEMONIC_MULX, Op::kMulx},
    {ZYDIS_MNEMONIC_STOSB, Op::kStoreString},
    {ZYDIS_MNEMONIC_STOSW, Op::kStoreString},
    {ZYDIS_MNEMONIC_STOSD, Op::kStoreString},
    {ZYDIS_MNEMONIC_STOSQ, Op::kStoreString},
    {ZYDIS_MNEMONIC_MOVSB, Op::kMoveString},
    {ZYDIS_MNEMONIC_MOVSW, Op::kMoveString},
    {ZYDIS_MNEMONIC_MOVSQ, Op::kMoveString},
};

constexpr Row kVectorRows[] = {
    {ZYDIS_MNEMONIC_MOVAPS, Op::kVectorMove},
    {ZYDIS_MNEMONIC_VMOVAPS, Op::kVectorMove},
    {ZYDIS_MNEMONIC_MOVAPD, Op::kVectorMove},
    {ZYDIS_MNEMONIC_VMOVAPD, Op::kVectorMove},
    {ZYDIS_MNEMONIC_MOVDQA, Op::kVectorMove},
    {ZYDIS_MNEMONIC_VMOVDQA, Op::kVectorMove},
    {ZYDIS_MNEMONIC_MOVUPS, Op::kVectorMove},
    {ZYDIS_MNEMONIC_VMOVUPS, Op::kVectorMove},
    {ZYDIS_MNEMONIC_MOVUPD, Op::kVectorMove},
    {ZYDIS_MNEMONIC_VMOVUPD, Op::kVectorMove},
    {ZYDIS_MNEMONIC_MOVDQU, Op::kVectorMove},
    {ZYDIS_MNEMONIC_VMOVDQU, Op::kVectorMove},
    {ZYDIS_MNEMONIC_LDDQU, Op::kVectorMove},
    {ZYDIS_MNEMONIC_VLDDQU, Op::kVectorMove},
    {ZYDIS_MNEMONIC_MOVD, Op::kVectorLoadLow},
    {ZYDIS_MNEMONIC_VMOVD, Op::kVectorLoadLow},
    {ZYDIS_MNEMONIC_MOVQ, Op::kVectorLoadLow},
    {ZYDIS_MNEMONIC_VMOVQ, Op::kVectorLoadLow},
    {ZYDIS_MNEMONIC_MOVSS, Op::kVectorMergeLow, 4},
    {ZYDIS_MNEMONIC_VMOVSS, Op::kVectorMergeLow, 4},
    {ZYDIS_MNEMONIC_MOVSD, Op::kVectorMergeLow, 8},
    {ZYDIS_MNEMONIC_VMOVSD, Op::kVectorMergeLow, 8},
    {ZYDIS_MNEMONIC_MOVHPS, Op::kVectorMoveHigh},
    {ZYDIS_MNEMONIC_VMOVHPS, Op::kVectorMoveHigh},
    {ZYDIS_MNEMONIC_MOVHPD, Op::kVectorMoveHigh},
    {ZYDIS_MNEMONIC_VMOVHPD, Op::kVectorMoveHigh},
    {ZYDIS_MNEMONIC_PXOR, Op::kVectorXor},
    {ZYDIS_MNEMONIC_VPXOR, Op::kVectorXor},
    {ZYDIS_MNEMONIC_XORPS, Op::kVectorXor},
    {ZYDIS_MNEMONIC_VXORPS, Op::kVectorXor},
    {ZYDIS_MNEMONIC_XORPD, Op::kVectorXor},
    {ZYDIS_MNEMONIC_VXORPD, Op::kVectorXor},
    {ZYDIS_MNEMONIC_PAND, Op::kVectorAnd},
    {ZYDIS_MNEMONIC_VPAND, Op::kVectorAnd},
    {ZYDIS_MNEMONIC_ANDPS, Op::kVectorAnd},
    {ZYDIS_MNEMONIC_VANDPS, Op::kVectorAnd},
    {ZYDIS_MNEMONIC_ANDPD, Op::kVectorAnd},
    {ZYDIS_MNEMONIC_VANDPD, Op::kVectorAnd},
    {ZYDIS_MNEMONIC_PANDN, Op::kVectorAndNot},
    {ZYDIS_MNEMONIC_VPANDN, Op::kVectorAndNot},
    {ZYDIS_MNEMONIC_ANDNPS, Op::kVectorAndNot},
    {ZYDIS_MNEMONIC_VANDNPS, Op::kVectorAndNot},
    {ZYDIS_MNEMONIC_ANDNPD, Op::kVectorAndNot},
    {ZYDIS_MNEMONIC_VANDNPD, Op::kVectorAndNot},
    {ZYDIS_MNEMONIC_POR, Op::kVectorOr},
    {ZYDIS_MNEMONIC_VPOR, Op::kVectorOr},
    {ZYDIS_MNEMONIC_ORPS, Op::kVectorOr},
    {ZYDIS_MNEMONIC_VORPS, Op::kVectorOr},
    {ZYDIS_MNEMONIC_ORPD, Op::kVectorOr},
    {ZYDIS_MNEMONIC_VORPD, Op::kVectorOr},
    {ZYDIS_MNEMONIC_PCMPEQB, Op::kVectorCompareEqual, 1},
    {ZYDIS_MNEMONIC_VPCMPEQB, Op::kVectorCompareEqual, 1},
    {ZYDIS_MNEMONIC_PCMPEQW, Op::kVectorCompareEqual, 2},
    {ZYDIS_MNEMONIC_VPCMPEQW, Op::kVectorCompareEqual, 2},
    {ZYDIS_MNEMONIC_PCMPEQD, Op::kVectorCompareEqual, 4},
    {ZYDIS_MNEMONIC_VPCMPEQD, Op::kVectorCompareEqual, 4},
    {ZYDIS_MNEMONIC_PCMPEQQ, Op::kVectorCompareEqual, 8},
    {ZYDIS_MNEMONIC_VPCMPEQQ, Op::kVectorCompareEqual, 8},
    {ZYDIS_MNEMONIC_PUNPCKLBW, Op::kVectorUnpackLow, 1},
    {ZYDIS_MNEMONIC_VPUNPCKLBW, Op::kVectorUnpackLow, 1},
    {ZYDIS_MNEMONIC_PUNPCKLWD, Op::kVectorUnpackLow, 2},
    {ZYDIS_MNEMONIC_VPUNPCKLWD, Op::kVectorUnpackLow, 2},
    {ZYDIS_MNEMONIC_PUNPCKLDQ, Op::kVectorUnpackLow, 4},
    {ZYDIS_MNEMONIC_VPUNPCKLDQ, Op::kVectorUnpackLow, 4},
    {ZYDIS_MNEMONIC_PUNPCKLQDQ, Op::kVectorUnpackLow, 8},
    {ZYDIS_MNEMONIC_VPUNPCKLQDQ, Op::kVectorUnpackLow, 8},
    {ZYDIS_MNEMONIC_PADDB, Op::kVectorAdd, 1},
    {ZYDIS_MNEMONIC_VPADDB, Op::kVectorAdd, 1},
    {ZYDIS_MNEMONIC_PADDW, Op::kVectorAdd, 2},
    {ZYDIS_MNEMONIC_VPADDW, Op::kVectorAdd, 2},
    {ZYDIS_MNEMONIC_PADDD, Op::kVectorAdd, 4},
    {ZYDIS_MNEMONIC_VPADDD, Op::kVectorAdd, 4},
    {ZYDIS_MNEMONIC_PADDQ, Op::kVectorAdd, 8},
    {ZYDIS_MNEMONIC_VPADDQ, Op::kVectorAdd, 8},
    {ZYDIS_MNEMONIC_PSLLW, Op::kVectorShiftLeft, 2},
    {ZYDIS_MNEMONIC_VPSLLW, Op::kVectorShiftLeft, 2},
    {ZYDIS_MNEMONIC_PSLLD, Op::kVectorShiftLeft, 4},
    {ZYDIS_MNEMONIC_VPSLLD, Op::kVectorShiftLeft, 4},
    {ZYDIS_MNEMONIC_PSLLQ, Op::kVectorShiftLeft, 8},
    {ZYDIS_MNEMONIC_VPSLLQ, Op::kVectorShiftLeft, 8},
    {ZYDIS_MNEMONIC_PSRLW, Op::kVectorShiftRight, 2},
    {ZYDIS_MNEMONIC_VPSRLW, Op::kVectorShiftRight, 2},
    {ZYDIS_MNEMONIC_PSRLD, Op::kVectorShiftRight, 4},
    {ZYDIS_MNEMONIC_VPSRLD, Op::kVectorShiftRight, 4},
    {ZYDIS_MNEMONIC_PSRLQ, Op::kVectorShiftRight, 8},
    {ZYDIS_MNEMONIC_VPSRLQ, Op::kVectorShiftRight, 8},
    {ZYDIS_MNEMONIC_VEXTRACTI128, Op::kVectorExtractHalf},
    {ZYDIS_MNEMONIC_VPBROADCASTB, Op::kVectorBroadcast, 1},
    {ZYDIS_MNEMONIC_VPBROADCASTW, Op::kVectorBroadcast, 2},
    {ZYDIS_MNEMONIC_VPBROADCASTD, Op::kVectorBroadcast, 4},
    {ZYDIS_MNEMONIC_VPBROADCASTQ, Op::kVectorBroadcast, 8},
    {ZYDIS_MNEMONIC_PSLLDQ, Op::kVectorShiftBytesLeft},
    {ZYDIS_MNEMONIC_VPSLLDQ, Op::kVectorShiftBytesLeft},
    {ZYDIS_MNEMONIC_PSRLDQ, Op::kVectorShiftBytesRight},
    {ZYDIS_MNEMONIC_VPSRLDQ, Op::kVectorShiftBytesRight},
    {ZYDIS_MNEMONIC_PSHUFD, Op::kVectorShuffle32},
    {ZYDIS_MNEMONIC_VPSHUFD, Op::kVectorShuffle32},
    {ZYDIS_MNEMONIC_PMOVMSKB, Op::kVectorMoveMask},
    {ZYDIS_MNEMONIC_VPMOVMSKB, Op::kVectorMoveMask},
    {ZYDIS_MNEMONIC_PTEST, Op::kVectorTest},
    {ZYDIS_MNEMONIC_VPTEST, Op::kVectorTest},
    {ZYDIS_MNEMONIC_VZEROUPPER, Op::kVectorZeroUpper},
    {ZYDIS_MNEMONIC_VFMADD132SS, Op::kFloatFused132, 4},
    {ZYDIS_MNEMONIC_VFMADD132SD, Op::kFloatFused132, 8},
    {ZYDIS_MNEMONIC_VFMSUB132SS, Op::kFloatFused132, 4},
    {ZYDIS_MNEMONIC_VFMSUB132SD, Op::kFloatFused132, 8},
    {ZYDIS_MNEMONIC_VFNMADD132SS, Op::kFloatFused132, 4},
    {ZYDIS_MNEMONIC_VFNMADD132SD, Op::kFloatFused132, 8},
    {ZYDIS_MNEMONIC_VFNMSUB132SS, Op::kFloatFused132, 4},
    {ZYDIS_MNEMONIC_VFNMSUB132SD, Op::kFloatFused132, 8},
    {ZYDIS_MNEMONIC_VFMADD213SS, Op::kFloatFused213, 4},
    {ZYDIS_MNEMONIC_VFMADD213SD, Op::kFloatFused213, 8},
    {ZYDIS_MNEMONIC_VFMSUB213SS, Op::kFloatFused213, 4},
    {ZYDIS_MNEMONIC_VFMSUB213SD, Op::kFloatFused213, 8},
    {ZYDIS_MNEMONIC_VFNMADD213SS, Op::kFloatFused213, 4},
    {ZYDIS_MNEMONIC_VFNMADD213SD, Op::kFloatFused213, 8},
    {ZYDIS_MNEMONIC_VFNMSUB213SS, Op::kFloatFused213, 4},
    {ZYDIS_MNEMONIC_VFNMSUB213SD, Op::kFloatFused213, 8},
    {ZYDIS_MNEMONIC_VFMADD231SS, Op::kFloatFused231, 4},
    {ZYDIS_MNEMONIC_VFMADD231SD, Op::kFloatFused231, 8},
    {ZYDIS_MNEMONIC_VFMSUB231SS, Op::kFloatFused231, 4},
    {ZYDIS_MNEMONIC_VFMSUB231SD, Op::kFloatFused231, 8},
    {ZYDIS_MNEMONIC_VFNMADD231SS, Op::kFloatFused231, 4},
    {ZYDIS_MNEMONIC_VFNMADD231SD, Op::kFloatFused231, 8},
    {ZYDIS_MNEMONIC_VFNMSUB231SS, Op::kFloatFused231, 4},
    {ZYDIS_MNEMONIC_VFNMSUB231SD, Op::kFloatFused231, 8},
    {ZYDIS_MNEMONIC_ADDSS, Op::kFloatAdd, 4},
    {ZYDIS_MNEMONIC_VADDSS, Op::kFloatAdd, 4},
    {ZYDIS_MNEMONIC_ADDSD, Op::kFloatAdd, 8},
    {ZYDIS_MNEMONIC_VADDSD, Op::kFloatAdd, 8},
    {ZYDIS_MNEMONIC_SUBSS, Op::kFloatSub, 4},
    {ZYDIS_MNEMONIC_VSUBSS, Op::kFloatSub, 4},
    {ZYDIS_MNEMONIC_SUBSD, Op::kFloatSub, 8},
    {ZYDIS_MNEMONIC_VSUBSD, Op::kFloatSub, 8},
    {ZYDIS_MNEMONIC_MULSS, Op::kFloatMul, 4},
    {ZYDIS_MNEMONIC_VMULSS, Op::kFloatMul, 4},
    {ZYDIS_MNEMONIC_MULSD, Op::kFloatMul, 8},
    {ZYDIS_MNEMONIC_VMULSD, Op::kFloatMul, 8},
    {ZYDIS_MNEMONIC_DIVSS, Op::kFloatDiv, 4},
    {ZYDIS_MNEMONIC_VDIVSS, Op::kFloatDiv, 4},
    {ZYDIS_MNEMONIC_DIVSD, Op::kFloatDiv, 8},
    {ZYDIS_MNEMONIC_VDIVSD, Op::kFloatDiv, 8},
    {ZYDIS_MNEMONIC_COMISS, Op::kFloatCompare, 4},
    {ZYDIS_MNEMONIC_VCOMISS, Op::kFloatCompare, 4},
    {ZYDIS_MNEMONIC_COMISD, Op::kFloatCompare, 8},
    {ZYDIS_MNEMONIC_VCOMISD, Op::kFloatCompare, 8},
    {ZYDIS_MNEMONIC_UCOMISS, Op::kFloatCompare, 4},
    {ZYDIS_MNEMONIC_VUCOMISS, Op::kFloatCompare, 4},
    {ZYDIS_MNEMONIC_UCOMISD, Op::kFloatCompare, 8},
    {ZYDIS_MNEMONIC_VUCOMISD, Op::kFloatCompare, 8},
    {ZYDIS_MNEMONIC_CVTSI2SS, Op::kFloatFromInteger, 4},
    {ZYDIS_MNEMONIC_CVTSI2SD, Op::kFloatFromInteger, 8},
    {ZYDIS_MNEMONIC_CVTSS2SD, Op::kFloatConvert, 4},
    {ZYDIS_MNEMONIC_CVTSD2SS, Op::kFloatConvert, 8},
    {ZYDIS_MNEMONIC_CVTTSS2SI, Op::kFloatTruncate, 4},
    {ZYDIS_MNEMONIC_CVTTSD2SI, Op::kFloatTruncate, 8},
    {ZYDIS_MNEMONIC_VCVTSI2SS, Op::kFloatFromInteger, 4},
    {ZYDIS_MNEMONIC_VCVTSI2SD, Op::kFloatFromInteger, 8},
    {ZYDIS_MNEMONIC_VCVTSS2SD, Op::kFloatConvert, 4},
    {ZYDIS_MNEMONIC_VCVTSD2SS, Op::kFloatConvert, 8},
    {ZYDIS_MNEMONIC_VCVTTSS2SI, Op::kFloatTruncate, 4},
    {ZYDIS_MNEMONIC_VCVTTSD2SI, Op::kFloatTruncate, 8},
};

struct ConditionRow {
  ZydisMnemonic jump, set, move;
  Condition condition;
};

#define VERBATIM_CONDITION(zydis, ours) \
  { ZYDIS_MNEMONIC_J##zydis, ZYDIS_MNEMONIC_SET##zydis, ZYDIS_MNEMONIC_CMOV##zydis, Condition::ours }
constexpr ConditionRow kConditionRows[] = {
    VERBATIM_CONDITION(O, kO),     VERBATIM_CONDITION(NO, kNo),   VERBATIM_CONDITION(B, kB),
    VERBATIM_CONDITION(NB, kNb),   VERBATIM_CONDITION(Z, kZ),     VERBATIM_CONDITION(NZ, kNz),
    VERBATIM_CONDITION(BE, kBe),   VERBATIM_CONDITION(NBE, kNbe), VERBATIM_CONDITION(S, kS),
    VERBATIM_CONDITION(NS, kNs),   VERBATIM_CONDITION(P, kP),     VERBATIM_CONDITION(NP, kNp),
    VERBATIM_CONDITION(L, kL),     VERBATIM_CONDITION(NL, kNl),   VERBATIM_CONDITION(LE, kLe),
    VERBATIM_CONDITION(NLE, kNle),
};
#undef VERBATIM_CONDITION

}  // namespace

Operation find_operation(ZydisMnemonic mnemonic) {
  for (const Row& row : kIntegerRows) {
    if (row.mnemonic == mnemonic) return {row.op, 0};
  }
  for (const ConditionRow& row : kConditionRows) {
    if (row.jump == mnemonic) return {Op::kJcc, 0, row.condition};
    if (row.set == mnemonic) return {Op::kSetcc, 0, row.condition};
    if (row.move == mnemonic) return {Op::kCmovcc, 0, row.condition};
  }
  for (const Row& row : kVectorRows) {
    if (row.mnemonic == mnemonic) return {row.op, row.element};
  }
  return {};
}

Reason refusal_reason(ZydisMnemonic mnemonic) {
  switch (mnemonic) {
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
      return Reason::kClockRead;
    case ZYDIS_MNEMONIC_SYSCALL:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_INT:
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_INT1:
      return Reason::kSystemCall;
    case ZYDIS_MNEMONIC_CPUID:
      return Reason::kCpuid;
    default:
      return Reason::kUnsupported;
  }
}

}  // namespace verbatim::spin
