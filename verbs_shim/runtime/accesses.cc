#include "verbs_shim/runtime/accesses.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "verbs_shim/protocol/accesses.h"
#include "verbs_shim/protocol/layout.h"
#include "verbs_shim/runtime/delivery.h"
#include "verbs_shim/runtime/gate.h"
#include "verbs_shim/runtime/program_memory.h"
#include "verbs_shim/runtime/replaced_calls.h"
#include "verbs_shim/runtime/runtime.h"
#include "verbs_shim/runtime/state.h"
#include "verbs_shim/runtime/thread_state.h"

namespace verbatim::shim {

std::uint32_t access_places = 0;

namespace {

using protocol::AccessPlace;

constexpr std::uint32_t kMostThreads = 128;  // threads in higher slots are never late; nothing traps in them
constexpr std::uint32_t kBits = 64, kWords = protocol::kMostAccessPlaces / kBits;
constexpr unsigned char kHlt = 0xf4;

// At kAccessTablesAddress; mapped on demand, since few programs need it.
struct Tables {
  AccessPlace places[protocol::kMostAccessPlaces];
  // By slot and place: the place has trapped.
  std::uint64_t trapped[kMostThreads][kWords];
  std::uint32_t count_trapped[kMostThreads];
};
Tables& tables() { return *reinterpret_cast<Tables*>(protocol::kAccessTablesAddress); }

StoreSeen store_seen = nullptr;  // see watch_stores()

std::uint32_t code_is_for;  // slot of the thread whose trap set the code has

void set_byte(std::uint32_t place, bool traps) {
  auto* const byte = reinterpret_cast<volatile unsigned char*>(tables().places[place].address);
  *byte = traps ? kHlt : tables().places[place].original;
}

std::uint32_t words() { return (access_places + kBits - 1) / kBits; }
std::uint64_t word_of(std::uint32_t slot, std::uint32_t word) {
  return slot < kMostThreads ? tables().trapped[slot][word] : ~0ull;
}

// First place at or after `address`; access_places: none.
std::uint32_t first_place_from(std::uint64_t address) {
  std::uint32_t first = 0, end = access_places;
  while (first < end) {
    const std::uint32_t middle = first + (end - first) / 2;
    tables().places[middle].address < address ? first = middle + 1 : end = middle;
  }
  return first;
}

// The place at `address`; access_places: none.
std::uint32_t place_at(std::uint64_t address) {
  const std::uint32_t place = first_place_from(address);
  return place < access_places && tables().places[place].address == address ? place : access_places;
}

std::uint64_t address_of_access(const AccessPlace& place, const void* context) {
  std::uint64_t address = static_cast<std::uint64_t>(static_cast<std::int64_t>(place.displacement));
  if (place.base == AccessPlace::kNextInstruction) address += place.address + place.length;
  if (place.base < AccessPlace::kNoRegister) address += program_register(context, place.base);
  if (place.index < AccessPlace::kNoRegister) address += program_register(context, place.index) * place.scale;
  return address;
}

// A store that waits in the processor's store buffer. Memory holds it until the thread has executed the load
// behind it, and no other thread runs until then. Anything that lets another thread run ends this state
// (drain_store()): memory is then as if the store had left the buffer.
struct BufferedStore {
  std::uint64_t behind_load = 0;  // address of the instruction behind that load, which traps; 0: no store waits
  unsigned char original = 0;     // the byte that the trap replaces
  const AccessPlace* place = nullptr;
  std::uint64_t address = 0;
  unsigned char before[AccessPlace::kMostBuffered];  // memory content before the store
};
BufferedStore buffered;

void set_trap_behind_load(bool traps) {
  *reinterpret_cast<volatile unsigned char*>(buffered.behind_load) = traps ? kHlt : buffered.original;
}

bool hand_over_at(const AccessPlace& place, const ucontext_t& context, std::uint64_t address, protocol::AccessLateness how) {
  const auto mask = *reinterpret_cast<const std::uint64_t*>(&context.uc_sigmask);
  return hand_over_access({place.address, reinterpret_cast<std::uint64_t>(&context), static_cast<std::uint64_t>(storage_base()),
                           address, place.size, static_cast<std::uint64_t>(how)},
                          mask_seen(mask));
}

// Code memory that the runtime may write: its page has a place.
bool has_place_on_page(std::uint64_t address) {
  constexpr std::uint64_t kPage = 4096;
  const std::uint32_t next = first_place_from(address & -kPage);
  return next < access_places && tables().places[next].address / kPage == address / kPage;
}

// The store is about to be executed, and waits until the thread reaches `behind`.
void buffer_store(const AccessPlace& place, std::uint64_t address, std::uint64_t behind) {
  if (!has_place_on_page(behind) || !copy_bytes(buffered.before, reinterpret_cast<const void*>(address), place.size)) return;
  buffered.behind_load = behind;
  buffered.original = *reinterpret_cast<const volatile unsigned char*>(behind);
  buffered.place = &place;
  buffered.address = address;
  set_trap_behind_load(true);
}

// The thread has executed the load behind the store: others run, and do not see the store.
void be_late_with_store(ucontext_t* context) {
  const AccessPlace& place = *buffered.place;
  auto* const address = reinterpret_cast<void*>(buffered.address);
  unsigned char stored[AccessPlace::kMostBuffered];
  drain_store();
  if (!copy_bytes(stored, address, place.size) || !copy_bytes(address, buffered.before, place.size)) return;
  hand_over_at(place, *context, buffered.address, protocol::AccessLateness::kBuffered);
  copy_bytes(address, stored, place.size);
  go_out_of_replaced(context->uc_mcontext.gregs);
}

void report_store(const AccessPlace& place, const void* context) {
  constexpr unsigned kRdx = 2, kRdi = 7;
  if (place.only_stores || place.divided != 0) store_seen(address_of_access(place, context), place.size);
  if (place.copies) store_seen(program_register(context, kRdi), program_register(context, kRdx));
}

// The thread is late in the middle of memcpy or memmove, whose arguments are in the registers of the call: others run
// after the first half has been copied. Returns false, without an effect, if the copy is short, long or overlapping, or
// its memory is not mapped. If a handler has run meanwhile, or the code has changed, the call copies everything again.
bool be_late_in_copy(const AccessPlace& place, ucontext_t* context) {
  constexpr std::uint64_t kLeast = 16, kMost = 1 << 20;
  constexpr unsigned kRdx = 2, kRsi = 6, kRdi = 7;
  const std::uint64_t to = program_register(context, kRdi), from = program_register(context, kRsi);
  const std::uint64_t size = program_register(context, kRdx), half = size / 2 & -sizeof(std::uint64_t);
  if (size < kLeast || size > kMost || to - from < size || from - to < size) return false;
  const auto copy = [&](std::uint64_t begin, std::uint64_t end) {
    return copy_bytes(reinterpret_cast<void*>(to + begin), reinterpret_cast<const void*>(from + begin), end - begin);
  };
  if (!copy(0, half)) return false;
  AccessPlace copied = place;
  copied.size = static_cast<std::uint16_t>(size < UINT16_MAX ? size : UINT16_MAX);
  const bool is_interrupted = hand_over_at(copied, *context, to, protocol::AccessLateness::kHalfCopied);
  go_out_of_replaced(context->uc_mcontext.gregs);
  auto& registers = context->uc_mcontext.gregs;
  if (is_interrupted || static_cast<std::uint64_t>(registers[REG_RIP]) != place.address || !copy(half, size)) return true;
  registers[REG_RAX] = static_cast<greg_t>(to);
  registers[REG_RIP] += place.length;
  return true;
}

// The thread is late at the place. For a divided access it continues with the value that it read before,
// whatever others have written meanwhile.
void be_late(const AccessPlace& place, ucontext_t* context) {
  using protocol::AccessLateness;
  if (place.copies && be_late_in_copy(place, context)) return;
  const std::uint64_t at = address_of_access(place, context);
  std::uint64_t before = 0, after = 0;
  const bool is_divided = place.divided != 0 && copy_bytes(&before, reinterpret_cast<const void*>(at), place.divided);
  const AccessLateness how = is_divided          ? AccessLateness::kReadNotWritten
                             : place.only_stores ? AccessLateness::kMayBeBuffered
                                                 : AccessLateness::kBefore;
  const bool is_interrupted = hand_over_at(place, *context, at, how);
  if (how == AccessLateness::kMayBeBuffered && my_slot->result != 0 && !is_interrupted)
    buffer_store(place, at, static_cast<std::uint64_t>(my_slot->result));
  go_out_of_replaced(context->uc_mcontext.gregs);  // others may have run
  // A handler that runs at this point runs before the instruction, which has read nothing yet.
  if (!is_divided || is_interrupted || !copy_bytes(&after, reinterpret_cast<const void*>(at), place.divided)) return;
  if (after != before) copy_bytes(reinterpret_cast<void*>(at), &before, place.divided);
}

}  // namespace

void watch_stores(StoreSeen seen) { store_seen = seen; }

long room_for_access_places() {
  if (region_header().late_accesses == 0) return 0;
  const long base = native(SYS_mmap, protocol::kAccessTablesAddress, sizeof(Tables), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  return base == static_cast<long>(protocol::kAccessTablesAddress) ? reinterpret_cast<long>(&tables().places) : 0;
}

void arm_accesses(long count) {
  if (count <= 0 || count > static_cast<long>(protocol::kMostAccessPlaces)) return;
  constexpr std::uint64_t kPage = 4096;
  const auto number = static_cast<std::uint32_t>(count);
  for (std::uint32_t i = 0; i < number;) {
    const std::uint64_t begin = tables().places[i].address & -kPage;
    std::uint64_t end = begin + kPage;
    for (; i < number && (tables().places[i].address & -kPage) <= end; ++i) end = (tables().places[i].address & -kPage) + kPage;
    const long closed = native(SYS_mprotect, begin, end - begin, PROT_READ | PROT_WRITE | PROT_EXEC);
    if (closed == 0) continue;
    exchange(protocol::Request::kMachine, SYS_mprotect, {-closed, static_cast<long>(end - begin), 0, 0, 0, 0});
    return;
  }
  access_places = number;
  code_is_for = my_slot_index();
  for (std::uint32_t i = 0; i < number; ++i) set_byte(i, true);
  ++region_header().access_epoch;
}

void drain_store() {
  if (buffered.behind_load == 0) return;
  set_trap_behind_load(false);
  buffered.behind_load = 0;
}

bool take_access(void* raw_context) {
  if (access_places == 0) return false;
  auto* const context = static_cast<ucontext_t*>(raw_context);
  const auto rip = static_cast<std::uint64_t>(context->uc_mcontext.gregs[REG_RIP]);
  if (rip == buffered.behind_load) {
    be_late_with_store(context);
    return true;
  }
  const std::uint32_t place = place_at(rip);
  if (place == access_places) return false;
  set_byte(place, false);
  const std::uint32_t slot = my_slot_index();
  if (slot >= kMostThreads) return true;
  tables().trapped[slot][place / kBits] |= 1ull << place % kBits;
  ++tables().count_trapped[slot];
  if (store_seen != nullptr) report_store(tables().places[place], context);
  if (--my_slot->accesses_until_late == 0) be_late(tables().places[place], context);
  return true;
}

void rearm_accesses() {
  const std::uint32_t slot = my_slot_index();
  if (slot >= kMostThreads || tables().count_trapped[slot] == 0) return;
  for (std::uint32_t word = 0; word < words(); ++word) {
    for (std::uint64_t left = tables().trapped[slot][word]; left != 0; left &= left - 1)
      set_byte(word * kBits + static_cast<std::uint32_t>(__builtin_ctzll(left)), true);
    tables().trapped[slot][word] = 0;
  }
  tables().count_trapped[slot] = 0;
  ++region_header().access_epoch;
}

void follow_accesses() {
  const std::uint32_t slot = my_slot_index();
  if (slot == code_is_for) return;
  for (std::uint32_t word = 0; word < words(); ++word) {
    const std::uint64_t mine = word_of(slot, word);
    for (std::uint64_t left = mine ^ word_of(code_is_for, word); left != 0; left &= left - 1) {
      const auto bit = static_cast<std::uint32_t>(__builtin_ctzll(left));
      if (word * kBits + bit < access_places) set_byte(word * kBits + bit, (mine >> bit & 1) == 0);
    }
  }
  code_is_for = slot;
  ++region_header().access_epoch;
}

void begin_accesses_in_copy() {
  if (access_places == 0) return;
  memset(tables().trapped, 0, sizeof tables().trapped);
  memset(tables().count_trapped, 0, sizeof tables().count_trapped);
  for (std::uint32_t i = 0; i < access_places; ++i) set_byte(i, true);
  code_is_for = my_slot_index();
}

}  // namespace verbatim::shim
