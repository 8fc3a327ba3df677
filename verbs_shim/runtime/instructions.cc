// Emulates instructions that were replaced in the program's memory because their result depends on the
// machine. A stub calls verbatim_patched_entry() on the patch area's stack, with the program's registers to
// be preserved. Instructions without room for a jump trap; so do those for which the token has to be given
// back.
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "verbs_shim/protocol/changing_code.h"
#include "verbs_shim/protocol/conditions.h"
#include "verbs_shim/protocol/patches.h"
#include "verbs_shim/runtime/changing_code.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/huge_pages.h"
#include "verbs_shim/runtime/memory_calls.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

using protocol::DecidedInstruction;
using protocol::PatchedInstruction;

// General registers in encoding order, and the flags, in the order in which verbatim_patched_entry() pushes
// them.
struct Registers {
  std::uint64_t gpr[16];  // the entry for rsp is not the program's
  std::uint64_t flags;
};
enum : unsigned { kRax, kRcx, kRdx, kRbx };

constexpr std::uint64_t kCarry = 1, kZero = 1 << 6;
constexpr std::uint64_t kArithmeticFlags = 0x8d5;  // OF, SF, ZF, AF, PF, CF

// Virtual time as a counter with the frequency in the virtual /proc/cpuinfo.
std::uint64_t counter_at(std::int64_t now_ps) {
  const auto hz = region_header().timestamp_counter_hz;
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(now_ps) * hz / 1'000'000'000'000ull);
}

// SplitMix64. Each process, and each program executed in it, has a stream of its own.
std::uint64_t random_number() {
  protocol::RegionHeader& header = region_header();
  std::uint64_t z = header.random_seed + ++header.random_draws * 0x9e37'79b9'7f4a'7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11ebull;
  return z ^ (z >> 31);
}

// A 32-bit destination is zero-extended, a 16-bit one keeps the upper bits.
void set(Registers& registers, PatchedInstruction instruction, std::uint64_t value) {
  std::uint64_t& to = registers.gpr[instruction.destination];
  to = instruction.size == 8   ? value
       : instruction.size == 4 ? static_cast<std::uint32_t>(value)
                               : (to & ~0xffffull) | static_cast<std::uint16_t>(value);
}

void set_counter(Registers& registers, DecidedInstruction kind, std::uint64_t counter) {
  registers.gpr[kRax] = static_cast<std::uint32_t>(counter);
  registers.gpr[kRdx] = counter >> 32;
  if (kind == DecidedInstruction::kRdtscp) registers.gpr[kRcx] = 0;  // processor 0 of node 0
}

void emulate_cpuid(Registers& registers) {
  const auto& data = *reinterpret_cast<const protocol::PatchData*>(protocol::kPatchDataAddress);
  const auto leaf = static_cast<std::uint32_t>(registers.gpr[kRax]);
  const auto subleaf = static_cast<std::uint32_t>(registers.gpr[kRcx]);
  const protocol::CpuidEntry* entry = data.cpuid;
  for (; (entry->flags & protocol::kLastCpuidEntry) == 0; ++entry) {
    if (entry->leaf == leaf && ((entry->flags & protocol::kAnySubleaf) != 0 || entry->subleaf == subleaf)) break;
  }
  registers.gpr[kRax] = entry->eax;
  registers.gpr[kRbx] = entry->ebx;
  registers.gpr[kRcx] = entry->ecx;
  registers.gpr[kRdx] = entry->edx;
}

// LSL. The limit of one segment encodes the processor's and node's number; for other segments the processor
// is asked.
void load_limit(Registers& registers, PatchedInstruction instruction) {
  constexpr std::uint16_t kProcessorNode = 0x7b;
  const auto selector = static_cast<std::uint16_t>(registers.gpr[instruction.source]);
  std::uint64_t limit = 0;
  bool valid = true;
  if ((selector & ~3) != (kProcessorNode & ~3)) {
    asm("lsl %2, %0" : "+r"(limit), "=@ccz"(valid) : "r"(static_cast<std::uint64_t>(selector)));
  }
  registers.flags = valid ? registers.flags | kZero : registers.flags & ~kZero;
  if (valid) set(registers, instruction, limit);
}

// Instructions that take no virtual time.
void answer(Registers& registers, PatchedInstruction instruction) {
  switch (instruction.kind) {
    case DecidedInstruction::kRdrand:
    case DecidedInstruction::kRdseed:
      set(registers, instruction, random_number());
      registers.flags = (registers.flags & ~kArithmeticFlags) | kCarry;
      break;
    case DecidedInstruction::kRdpid:
      set(registers, instruction, 0);
      break;
    case DecidedInstruction::kLsl:
      load_limit(registers, instruction);
      break;
    case DecidedInstruction::kCpuid:
      emulate_cpuid(registers);
      break;
    case DecidedInstruction::kXgetbv:
      registers.gpr[kRax] = region_header().extended_control;
      registers.gpr[kRdx] = 0;
      break;
    default:
      break;
  }
}

bool reads_counter(DecidedInstruction kind) {
  return kind == DecidedInstruction::kRdtsc || kind == DecidedInstruction::kRdtscp ||
         kind == DecidedInstruction::kRdpru;
}

// kNone: nothing was replaced at `rip`. Counter reads that the code search missed trap by PR_SET_TSC and are
// recognized by their bytes.
PatchedInstruction instruction_at(std::uint64_t rip) {
  const auto& data = *reinterpret_cast<const protocol::PatchData*>(protocol::kPatchDataAddress);
  const std::uint32_t entries = data.has_many_traps != 0 ? protocol::kTrapEntries : protocol::kFewTrapEntries;
  std::uint32_t slot = protocol::first_trap_slot(rip, entries);
  for (std::uint32_t i = 0; i < entries && data.traps[slot].address != 0; ++i) {
    if (data.traps[slot].address == rip) return PatchedInstruction::of(data.traps[slot].instruction);
    slot = (slot + 1) % entries;
  }
  const PatchedInstruction missed = code_instruction_at(rip).decided;
  const bool traps = missed.kind == DecidedInstruction::kRdtsc || missed.kind == DecidedInstruction::kRdtscp;
  return traps ? missed : PatchedInstruction{};
}

struct Prefixes {
  bool operand = false, repeat = false, wide = false;  // 66, f3, REX.W
  std::uint8_t reg = 0, base = 0;                      // REX.R and REX.B, as the upper bit of a register's number
};

// The instruction with opcode 0f `code[0]`, without its length.
PatchedInstruction decided_by(const unsigned char* code, Prefixes prefixes) {
  const auto size = static_cast<std::uint8_t>(prefixes.wide ? 8 : prefixes.operand ? 2 : 4);
  const auto middle = static_cast<std::uint8_t>(code[1] >> 3 & 7);
  const auto reg = static_cast<std::uint8_t>(middle | prefixes.reg);
  const auto base = static_cast<std::uint8_t>((code[1] & 7) | prefixes.base);
  switch (code[0]) {
    case 0x31:
      return {.kind = DecidedInstruction::kRdtsc};
    case 0xa2:
      return {.kind = DecidedInstruction::kCpuid};
    case 0x01:
      return {.kind = code[1] == 0xf9   ? DecidedInstruction::kRdtscp
                      : code[1] == 0xd0 ? DecidedInstruction::kXgetbv
                                        : DecidedInstruction::kRdpru};
    case 0x03:
      return {.kind = DecidedInstruction::kLsl, .destination = reg, .source = base, .size = size};
    default:
      if (middle == 6 && prefixes.repeat) return {};  // senduipi
      if (middle == 7 && prefixes.repeat) return {.kind = DecidedInstruction::kRdpid, .destination = base, .size = 8};
      return {.kind = middle == 6 ? DecidedInstruction::kRdrand : DecidedInstruction::kRdseed, .destination = base, .size = size};
  }
}

constexpr int kOrder[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                            REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

}  // namespace

CodeInstruction code_instruction_at(std::uint64_t rip) {
  constexpr unsigned kLongest = 15;
  unsigned char code[kLongest + 3] = {};
  for (unsigned n = kLongest; n > 0 && !copy_bytes(code, reinterpret_cast<const void*>(rip), n); --n) {
  }
  Prefixes prefixes;
  unsigned at = 0;
  for (; at < kLongest; ++at) {
    const unsigned char byte = code[at];
    if (byte == 0x66) {
      prefixes.operand = true;
    } else if (byte == 0xf3 || byte == 0xf2) {
      prefixes.repeat = byte == 0xf3;
    } else if (byte != 0x2e && byte != 0x36 && byte != 0x3e && byte != 0x26 && byte != 0x64 && byte != 0x65 && byte != 0x67) {
      break;
    }
  }
  if ((code[at] & 0xf0) == 0x40) {
    prefixes.wide = (code[at] & 8) != 0;
    prefixes.reg = static_cast<std::uint8_t>((code[at] & 4) << 1);
    prefixes.base = static_cast<std::uint8_t>((code[at] & 1) << 3);
    ++at;
  }
  CodeInstruction found;
  found.pushes_flags = code[at] == 0x9c;
  if (code[at] != 0x0f) return found;
  if (code[at + 1] == 0x05) {
    found.call_length = at + 2;
  } else if (protocol::is_decided_opcode(code[at + 1], code[at + 2])) {
    found.decided = decided_by(code + at + 1, prefixes);
    found.decided.length = static_cast<std::uint8_t>(at + (protocol::is_decided_opcode(code[at + 1]) ? 2 : 3));
  }
  return found;
}

// Returns 0 if the instruction has to trap. Runs on a stack of one page; vector and floating-point registers
// are the program's.
extern "C" __attribute__((used)) std::uint64_t verbatim_answer_patched(
    Registers* registers, std::uint32_t word) {
  const PatchedInstruction instruction = PatchedInstruction::of(word);
  if (!reads_counter(instruction.kind)) {
    answer(*registers, instruction);
    return 1;
  }
  if (!reads_clock_locally(costs().timestamp_counter_ps)) return 0;
  set_counter(*registers, instruction.kind, counter_at(my_slot->clock_ps));
  return 1;
}

// On entry the stack holds the return address in the stub and the instruction word. If unanswered, the stub
// continues 9 bytes further. rsp is pushed at its position in encoding order.
asm(R"(
  .text
  .globl verbatim_patched_entry
  .hidden verbatim_patched_entry
  .type verbatim_patched_entry, @function
verbatim_patched_entry:
  pushfq
  push %r15
  push %r14
  push %r13
  push %r12
  push %r11
  push %r10
  push %r9
  push %r8
  push %rdi
  push %rsi
  push %rbp
  push %rsp
  push %rbx
  push %rdx
  push %rcx
  push %rax
  cld
  mov %rsp, %rdi
  mov 144(%rsp), %esi
  mov %rsp, %rbp
  and $-16, %rsp
  call verbatim_answer_patched
  mov %rbp, %rsp
  test %eax, %eax
  jnz 1f
  addq $9, 136(%rsp)
1:
  pop %rax
  pop %rcx
  pop %rdx
  pop %rbx
  lea 8(%rsp), %rsp
  pop %rbp
  pop %rsi
  pop %rdi
  pop %r8
  pop %r9
  pop %r10
  pop %r11
  pop %r12
  pop %r13
  pop %r14
  pop %r15
  popfq
  ret
  .size verbatim_patched_entry, . - verbatim_patched_entry
)");

std::uint64_t program_register(const void* context, unsigned number) {
  return static_cast<std::uint64_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[kOrder[number]]);
}

TrappedJump follow_trapped_jump(void* raw_context) {
  greg_t* const saved = static_cast<ucontext_t*>(raw_context)->uc_mcontext.gregs;
  const auto rip = static_cast<std::uint64_t>(saved[REG_RIP]);
  const PatchedInstruction jump = instruction_at(rip);
  if (jump.kind != DecidedInstruction::kLoopJump) return TrappedJump::kNone;
  const bool is_taken = jump.source == protocol::kJumpsAlways ||
                        protocol::condition_holds(jump.destination, static_cast<std::uint64_t>(saved[REG_EFL]));
  // The opcode is replaced; the displacement is the last byte, or the last four.
  constexpr unsigned kShort = 2;
  const std::uint64_t next = rip + jump.length;
  std::int64_t distance = 0;
  if (is_taken && jump.length == kShort) {
    std::int8_t byte = 0;
    copy_bytes(&byte, reinterpret_cast<const void*>(next - sizeof byte), sizeof byte);
    distance = byte;
  } else if (is_taken) {
    std::int32_t bytes = 0;
    copy_bytes(&bytes, reinterpret_cast<const void*>(next - sizeof bytes), sizeof bytes);
    distance = bytes;
  }
  saved[REG_RIP] = static_cast<greg_t>(next + static_cast<std::uint64_t>(distance));
  return is_taken ? TrappedJump::kGoesBack : TrappedJump::kGoesOn;
}

bool answer_trapped_instruction(void* context) {
  const PatchedInstruction instruction =
      instruction_at(static_cast<std::uint64_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]));
  if (instruction.kind == DecidedInstruction::kNone) return false;
  answer_instruction(context, instruction);
  return true;
}

void answer_instruction(void* raw_context, PatchedInstruction instruction) {
  greg_t* const saved = static_cast<ucontext_t*>(raw_context)->uc_mcontext.gregs;
  Registers registers;
  for (int i = 0; i < 16; ++i) registers.gpr[i] = static_cast<std::uint64_t>(saved[kOrder[i]]);
  registers.flags = static_cast<std::uint64_t>(saved[REG_EFL]);
  if (reads_counter(instruction.kind)) {
    set_counter(registers, instruction.kind, counter_at(read_clock(costs().timestamp_counter_ps)));
  } else {
    answer(registers, instruction);
  }
  for (int i = 0; i < 16; ++i) saved[kOrder[i]] = static_cast<greg_t>(registers.gpr[i]);
  saved[REG_EFL] = static_cast<greg_t>(registers.flags);
  saved[REG_RIP] += instruction.length;
}

// A program such as ThreadSanitizer makes all unused addresses inaccessible. The call is split to leave out
// the shim's.
bool closes_around_shim(const long (&a)[6]) {
  const auto start = static_cast<unsigned long>(a[0]), end = start + static_cast<unsigned long>(a[1]);
  return a[2] == PROT_NONE && (a[3] & MAP_FIXED) != 0 && (a[3] & MAP_ANONYMOUS) != 0 && start <= protocol::kShimStart &&
         end >= protocol::kShimEnd;
}

long close_around_shim(const long (&a)[6]) {
  const auto end = a[0] + a[1];
  const long before = static_cast<long>(protocol::kShimStart), behind = static_cast<long>(protocol::kShimEnd);
  if (a[0] < before && change_mapping(SYS_mmap, {a[0], before - a[0], a[2], a[3], a[4], a[5]}) != a[0]) return -ENOMEM;
  if (end > behind && change_mapping(SYS_mmap, {behind, end - behind, a[2], a[3], a[4], a[5]}) != behind) return -ENOMEM;
  return a[0];
}

// New code cannot run before this function returns.
long map_code(long number, const long (&asked)[6]) {
  const bool maps = number == SYS_mmap;
  if (maps && closes_around_shim(asked)) return close_around_shim(asked);
  if ((!maps || (asked[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0) &&
      touches_shim(static_cast<unsigned long>(asked[0]), static_cast<unsigned long>(asked[1]))) {
    return refuse_own_memory(number);
  }
  const CodeRights rights = code_rights(number, asked);
  const long a[6] = {asked[0], asked[1], native_rights(rights, asked[2]), asked[3], asked[4], asked[5]};
  long result;
  const bool huge = maps && map_huge(a, result);
  if (!huge) result = maps ? change_mapping(number, a) : native(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  constexpr long kHighestError = -4095;
  if (maps && !huge && result == -ENOMEM) report_failed_mapping(a[1], ENOMEM);
  if (maps ? result < 0 && result >= kHighestError : result != 0) return result;
  const CodeRange range = changed_range(number, asked, result);
  if (has_changing_code()) forget_code(range);
  if ((asked[2] & PROT_EXEC) == 0) return result;
  if (rights == CodeRights::kNone || rights == CodeRights::kOfFile) {
    const bool of_file = maps && (a[3] & MAP_ANONYMOUS) == 0;
    const auto answer = static_cast<protocol::NewCodeAnswer>(
        exchange(protocol::Request::kCode, 0,
                 {static_cast<long>(range.start), static_cast<long>(range.end - range.start), of_file ? a[4] : -1,
                  of_file ? a[5] : 0, 0, 0}));
    if (rights == CodeRights::kNone && answer != protocol::NewCodeAnswer::kSearched)
      watch_searched_code(range, asked[2], answer == protocol::NewCodeAnswer::kShared);
    follow_timestamp_counter_trap();
  }
  if (rights != CodeRights::kNone) watch_code(range, asked[2], rights);
  return result;
}

void follow_timestamp_counter_trap() {
  if (region_header().traps_timestamp_counter == 0 || thread_state().traps_timestamp_counter) return;
  thread_state().traps_timestamp_counter = true;
  native(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
}

}  // namespace verbatim::shim
