#include "verbs_shim/runtime/changing_code.h"

#include <elf.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "verbs_shim/protocol/changing_code.h"
#include "verbs_shim/protocol/layout.h"
#include "verbs_shim/protocol/patches.h"
#include "verbs_shim/protocol/system_calls.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/huge_pages.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/signal_frame.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

using protocol::ChangingRange;
using protocol::CodeState;
using protocol::NewCodeAnswer;

constexpr unsigned long kPage = 4096;
constexpr std::uint32_t kAllRights = PROT_READ | PROT_WRITE | PROT_EXEC;
constexpr unsigned long kLongestStack = 8ul << 20;  // the simulator's limit of the first stack
constexpr unsigned long kLongestInstruction = 15;
constexpr greg_t kTrapFlag = 0x100;

protocol::ChangingCode code;

unsigned long page_of_address(unsigned long address) { return address & ~(kPage - 1); }
unsigned long end_of_pages(unsigned long address) { return (address + kPage - 1) & ~(kPage - 1); }

// Index of the first range that ends after `address`.
std::uint32_t first_after(unsigned long address) {
  std::uint32_t low = 0, high = code.count;
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    code.ranges[middle].end <= address ? low = middle + 1 : high = middle;
  }
  return low;
}

const ChangingRange* range_at(unsigned long address) {
  const std::uint32_t i = first_after(address);
  return i < code.count && code.ranges[i].start <= address ? &code.ranges[i] : nullptr;
}

long rights_in(const ChangingRange& range) {
  const std::uint32_t missing = range.state == CodeState::kWritable ? PROT_EXEC : PROT_WRITE;
  return static_cast<long>((range.rights | PROT_READ) & ~missing);
}

void protect(unsigned long start, unsigned long end, long rights) {
  native(SYS_mprotect, start, end - start, rights);
}

void insert(std::uint32_t at, const ChangingRange& range) {
  for (std::uint32_t i = code.count++; i > at; --i) code.ranges[i] = code.ranges[i - 1];
  code.ranges[at] = range;
}

void erase(std::uint32_t at) {
  --code.count;
  for (std::uint32_t i = at; i < code.count; ++i) code.ranges[i] = code.ranges[i + 1];
}

bool has_room() { return code.count + 2 <= protocol::kMostChangingRanges; }

// Needs room for one more range.
void remove(unsigned long start, unsigned long end) {
  for (std::uint32_t i = first_after(start); i < code.count && code.ranges[i].start < end;) {
    ChangingRange& range = code.ranges[i];
    const ChangingRange before = range;
    if (before.start < start) {
      range.end = start;
      ++i;
      if (before.end > end) {
        insert(i, before);
        code.ranges[i].start = end;
      }
    } else if (before.end > end) {
      range.start = end;
    } else {
      erase(i);
    }
  }
}

bool continues(const ChangingRange& first, const ChangingRange& second) {
  return first.end == second.start && first.rights == second.rights && first.state == second.state &&
         first.is_shared == second.is_shared;
}

// Needs room for two more ranges.
void put(ChangingRange range) {
  remove(range.start, range.end);
  std::uint32_t at = first_after(range.start);
  if (at > 0 && continues(code.ranges[at - 1], range)) {
    range.start = code.ranges[--at].start;
    erase(at);
  }
  if (at < code.count && continues(range, code.ranges[at])) {
    range.end = code.ranges[at].end;
    erase(at);
  }
  insert(at, range);
}

bool can_become_writable(const ChangingRange& range) {
  return range.state == CodeState::kExecutable && (range.rights & PROT_WRITE) != 0;
}

// Makes the pages of [start, end) writable that the program may write to. False: they were.
bool make_writable(unsigned long start, unsigned long end) {
  start = page_of_address(start);
  end = end > ~kPage ? page_of_address(end) : end_of_pages(end);
  bool has_changed = false;
  for (std::uint32_t i = first_after(start); i < code.count && code.ranges[i].start < end;) {
    ChangingRange range = code.ranges[i];
    if (!can_become_writable(range)) {
      ++i;
      continue;
    }
    // Without room for its parts all of the range becomes writable.
    if (has_room() && range.start < start) range.start = start;
    if (has_room() && range.end > end) range.end = end;
    range.state = CodeState::kWritable;
    protect(range.start, range.end, rights_in(range));
    put(range);
    has_changed = true;
    i = first_after(range.end);
  }
  return has_changed;
}

// The pages that hold `address` and the end of the longest instruction there.
struct InstructionPages {
  unsigned long page[2];
};
InstructionPages pages_of_instruction(unsigned long rip) {
  return {{page_of_address(rip), page_of_address(rip + kLongestInstruction - 1)}};
}

// Whether bytes of the page may be an instruction whose result depends on the machine, or a part of one that
// begins on the page before or continues on the page behind.
bool may_hold_decided(unsigned long page) {
  constexpr unsigned kAround = 2;
  unsigned char before[kAround + 2] = {}, behind[2 + kAround] = {};
  const auto* const bytes = reinterpret_cast<const unsigned char*>(page);
  const bool has_before = copy_bytes(before, bytes - kAround, kAround);
  const bool has_behind = copy_bytes(behind + 2, bytes + kPage, kAround);
  for (unsigned i = 0; i < 2; ++i) {
    before[kAround + i] = bytes[i];
    behind[i] = bytes[kPage - 2 + i];
  }
  const auto begins = [](const unsigned char* at) {
    return at[0] == 0x0f && protocol::is_decided_opcode(at[1], at[2]);
  };
  if (has_before && (begins(before) || begins(before + 1))) return true;
  for (unsigned i = 0; i < kPage - 2; ++i) {
    if (bytes[i] == 0x0f && begins(bytes + i)) return true;
  }
  return has_behind ? begins(behind) || begins(behind + 1) : behind[0] == 0x0f || behind[1] == 0x0f;
}

NewCodeAnswer ask_about_code(CodeRange range, protocol::CodeQuestion question) {
  return static_cast<NewCodeAnswer>(
      report_new_code({static_cast<long>(range.start), static_cast<long>(range.end - range.start), -1, 0,
                     static_cast<long>(question), 0}));
}

// The page is about to be executed.
CodeFault resolve_fetch(unsigned long address) {
  const ChangingRange* const range = range_at(address);
  if (range == nullptr || (range->rights & PROT_EXEC) == 0 || range->state == CodeState::kExecutable)
    return CodeFault::kNone;
  if (range->is_shared != 0) return CodeFault::kByStep;
  const unsigned long page = page_of_address(address);
  ChangingRange searched = *range;
  if (may_hold_decided(page) &&
      ask_about_code({page, page + kPage}, protocol::CodeQuestion::kJudge) != NewCodeAnswer::kSearched) {
    return CodeFault::kByStep;
  }
  if (!has_room()) make_code_writable();
  if (!has_room()) return CodeFault::kByStep;
  searched.start = page;
  searched.end = page + kPage;
  searched.state = CodeState::kExecutable;
  put(searched);
  protect(page, page + kPage, rights_in(searched));
  return CodeFault::kResolved;
}

struct Step {
  unsigned long page[2];  // natively writable and executable for the step; 0: none
  bool blocks_trap;       // the program blocks SIGTRAP
  bool pushes_flags, writes;
};
Step step;

std::uint64_t& mask_of(ucontext_t* context) {
  return *reinterpret_cast<std::uint64_t*>(&context->uc_sigmask);
}

bool watches_calls = false;

void watch_calls() {
  if (watches_calls) return;
  watches_calls = watch_mappings() && watch_protections();
}

// A call whose arguments lead to the addresses to which it writes.
bool writes_indirectly(long number) {
  switch (number) {
    case SYS_readv:
    case SYS_preadv:
    case SYS_preadv2:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_io_submit:
    case SYS_io_getevents:
    case SYS_io_pgetevents:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool has_changing_code() { return code.count != 0; }

CodeRights code_rights(long number, const long (&a)[6]) {
  if ((a[2] & PROT_EXEC) == 0) return CodeRights::kNone;
  const bool maps = number == SYS_mmap;
  if (maps && (a[3] & MAP_TYPE) != MAP_PRIVATE) return CodeRights::kShared;
  if ((a[2] & PROT_WRITE) == 0) return CodeRights::kNone;
  return maps && (a[3] & MAP_ANONYMOUS) == 0 ? CodeRights::kOfFile : CodeRights::kChanging;
}

long native_rights(CodeRights rights, long protection) {
  switch (rights) {
    case CodeRights::kChanging:
    case CodeRights::kShared:
      return (protection | PROT_READ) & ~static_cast<long>(PROT_EXEC);
    case CodeRights::kOfFile:
      return (protection | PROT_READ) & ~static_cast<long>(PROT_WRITE);
    default:
      return protection;
  }
}

CodeRange changed_range(long number, const long (&a)[6], long result) {
  const auto start = static_cast<unsigned long>(number == SYS_mmap ? result : a[0]);
  const unsigned long end = start + end_of_pages(static_cast<unsigned long>(a[1]));
  const bool grows_down = number != SYS_mmap && (a[2] & PROT_GROWSDOWN) != 0;
  // The kernel extends such a change to the beginning of the stack.
  return {grows_down && end > kLongestStack ? end - kLongestStack : start, end};
}

void forget_code(CodeRange range) {
  if (!has_room()) make_code_writable();
  if (has_room()) remove(range.start, range.end);
}

void watch_code(CodeRange range, long protection, CodeRights rights) {
  ChangingRange changing = {range.start,
                            range.end,
                            static_cast<std::uint32_t>(protection) & kAllRights,
                            rights == CodeRights::kOfFile ? CodeState::kExecutable : CodeState::kWritable,
                            rights == CodeRights::kShared ? 1u : 0u,
                            0};
  watch_calls();
  if (!has_room()) make_code_writable();
  if (!watches_calls || !has_room()) {
    protect(range.start, range.end, protection);
    report_new_code({static_cast<long>(range.start), static_cast<long>(range.end - range.start), -1, 0, 0, 1});
    return;
  }
  put(changing);
  region_header().changing_code = reinterpret_cast<std::uint64_t>(&code);
  // The protection of a shared mapping is changed.
  if (rights == CodeRights::kChanging &&
      ask_about_code(range, protocol::CodeQuestion::kSharing) == NewCodeAnswer::kShared) {
    changing.is_shared = 1;
    put(changing);
  }
}

void watch_searched_code(CodeRange range, long protection, bool is_shared) {
  const CodeRights rights = is_shared ? CodeRights::kShared : CodeRights::kChanging;
  protect(range.start, range.end, native_rights(rights, protection));
  watch_code(range, protection, rights);
}

bool has_executable_stack(char* const* environment) {
  while (*environment != nullptr) ++environment;
  const Elf64_Phdr* headers = nullptr;
  unsigned long count = 0;
  for (const auto* at = reinterpret_cast<const Elf64_auxv_t*>(environment + 1); at->a_type != AT_NULL; ++at) {
    if (at->a_type == AT_PHDR) headers = reinterpret_cast<const Elf64_Phdr*>(at->a_un.a_val);
    if (at->a_type == AT_PHNUM) count = at->a_un.a_val;
  }
  for (unsigned long i = 0; headers != nullptr && i < count; ++i) {
    if (headers[i].p_type == PT_GNU_STACK) return (headers[i].p_flags & PF_X) != 0;
  }
  return false;
}

void watch_first_stack(unsigned long address) {
  constexpr long kRights = PROT_READ | PROT_WRITE;
  const unsigned long here = page_of_address(address);
  unsigned long end = here + kPage;
  native(SYS_mprotect, here, kPage, kRights | PROT_GROWSDOWN);
  while (native(SYS_mprotect, end, kPage, kRights) == 0) end += kPage;
  watch_code({end - kLongestStack, end}, kRights | PROT_EXEC, CodeRights::kChanging);
}

void prepare_code_for_call(long number, const long (&a)[6]) {
  switch (protocol::system_call(static_cast<std::uint64_t>(number)).call_class) {
    case protocol::CallClass::kByProtection:
      return;
    case protocol::CallClass::kPassing:
    case protocol::CallClass::kByArgument:
      // The pages move, or their contents are given back.
      if (number == SYS_mremap || number == SYS_madvise)
        make_writable(static_cast<unsigned long>(a[0]),
                      static_cast<unsigned long>(a[0]) + end_of_pages(static_cast<unsigned long>(a[1])));
      if (number != SYS_arch_prctl) return;
      break;
    default:
      break;
  }
  if (writes_indirectly(number)) {
    make_code_writable();
    return;
  }
  for (int i = 0; i < 6; ++i) {
    const auto start = static_cast<unsigned long>(a[i]),
               next = i < 5 ? static_cast<unsigned long>(a[i + 1]) : 0;
    const unsigned long size = next != 0 && next >> 32 == 0 ? next : 256;
    make_writable(start, start + size < start ? ~0ul : start + size);
  }
}

bool make_code_writable() { return make_writable(0, ~0ul); }

void follow_changed_mapping(long number, const long (&a)[6], long result, unsigned long heap_end) {
  constexpr long kHighestError = -4095;
  if (result < 0 && result >= kHighestError) return;
  const auto start = static_cast<unsigned long>(a[0]), there = static_cast<unsigned long>(result);
  if (number == SYS_munmap)
    return forget_code({start, start + end_of_pages(static_cast<unsigned long>(a[1]))});
  if (number == SYS_brk && there < heap_end)
    return forget_code({end_of_pages(there), end_of_pages(heap_end)});
  if (number != SYS_mremap) return;
  const ChangingRange* const range = range_at(start);
  ChangingRange moved = range == nullptr ? ChangingRange{} : *range;
  forget_code({start, start + end_of_pages(static_cast<unsigned long>(a[1]))});
  forget_code({there, there + end_of_pages(static_cast<unsigned long>(a[2]))});
  if (moved.rights == 0 || !has_room()) return;
  moved.start = there;
  moved.end = there + end_of_pages(static_cast<unsigned long>(a[2]));
  put(moved);
}

void follow_foreign_writes() {
  if (region_header().writes_regardless.exchange(0, std::memory_order_relaxed) != 0) make_code_writable();
}

void introduce_changing_code() {
  if (has_changing_code()) region_header().changing_code = reinterpret_cast<std::uint64_t>(&code);
}

CodeFault resolve_code_at(unsigned long rip) { return resolve_fetch(rip); }

CodeFault resolve_code_fault(unsigned long address, unsigned long error, unsigned long rip) {
  if ((error & kFetchFault) != 0) return resolve_fetch(address);
  const ChangingRange* const range = range_at(address);
  if ((error & kWriteFault) == 0 || range == nullptr || !can_become_writable(*range)) return CodeFault::kNone;
  const unsigned long page = page_of_address(address);
  make_writable(page, page + kPage);
  // An instruction that writes to its own page needs both rights.
  const InstructionPages own = pages_of_instruction(rip);
  return page == own.page[0] || page == own.page[1] ? CodeFault::kByStep : CodeFault::kResolved;
}

void begin_step(ucontext_t* context, bool pushes_flags, bool writes) {
  const InstructionPages own =
      pages_of_instruction(static_cast<unsigned long>(context->uc_mcontext.gregs[REG_RIP]));
  step = {{0, 0}, (mask_of(context) & signal_bit(SIGTRAP)) != 0, pushes_flags, writes};
  for (int i = 0; i < 2; ++i) {
    const ChangingRange* const range = range_at(own.page[i]);
    if (range == nullptr || range->state != CodeState::kWritable || own.page[i] == step.page[0]) continue;
    step.page[i] = own.page[i];
    protect(step.page[i], step.page[i] + kPage, static_cast<long>(range->rights | PROT_READ));
  }
  mask_of(context) &= ~signal_bit(SIGTRAP);
  context->uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
  steps_code = true;
}

bool steps_on(const ucontext_t* context) {
  if (step.writes) return false;
  const InstructionPages own =
      pages_of_instruction(static_cast<unsigned long>(context->uc_mcontext.gregs[REG_RIP]));
  return own.page[0] == own.page[1] && (own.page[0] == step.page[0] || own.page[0] == step.page[1]);
}

void continue_step(ucontext_t* context, bool pushes_flags) {
  step.pushes_flags = pushes_flags;
  context->uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
}

void correct_step(const ucontext_t* context) {
  if (!step.pushes_flags) return;
  const long at = static_cast<long>(context->uc_mcontext.gregs[REG_RSP]) + 1;  // the byte with the trap flag
  unsigned char byte = 0;
  if (!read_program(at, byte)) return;
  byte &= static_cast<unsigned char>(~(kTrapFlag >> 8));
  write_program(at, byte);
}

void end_step(ucontext_t* context) {
  steps_code = false;
  for (const unsigned long page : step.page) {
    const ChangingRange* const range = page == 0 ? nullptr : range_at(page);
    if (range != nullptr) protect(page, page + kPage, rights_in(*range));
  }
  context->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
  if (step.blocks_trap) mask_of(context) |= signal_bit(SIGTRAP);
}

}  // namespace verbatim::shim
