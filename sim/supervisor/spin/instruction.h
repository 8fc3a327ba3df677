// One decoded instruction in the form the interpreter executes: everything that does not depend on register
// values has been worked out, among it what must be known (have a defined value) before the instruction may
// run.
#pragma once

#include <cstdint>

namespace verbatim::spin {

enum class Op : std::uint8_t {
  kRefused,  // `refusal` says why
  kNop,
  kMov,  // also MOVZX: the source is zero-extended
  kMovsx,
  kLea,
  kAdd,
  kAdc,
  kSub,
  kSbb,
  kCmp,
  kTest,
  kAnd,
  kAndn,
  kOr,
  kXor,
  kNot,
  kNeg,
  kInc,
  kDec,
  kShl,
  kShr,
  kSar,
  kRol,
  kRor,
  kMul,       // one operand, unsigned
  kImulWide,  // one operand, signed
  kImul,      // two or three operands
  kDiv,
  kIdiv,
  kBt,
  kBts,
  kBtr,
  kBtc,
  kBsf,
  kBsr,
  kTzcnt,
  kLzcnt,
  kPopcnt,
  kBswap,
  kExtendAccumulator,  // CBW, CWDE, CDQE
  kSpreadSign,         // CWD, CDQ, CQO
  kClc,
  kStc,
  kCmc,
  kSetcc,
  kCmovcc,
  kJcc,
  kJmp,
  kCall,
  kRet,
  kPush,
  kPop,
  kLeave,
  kXchg,
  kCmpxchg,
  kXadd,
  kShlx,  // SHLX, SHRX, SARX, RORX: no flag changes
  kShrx,
  kSarx,
  kRorx,
  kBlsi,  // the lowest bit that is set, …
  kBlsr,  // … all others, …
  kBlsmsk,  // … it and all below
  kBzhi,
  kBextr,
  kPdep,
  kPext,
  kMulx,  // of RDX and `source2`: the upper half to `destination`, the lower to `source`; no flag changes
  kStoreString,  // STOS, of `size` bytes
  kMoveString,   // MOVS
  // Vector operations; `size` is 16 or 32.
  kVectorMove,      // whole register, to or from memory or a register
  kVectorLoadLow,   // MOVD, MOVQ, MOVSS, MOVSD into a register: the rest of the 128 bits becomes zero
  kVectorStoreLow,  // … out of a register, `size` bytes
  kVectorMergeLow,  // MOVSS, MOVSD between registers: the rest of the 128 bits stays (VEX: comes from `src`)
  kVectorMoveHigh,  // MOVHPS, MOVHPD: bits 64-127, to or from memory
  kVectorHighToLow,  // MOVHLPS: bits 64-127 of `source2` go to the low ones, those above stay those of `source`
  kVectorXor,
  kVectorAnd,
  kVectorAndNot,
  kVectorOr,
  kVectorCompareEqual,  // elements of `source_size` bytes
  kVectorAdd,           // elements of `source_size` bytes
  kVectorSub,           // the same
  kVectorUnpackLow, kVectorUnpackHigh,  // PUNPCKLBW … PUNPCKLQDQ, PUNPCKHBW … PUNPCKHQDQ
  kVectorShiftBytesLeft, kVectorShiftBytesRight,  // PSLLDQ, PSRLDQ
  kVectorBroadcast,     // VPBROADCASTB …, MOVDDUP of 16 bytes
  kVectorShiftLeft, kVectorShiftRight,  // elements of `source_size` bytes, by an immediate
  kVectorExtractHalf,   // VEXTRACTI128 into a register
  kVectorExtract,       // PEXTRD, PEXTRQ: an element of `size` bytes
  kVectorInsert,        // PINSRD, PINSRQ: `source2` is an element of `size` bytes, the rest of the 128 bits comes from `source`
  kVectorShuffle32,     // PSHUFD
  kVectorAlign,         // PALIGNR: 16 bytes of `source` above `source2`
  kVectorMoveMask,      // PMOVMSKB
  kVectorTest,          // PTEST
  kVectorZeroUpper,     // VZEROUPPER
  // Numbers with binary point in the low `size` bytes; `source2` is what `source_size` says.
  kFloatFromInteger,  // CVTSI2SS, CVTSI2SD
  kFloatConvert,      // CVTSS2SD, CVTSD2SS
  kFloatAdd, kFloatSub, kFloatMul, kFloatDiv,
  kFloatTruncate,     // CVTTSS2SI, CVTTSD2SI
  kFloatCompare,      // COMISS, UCOMISS, …: `destination` with `source`
  // VFMADD132SS and its family, rounded once: `immediate` has FusedSigns, `size` is of each number.
  kFloatFused132,     // destination · source2 + source
  kFloatFused213,     // source · destination + source2
  kFloatFused231,     // source · source2 + destination
};

// Why an analysis ended without a proof.
enum class Reason : std::uint8_t {
  kNone,
  kNoRecurrence,    // the limit of steps came first: a counter, a long computation
  kClockRead,       // RDTSC, RDTSCP
  kSystemCall,      // SYSCALL, SYSENTER, INT n
  kCpuid,           // CPUID serialises and may be trapped
  kUnsupported,     // an instruction that is not interpreted
  kUndecodable,     // no instruction
  kUnreadable,      // data or code at an address that may not be read
  kUndefinedValue,  // reads a register or flag that nobody has given a value
  kStaleStack,      // reads stack below a call that may have changed it
  kLibraryCall,     // control reached the library where it is no poll
  kWritesCode,      // stores into a page it executes
  kTooMuchMemory,   // the limit of pages came first
  kDivideError,     // a division that would trap
  kMisaligned,      // an aligned vector access that would trap
  kNotAPoll,        // prove_poll_loop was not called at a poll's entry
  kManyPolls,       // the limit of polls in a turn came first
  kObserver,        // an observer of the interpreter ended it
  // Of values that grow each turn (growth.h).
  kGrowingAddress,  // memory is read or written at another address each turn
  kGrowingResult,   // something is computed of a growing value that does not follow a rule
  kGrowingPart,     // a part of a growing value is read or written
  kGrowingFlags,    // what a comparison of growing values does in other turns is not worked out
  kGrowingCall,     // a growing value is an argument of a poll
  kUnevenGrowth,    // another step the next turn
  kFewTurns,        // something else happens after a few turns
  kUnsettled,       // a comparison may come out either way in the turns that are looked at
  // Of clocks (turn_clock.h).
  kUnevenClock,      // a turn takes no whole number of the clock's units
  kClockAmongPolls,  // a clock is read in a turn that polls more than once
};

// In the order of the condition codes of the encoding (JO, JNO, JB, …).
enum class Condition : std::uint8_t {
  kO,
  kNo,
  kB,
  kNb,
  kZ,
  kNz,
  kBe,
  kNbe,
  kS,
  kNs,
  kP,
  kNp,
  kL,
  kNl,
  kLe,
  kNle
};

// Of fused multiplications, as bits 1 and 2 of their opcodes have it.
enum FusedSigns : std::uint8_t { kSubtractsAddend = 1, kNegatesProduct = 2 };

struct Operand {
  enum class Kind : std::uint8_t { kNone, kRegister, kHighByte, kImmediate, kMemory, kVector };
  Kind kind = Kind::kNone;
  std::uint8_t index = 0;  // of the register
};

// A shift of `source` by `source2` that changes no flag.
inline bool is_flagless_shift(Op op) {
  return op == Op::kShlx || op == Op::kShrx || op == Op::kSarx || op == Op::kRorx;
}

inline bool is_memory(const Operand& operand) { return operand.kind == Operand::Kind::kMemory; }
inline bool is_vector(const Operand& operand) { return operand.kind == Operand::Kind::kVector; }

// Known-ness of general registers in one word: bit r: byte 0 of register r, bit 16 + r: byte 1, bit 32 + r:
// the rest. The rest only ever becomes known as a whole, because a write of 32 bits clears the upper half.
constexpr std::uint64_t known_bits(unsigned index, unsigned size) {
  const std::uint64_t parts = size == 1 ? 0x1 : size == 2 ? 0x1'0001 : 0x1'0001'0001;
  return parts << index;
}
inline constexpr std::uint64_t kAllKnown = (1ull << 48) - 1;

struct Instruction {
  std::uint64_t address = 0;
  std::uint64_t next = 0;          // the following instruction
  std::uint64_t target = 0;        // of a direct jump or call
  std::uint64_t immediate = 0;     // sign-extended
  std::uint64_t displacement = 0;  // RIP-relative: the absolute address
  std::uint64_t needs = 0;         // known_bits of the general registers read
  std::uint32_t needs_flags = 0;
  std::uint32_t needs_vectors = 0;  // in the form of VectorRegisters::known
  bool reads_low = false;  // of their bits 64-127 it needs none, or carries them over from `source`
  bool reads_lowest = false;  // the same of bits 32-127
  Op op = Op::kRefused;
  Condition condition = Condition::kO;
  std::uint8_t size = 0;         // of the operation, in bytes
  std::uint8_t source_size = 0;  // of the source of an extending move
  Operand destination;
  Operand source;
  Operand source2;
  static constexpr std::uint8_t kNoRegister = 16;
  std::uint8_t base = kNoRegister;
  std::uint8_t index = kNoRegister;
  std::uint8_t scale = 1;
  bool fs_relative = false;
  bool address32 = false;
  bool writes_memory = false;
  bool vex = false;
  bool aligned = false;
  bool repeated = false;  // a string operation, RCX times
  Reason refusal = Reason::kNone;
  std::uint8_t length = 0;
  std::uint8_t bytes[15] = {};
  const char* mnemonic = "";
};

// Decodes the instruction at `address` from `available` bytes; an instruction that is not interpreted, or
// that does not exist, gives kRefused with the reason.
Instruction decode(std::uint64_t address, const std::uint8_t* bytes, unsigned available);

}  // namespace verbatim::spin
