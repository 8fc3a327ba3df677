// The seccomp filter: decides which system calls of the program reach the kernel without the shim. It is
// generated from protocol/system_call_table.h, protocol/passing_calls.h and protocol/gate_calls.h; every call
// that these do not list traps.
//
// A binary search on the call number comes first. A number that always passes is decided without further
// loads: the kernel (5.11 and later) detects this and no longer runs the filter for it. Other
// calls that the gate may make pass from there; for the rest the arguments are compared. Numbers of the x32
// ABI match nothing, and trap.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "verbs_shim/protocol/gate_calls.h"
#include "verbs_shim/protocol/passing_calls.h"
#include "verbs_shim/protocol/system_calls.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/huge_pages.h"
#include "verbs_shim/runtime/state.h"
#include "verbs_shim/runtime/reported_call.h"

namespace verbatim::shim {

namespace {

// The decision for a range of consecutive numbers, which ends at the next one's first.
struct Numbers {
  // kGate: passes from the gate page, whatever its arguments. kByItself: a single number with code of its
  // own.
  enum class Fate : std::uint8_t { kOther, kGate, kPasses, kByItself };
  std::uint32_t first;
  Fate fate;
};

class Filter {
 public:
  // `other_abi` is the action for calls of the 32-bit ABI, `others` the action for Fate::kOther, and for
  // Fate::kGate outside the gate. `limits_gate`: the arguments in gate_calls.h are compared.
  Filter(std::uint32_t other_abi, std::uint32_t others, bool limits_gate) : others_(others), limits_gate_(limits_gate) {
    load(offsetof(seccomp_data, arch));
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
    answer(other_abi);
    load(offsetof(seccomp_data, nr));
  }

  // `parts` covers all numbers in ascending order. For each Fate::kByItself the caller adds code after
  // begin_call().
  void choose(const Numbers* parts, std::uint32_t count) {
    search(parts, count);
    const unsigned short gate = size_;
    pass_gate();
    answer(others_);
    for (std::uint32_t i = 0; i < to_gate_count_; ++i) lead(to_gate_[i], gate);
  }

  void answer(std::uint32_t what) { add(BPF_STMT(BPF_RET | BPF_K, what)); }
  // The code up to the next begin_call() is for the call `number` only, and ends with an answer.
  void begin_call(std::uint32_t number) {
    for (std::uint32_t i = 0; i < to_call_count_; ++i) {
      if (to_call_[i].number == number) lead(to_call_[i].at, size_);
    }
    const protocol::GateCall* const call = limits_gate_ ? protocol::gate_call(number) : nullptr;
    call != nullptr && call->rule != protocol::GateRule::kAny ? pass_gate_by(*call) : pass_gate();
  }

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
  // Traps an address in the shim's mappings, or less than 4 GiB below them.
  void trap_own(int address) {
    load_high(address);
    add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, static_cast<std::uint32_t>(protocol::kShimStart >> 32) - 1, 0, 2));
    add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, static_cast<std::uint32_t>(protocol::kShimEnd >> 32), 1, 0));
    answer(SECCOMP_RET_TRAP);
  }
  // Traps a range of 4 GiB or more, which may reach the shim's mappings from anywhere.
  void trap_large(int size) {
    load_high(size);
    trap_unless(BPF_JEQ, 0);
  }

  bool install(long flags) {
    const sock_fprog program = {size_, code_};
    return native(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW | flags, &program) == 0;
  }

 private:
  struct CallJump {
    std::uint32_t number;
    unsigned short at;
  };
  static constexpr std::uint32_t kMostJumps = protocol::kSystemCallLimit + 1;

  void add(sock_filter instruction) { code_[size_++] = instruction; }
  void load(std::uint32_t offset) { add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); }
  // Sets the target of the jump at `from` to `to`, which is behind it.
  void lead(unsigned short from, unsigned short to) { code_[from].k = static_cast<std::uint32_t>(to - from - 1); }
  unsigned short add_jump() {
    add(BPF_STMT(BPF_JMP | BPF_JA, 0));
    return static_cast<unsigned short>(size_ - 1);
  }

  // The next `length` instructions are skipped unless the call is made from the gate page.
  void only_from_gate(std::uint8_t length) {
    const auto skipped = [length](int before) { return static_cast<std::uint8_t>(length + before); };
    load(offsetof(seccomp_data, instruction_pointer) + 4);
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(gate() >> 32), 0, skipped(3)));
    load(offsetof(seccomp_data, instruction_pointer));
    add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, static_cast<std::uint32_t>(gate()), 0, skipped(1)));
    add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, static_cast<std::uint32_t>(gate()) + 4096, length, 0));
  }
  void pass_gate() {
    only_from_gate(1);
    answer(SECCOMP_RET_ALLOW);
  }
  void pass_gate_by(const protocol::GateCall& call) {
    if (call.rule == protocol::GateRule::kOneOf) {
      only_from_gate(static_cast<std::uint8_t>(call.count + 3));
      load_argument(call.argument);
      allow_one_of(call.values, call.count);
    } else {
      only_from_gate(5);
      load_argument(call.argument);
      add(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, call.values[1], 1, 0));
      add(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, call.values[0], 1, 0));
      answer(SECCOMP_RET_TRAP);
      answer(SECCOMP_RET_ALLOW);
    }
  }

  void search(const Numbers* parts, std::uint32_t count) {
    if (count == 1) {
      switch (parts->fate) {
        case Numbers::Fate::kPasses:
          return answer(SECCOMP_RET_ALLOW);
        case Numbers::Fate::kByItself:
          to_call_[to_call_count_++] = {parts->first, add_jump()};
          return;
        case Numbers::Fate::kGate:
          to_gate_[to_gate_count_++] = add_jump();
          return;
        case Numbers::Fate::kOther:
          return answer(others_);
      }
    }
    const std::uint32_t half = count / 2;
    // The offsets of a conditional jump are limited to 255 instructions.
    add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, parts[half].first, 0, 1));
    const unsigned short to_upper = add_jump();
    search(parts, half);
    lead(to_upper, size_);
    search(parts + half, count - half);
  }

  std::uint32_t others_;
  bool limits_gate_;
  CallJump to_call_[kMostJumps];
  unsigned short to_gate_[kMostJumps];
  std::uint32_t to_call_count_ = 0, to_gate_count_ = 0;
  sock_filter code_[4 * protocol::kSystemCallLimit];
  unsigned short size_ = 0;
};

// Merges consecutive numbers with the same fate into one part, except those with Fate::kByItself.
class Parts {
 public:
  void add(std::uint32_t number, Numbers::Fate fate) {
    const bool goes_on = count_ != 0 && parts_[count_ - 1].fate == fate && fate != Numbers::Fate::kByItself;
    if (!goes_on) parts_[count_++] = {number, fate};
  }
  const Numbers* data() const { return parts_; }
  std::uint32_t count() const { return count_; }

 private:
  Numbers parts_[protocol::kSystemCallLimit + 1];
  std::uint32_t count_ = 0;
};

bool changes_mappings(std::uint32_t number) { return number == SYS_munmap || number == SYS_mremap; }

void add_passing(Filter& filter, std::uint32_t number) {
  filter.trap_own(0);
  filter.trap_large(1);
  if (number == SYS_mremap) {
    filter.trap_large(2);
    filter.trap_own(4);
  }
  filter.answer(SECCOMP_RET_ALLOW);
}

void add_by_argument(Filter& filter, std::uint32_t number) {
  const protocol::PassingCall& call = *protocol::passing_call(number);
  if (number == SYS_madvise) {
    filter.trap_own(0);
    filter.trap_large(1);
  }
  filter.load_argument(call.argument);
  filter.allow_one_of(call.values, call.count);
}

// The third argument is the protection.
void add_by_protection(Filter& filter, std::uint32_t number) {
  filter.trap_own(0);
  filter.trap_large(1);
  if (number == SYS_mmap) {
    filter.load_argument(1);
    filter.trap_if(BPF_JGE, protocol::kLargeMapping);
    filter.load_argument(3);
    filter.trap_if(BPF_JSET, MAP_HUGETLB | MAP_32BIT);
  }
  filter.load_argument(2);
  filter.trap_if(BPF_JSET, PROT_EXEC);
  filter.answer(SECCOMP_RET_ALLOW);
}

Numbers::Fate fate_of(std::uint32_t number) {
  switch (protocol::system_call(number).call_class) {
    // Where calls are reported, all go to the shim, which lets the kernel execute them.
    case protocol::CallClass::kPassing:
      if (reports_calls()) return Numbers::Fate::kGate;
      return changes_mappings(number) ? Numbers::Fate::kByItself : Numbers::Fate::kPasses;
    case protocol::CallClass::kByProtection:
      return reports_calls() ? Numbers::Fate::kGate : Numbers::Fate::kByItself;
    case protocol::CallClass::kByArgument:  // these take virtual time where they trap
      return Numbers::Fate::kByItself;
    default:
      if (!protocol::gate_allows(number, (checks() & protocol::kLetsUnknownCalls) != 0)) return Numbers::Fate::kOther;
      const protocol::GateCall* const call = protocol::gate_call(number);
      return call != nullptr && call->rule != protocol::GateRule::kAny ? Numbers::Fate::kByItself : Numbers::Fate::kGate;
  }
}

}  // namespace

bool install_filter() {
  // A mapping of a virtual descriptor fails natively, because the placeholder cannot be mapped.
  Filter filter(SECCOMP_RET_TRAP, SECCOMP_RET_TRAP, true);
  Parts parts;
  for (std::uint32_t number = 0; number < protocol::kSystemCallLimit; ++number) parts.add(number, fate_of(number));
  parts.add(protocol::kSystemCallLimit, Numbers::Fate::kOther);
  filter.choose(parts.data(), parts.count());
  for (std::uint32_t number = 0; number < protocol::kSystemCallLimit; ++number) {
    if (fate_of(number) != Numbers::Fate::kByItself) continue;
    filter.begin_call(number);
    switch (protocol::system_call(number).call_class) {
      case protocol::CallClass::kByArgument:
        add_by_argument(filter, number);
        break;
      case protocol::CallClass::kByProtection:
        add_by_protection(filter, number);
        break;
      case protocol::CallClass::kPassing:
        add_passing(filter, number);
        break;
      default:  // passes from the gate only
        filter.answer(SECCOMP_RET_TRAP);
        break;
    }
  }
  if (native(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  return filter.install(0);
}

// A second filter in every thread, on top of the first one, which has refused what the gate may not call.
bool watch_mappings() {
  static bool watches = false;
  if (watches) return true;
  Filter filter(SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW, false);
  Parts parts;
  parts.add(0, Numbers::Fate::kPasses);
  constexpr std::uint32_t kWatched[] = {SYS_mmap, SYS_munmap, SYS_brk, SYS_mremap, SYS_madvise};
  for (std::uint32_t number = 1; number <= protocol::kSystemCallLimit; ++number) {
    const bool is_watched = number == SYS_mmap || number == SYS_brk || number == SYS_madvise || changes_mappings(number);
    parts.add(number, is_watched ? Numbers::Fate::kByItself : Numbers::Fate::kPasses);
  }
  filter.choose(parts.data(), parts.count());
  for (const std::uint32_t number : kWatched) {
    filter.begin_call(number);
    if (number == SYS_mmap) {
      filter.load_argument(3);
      filter.trap_if(BPF_JSET, MAP_FIXED);
      filter.answer(SECCOMP_RET_ALLOW);
    } else if (number == SYS_madvise) {
      filter.load_argument(2);
      filter.trap_if(BPF_JEQ, MADV_DONTNEED);
      filter.trap_if(BPF_JEQ, MADV_REMOVE);
      filter.answer(SECCOMP_RET_ALLOW);
    } else {
      filter.answer(SECCOMP_RET_TRAP);
    }
  }
  watches = filter.install(SECCOMP_FILTER_FLAG_TSYNC);
  return watches;
}

// A third one, for changing_code.h: there is memory whose protection the shim has to know.
bool watch_protections() {
  Filter filter(SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW, false);
  Parts parts;
  parts.add(0, Numbers::Fate::kPasses);
  constexpr std::uint32_t kWatched[] = {SYS_mprotect, SYS_pkey_mprotect};
  for (std::uint32_t number = 1; number <= protocol::kSystemCallLimit; ++number) {
    const bool is_watched = number == SYS_mprotect || number == SYS_pkey_mprotect;
    parts.add(number, is_watched ? Numbers::Fate::kByItself : Numbers::Fate::kPasses);
  }
  filter.choose(parts.data(), parts.count());
  for (const std::uint32_t number : kWatched) {
    filter.begin_call(number);
    filter.answer(SECCOMP_RET_TRAP);
  }
  return filter.install(SECCOMP_FILTER_FLAG_TSYNC);
}

}  // namespace verbatim::shim
