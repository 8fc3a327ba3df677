// The seccomp filter: which system calls of the program reach the kernel untouched. It is made from the table in
// protocol/system_calls.h and protocol/passing_calls.h; whatever it does not know traps.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "verbs_shim/protocol/passing_calls.h"
#include "verbs_shim/protocol/system_calls.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/huge_pages.h"
#include "verbs_shim/runtime/state.h"

namespace verbatim::shim {

namespace {

class Filter {
 public:
  // The 32-bit ABI gets `other_abi`; the gate page is let through.
  explicit Filter(std::uint32_t other_abi) {
    const auto gate_high = static_cast<std::uint32_t>(gate() >> 32);
    const auto gate_low = static_cast<std::uint32_t>(gate());
    load(offsetof(seccomp_data, arch));
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
    answer(other_abi);
    load(offsetof(seccomp_data, instruction_pointer) + 4);
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, gate_high, 0, 4));
    load(offsetof(seccomp_data, instruction_pointer));
    add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, gate_low, 0, 2));
    add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, gate_low + 4096, 1, 0));
    answer(SECCOMP_RET_ALLOW);
    load(offsetof(seccomp_data, nr));
  }

  void answer(std::uint32_t what) { add(BPF_STMT(BPF_RET | BPF_K, what)); }
  // What follows until end_call() is for the call `number` alone, and ends with an answer.
  void begin_call(std::uint32_t number) {
    call_ = size_;
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 0));
  }
  void end_call() { code_[call_].jf = static_cast<std::uint8_t>(size_ - call_ - 1); }

  void load_argument(int argument, std::uint32_t half = 0) {
    load(static_cast<std::uint32_t>(offsetof(seccomp_data, args) + static_cast<std::uint32_t>(argument) * sizeof(std::uint64_t)) +
         half);
  }
  void load_high(int argument) { load_argument(argument, 4); }
  void trap_if(std::uint16_t comparison, std::uint32_t value) {
    add(BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | comparison | BPF_K), value, 0, 1));
    answer(SECCOMP_RET_TRAP);
  }
  void trap_unless(std::uint16_t comparison, std::uint32_t value) {
    add(BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | comparison | BPF_K), value, 1, 0));
    answer(SECCOMP_RET_TRAP);
  }
  void allow_one_of(const std::uint32_t* values, std::uint8_t count) {
    for (std::uint8_t i = 0; i < count; ++i) {
      add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, values[i], static_cast<std::uint8_t>(count - i), 0));
    }
    answer(SECCOMP_RET_TRAP);
    answer(SECCOMP_RET_ALLOW);
  }
  // An address of the shim's own mappings, or less than 4 GiB below them.
  void trap_own(int address) {
    load_high(address);
    add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, static_cast<std::uint32_t>(protocol::kShimStart >> 32) - 1, 0, 2));
    add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, static_cast<std::uint32_t>(protocol::kShimEnd >> 32), 1, 0));
    answer(SECCOMP_RET_TRAP);
  }
  // A range of 4 GiB and more may reach them from anywhere.
  void trap_large(int size) {
    load_high(size);
    trap_unless(BPF_JEQ, 0);
  }

  bool install(long flags) {
    const sock_fprog program = {size_, code_};
    return native(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW | flags, &program) == 0;
  }

 private:
  void add(sock_filter instruction) { code_[size_++] = instruction; }
  void load(std::uint32_t offset) { add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); }

  sock_filter code_[protocol::kSystemCallLimit + 128];
  unsigned short size_ = 0;
  unsigned short call_ = 0;
};

void add_passing(Filter& filter, std::uint32_t number) {
  filter.begin_call(number);
  if (number == SYS_munmap || number == SYS_mremap) {
    filter.trap_own(0);
    filter.trap_large(1);
  }
  if (number == SYS_mremap) {
    filter.trap_large(2);
    filter.trap_own(4);
  }
  filter.answer(SECCOMP_RET_ALLOW);
  filter.end_call();
}

void add_by_argument(Filter& filter, std::uint32_t number) {
  const protocol::PassingCall& call = *protocol::passing_call(number);
  filter.begin_call(number);
  if (number == SYS_madvise) {
    filter.trap_own(0);
    filter.trap_large(1);
  }
  filter.load_argument(call.argument);
  filter.allow_one_of(call.values, call.count);
  filter.end_call();
}

// The third argument says what the memory is for.
void add_by_protection(Filter& filter, std::uint32_t number) {
  filter.begin_call(number);
  filter.trap_own(0);
  filter.trap_large(1);
  if (number == SYS_mmap) {
    filter.load_argument(1);
    filter.trap_if(BPF_JGE, protocol::kLargeMapping);
    filter.load_argument(3);
    filter.trap_if(BPF_JSET, MAP_HUGETLB);
  }
  filter.load_argument(2);
  filter.trap_if(BPF_JSET, PROT_EXEC);
  filter.answer(SECCOMP_RET_ALLOW);
  filter.end_call();
}

}  // namespace

bool install_filter() {
  // A mapping of a virtual descriptor fails by itself, because the placeholder cannot be mapped.
  Filter filter(SECCOMP_RET_TRAP);
  for (std::uint32_t number = 0; number < protocol::kSystemCallLimit; ++number) {
    switch (protocol::system_call(number).call_class) {
      case protocol::CallClass::kPassing:
        add_passing(filter, number);
        break;
      case protocol::CallClass::kByArgument:
        add_by_argument(filter, number);
        break;
      case protocol::CallClass::kByProtection:
        add_by_protection(filter, number);
        break;
      default:
        break;
    }
  }
  filter.answer(SECCOMP_RET_TRAP);
  if (native(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  return filter.install(0);
}

// On top of the other one, in every thread.
bool watch_mappings() {
  Filter filter(SECCOMP_RET_ALLOW);
  for (const std::uint32_t number : {SYS_munmap, SYS_mremap}) {
    filter.begin_call(number);
    filter.answer(SECCOMP_RET_TRAP);
    filter.end_call();
  }
  filter.begin_call(SYS_mmap);
  filter.load_argument(3);
  filter.trap_if(BPF_JSET, MAP_FIXED);
  filter.answer(SECCOMP_RET_ALLOW);
  filter.end_call();
  filter.answer(SECCOMP_RET_ALLOW);
  return filter.install(SECCOMP_FILTER_FLAG_TSYNC);
}

}  // namespace verbatim::shim
