// A decoded instruction as the interpreter executes it. Everything independent of register values is computed
// here, including the registers and flags that must be known (have a defined value) before the instruction
// may run.
#pragma once

#include <cstdint>

namespace verbatim::spin {

enum class Op : std::uint8_t {
  kRefused,  // see `refusal`
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
  kBlsi,  // isolates the lowest set bit
  kBlsr,  // clears the lowest set bit
  kBlsmsk,  // mask up to the lowest set bit
  kBzhi,
  kBextr,
  kPdep,
  kPext,
  kMulx,  // RDX · `source2`: upper half to `destination`, lower half to `source`; no flag changes
  kStoreString,  // STOS, elements of `size` bytes
  kMoveString,   // MOVS
  // Vector operations; `size` is 16 or 32.
  kVectorMove,      // whole register, to or from memory or a register
  kVectorLoadLow,   // MOVD, MOVQ, MOVSS, MOVSD to a register: the rest of the 128 bits becomes zero
  kVectorStoreLow,  // the same from a register, `size` bytes
  // MOVSS, MOVSD between registers: the rest of the 128 bits is kept (VEX: copied from `source`)
  kVectorMergeLow,
  kVectorMoveHigh,  // MOVHPS, MOVHPD: bits 64-127, to or from memory
  kVectorHighToLow,  // MOVHLPS: bits 64-127 of `source2` to bits 0-63; bits 64-127 come from `source`
  kVectorXor,
  kVectorAnd,
  kVectorAndNot,
  kVectorOr,
  kVectorCompareEqual,  // elements of `source_size` bytes
  kVectorAdd,           // elements of `source_size` bytes
  kVectorSub,           // elements of `source_size` bytes
  kVectorUnpackLow, kVectorUnpackHigh,  // PUNPCKLBW … PUNPCKLQDQ, PUNPCKHBW … PUNPCKHQDQ
  kVectorShiftBytesLeft, kVectorShiftBytesRight,  // PSLLDQ, PSRLDQ
  kVectorBroadcast,     // VPBROADCASTB …; 16-byte MOVDDUP
  kVectorShiftLeft, kVectorShiftRight,  // elements of `source_size` bytes, by an immediate
  kVectorExtractHalf,   // VEXTRACTI128 to a register
  kVectorExtract,       // PEXTRD, PEXTRQ: an element of `size` bytes
  // PINSRD, PINSRQ: `source2` is an element of `size` bytes; the rest of the 128 bits comes from `source`
  kVectorInsert,
  kVectorShuffle32,     // PSHUFD
  kVectorAlign,         // PALIGNR: `source` above `source2`, 16 bytes each
  kVectorMoveMask,      // PMOVMSKB
  kVectorTest,          // PTEST
  kVectorZeroUpper,     // VZEROUPPER
  // Scalar floating point in the low `size` bytes; `source2` has `source_size` bytes.
  kFloatFromInteger,  // CVTSI2SS, CVTSI2SD
  kFloatConvert,      // CVTSS2SD, CVTSD2SS
  kFloatAdd, kFloatSub, kFloatMul, kFloatDiv,
  kFloatTruncate,     // CVTTSS2SI, CVTTSD2SI
  kFloatCompare,      // COMISS, UCOMISS, …: compares `destination` with `source`
  // VFMADD132SS and its family, rounded once. `immediate` has FusedSigns; `size` is that of each number.
  kFloatFused132,     // destination · source2 + source
  kFloatFused213,     // source · destination + source2
  kFloatFused231,     // source · source2 + destination
};

// Reasons for which an analysis ends without a proof.
enum class Reason : std::uint8_t {
  kNone,
  kNoRecurrence,    // limit of steps reached: a counter, a long computation
  kClockRead,       // RDTSC, RDTSCP
  kSystemCall,      // SYSCALL, SYSENTER, INT n
  kCpuid,           // CPUID: serialises and may be trapped
  kUnsupported,     // instruction without an interpretation
  kUndecodable,     // not an instruction
  kUnreadable,      // unreadable data or code
  kUndefinedValue,  // use of an undefined register or flag
  kStaleStack,      // read of stack that a call may have overwritten
  kBelowStack,      // write of data where a call has its frames
  kLibraryCall,     // jump into the library other than to a poll
  kWritesCode,      // store to a page that is executed
  kTooMuchMemory,   // limit of pages reached
  kDivideError,     // division that would trap
  kMisaligned,      // aligned vector access that would trap
  kNotAPoll,        // prove_poll_loop() was not called at a poll's entry
  kManyPolls,       // limit of polls in a turn reached
  kObserver,        // ended by an observer of the interpreter
  // Growing values (growth.h).
  kGrowingAddress,  // access at an address that changes each turn
  kGrowingResult,   // result of a growing value that follows no rule
  kGrowingPart,     // access to a part of a growing value
  kGrowingFlags,    // comparison of growing values whose outcome in other turns is not computed
  kGrowingCall,     // growing argument of a poll
  kUnevenGrowth,    // the step differs in the next turn
  kFewTurns,        // the loop deviates after a few turns
  kUnsettled,       // a comparison has different outcomes in the turns considered
  // Clocks (turn_clock.h).
  kUnevenClock,      // a turn takes no whole number of the clock's units
  kClockAmongPolls,  // a clock is read, and the turn has too many polls
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

// Signs of fused multiplications, encoded as bits 1 and 2 of the opcode.
enum FusedSigns : std::uint8_t { kSubtractsAddend = 1, kNegatesProduct = 2 };

struct Operand {
  enum class Kind : std::uint8_t { kNone, kRegister, kHighByte, kImmediate, kMemory, kVector };
  Kind kind = Kind::kNone;
  std::uint8_t index = 0;  // register number
};

// A shift of `source` by `source2` that changes no flag.
inline bool is_flagless_shift(Op op) {
  return op == Op::kShlx || op == Op::kShrx || op == Op::kSarx || op == Op::kRorx;
}

inline bool is_memory(const Operand& operand) { return operand.kind == Operand::Kind::kMemory; }
inline bool is_vector(const Operand& operand) { return operand.kind == Operand::Kind::kVector; }

// Known parts of general registers in one word. Bit r: byte 0 of register r; bit 16 + r: byte 1; bit 32 + r:
// the rest, which becomes known as a whole only, because a 32-bit write clears the upper half.
constexpr std::uint64_t known_bits(unsigned index, unsigned size) {
  const std::uint64_t parts = size == 1 ? 0x1 : size == 2 ? 0x1'0001 : 0x1'0001'0001;
  return parts << index;
}
inline constexpr std::uint64_t kAllKnown = (1ull << 48) - 1;

struct Instruction {
  std::uint64_t address = 0;
  std::uint64_t next = 0;          // address of the following instruction
  std::uint64_t target = 0;        // target of a direct jump or call
  std::uint64_t immediate = 0;     // sign-extended
  std::uint64_t displacement = 0;  // RIP-relative: the absolute address
  std::uint64_t needs = 0;         // known_bits of the general registers read
  std::uint32_t needs_flags = 0;
  std::uint32_t changes_flags = 0;  // set, cleared or made undefined; by a shift only if its count is not 0
  std::uint32_t needs_vectors = 0;  // encoded as VectorRegisters::known
  bool reads_low = false;  // bits 64-127 of these are not needed, or only copied from `source`
  bool reads_lowest = false;  // the same for bits 32-127
  Op op = Op::kRefused;
  Condition condition = Condition::kO;
  std::uint8_t size = 0;         // of the operation, in bytes
  // Source of an extending move; element size or source size of a vector operation.
  std::uint8_t source_size = 0;
  Operand destination;
  Operand source;
  Operand source2;
  static constexpr std::uint8_t kNoRegister = 16;
  std::uint8_t base = kNoRegister;
  std::uint8_t index = kNoRegister;
  std::uint8_t scale = 1;
  bool fs_relative = false;
  bool address32 = false;
  bool vex = false;
  bool aligned = false;
  bool repeated = false;  // string operation executed RCX times
  Reason refusal = Reason::kNone;
  std::uint8_t length = 0;
  std::uint8_t bytes[15] = {};
  const char* mnemonic = "";
};

// Decodes the instruction at `address` from `available` bytes. An instruction that does not exist or is not
// interpreted gives kRefused with the reason.
Instruction decode(std::uint64_t address, const std::uint8_t* bytes, unsigned available);

}  // namespace verbatim::spin
