// Search of new code in a process's memory, and warnings about instructions that could not be replaced.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <span>

#include "sim/supervisor/machine/host_probes.h"
#include "sim/supervisor/supervisor_impl.h"
#include "sim/supervisor/tasks/store_buffer.h"

namespace verbatim::supervisor {

namespace {

bool is_counter(protocol::DecidedInstruction kind) {
  using protocol::DecidedInstruction;
  return kind == DecidedInstruction::kRdtsc || kind == DecidedInstruction::kRdtscp;
}

}  // namespace

bool Supervisor::Impl::timestamp_counter_traps() {
  if (!timestamp_counter_traps_)
    timestamp_counter_traps_ = options_.machine.timestamp_counter_trap && probe_timestamp_counter_trap() == 0;
  return *timestamp_counter_traps_;
}

void Supervisor::Impl::search_code(Thread& thread) {
  Process& process = thread.process();
  protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  const auto address = static_cast<std::uint64_t>(slot.arguments[0]);
  const auto length = static_cast<std::uint64_t>(slot.arguments[1]);
  const auto fd = static_cast<int>(slot.arguments[2]);
  const auto offset = static_cast<std::uint64_t>(slot.arguments[3]);
  const auto protection = slot.arguments[4];
  slot.result = 0;
  slot.action = protocol::Action::kReturn;
  constexpr std::uint64_t kMost = 1ull << 32, kPage = 4096;
  if (address % kPage != 0 || length == 0 || length > kMost || address + length < address) return;
  code::CodePatches& patches = *process.patches();
  const Kernel::OwnFileWork own_work(kernel_, process.host_index());
  const code::FileCode* file =
      fd < 0 ? nullptr : code_files_.of(fmt::format("/proc/{}/fd/{}", process.native_pid(), fd));
  if (file != nullptr) {
    patches.patch_file(process.memory(), *file, address, length, offset);
  } else {
    patches.patch_memory(process.memory(), address, length);
  }
  if ((protection & PROT_WRITE) != 0) {
    // The program can later write code there that runs without being searched.
    if (timestamp_counter_traps()) {
      process.region().header().traps_timestamp_counter = 1;
    } else {
      warn(process,
           "has memory that is writable and executable: what it writes there is not searched for instructions that "
           "read the machine's clock, and this machine cannot trap them",
           true);
    }
  }
  report_unpatched(process);
}

void Supervisor::Impl::replace_call(Thread& thread) {
  Process& process = thread.process();
  protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  const auto address = static_cast<std::uint64_t>(slot.arguments[0]), traps = static_cast<std::uint64_t>(slot.arguments[1]);
  slot.action = protocol::Action::kReturn;
  code::CodePatches& patches = *process.patches();
  const code::CodePatches::Origin origin = patches.origin_of(address);
  auto answer = protocol::CallReplacement::kNever;
  if (patches.replaces_calls() && origin.file != nullptr) {
    const std::uint64_t worth = options_.machine.call_traps ? traps : code::CodeFiles::kTrapsWorthSearch;
    const std::vector<code::CallSite>* const calls = code_files_.calls_of(*origin.file, worth);
    if (calls == nullptr) {
      answer = protocol::CallReplacement::kNotYet;
    } else if (patches.replace_call(process.memory(), address, origin, *calls)) {
      answer = protocol::CallReplacement::kDone;
    }
  }
  slot.result = static_cast<std::int64_t>(answer);
}

std::int64_t Supervisor::Impl::place_accesses(Thread& thread) {
  Process& process = thread.process();
  const auto room = static_cast<std::uint64_t>(thread.call().arguments[0]);
  if (thread.tid() != process.pid()) return 0;
  process.traps_accesses = false;
  if (!options_.late_accesses || !choices_.is_free() || room == 0) return 0;
  const Kernel::OwnFileWork own_work(kernel_, process.host_index());
  const code::FileCode* const file = code_files_.of(fmt::format("/proc/{}/exe", process.native_pid()));
  if (file == nullptr) return 0;
  std::vector<protocol::AccessPlace> places;
  for (const code::AccessSite& site : code_files_.accesses_of(*file)) {
    const auto address = process.patches()->address_of(*file, site.offset);
    if (!address || process.patches()->is_replaced(*address, site.place.length)) continue;
    if (places.size() == protocol::kMostAccessPlaces) {
      warn(process, fmt::format("has more than {} instructions that touch memory; its threads are late before the first "
                                "of them only", places.size()));
      break;
    }
    places.push_back(site.place);
    places.back().address = *address;
  }
  std::ranges::sort(places, {}, &protocol::AccessPlace::address);
  const bool is_there = process.memory().write(room, std::as_bytes(std::span(places)));
  process.traps_accesses = is_there && !places.empty();
  return process.traps_accesses ? static_cast<std::int64_t>(places.size()) : 0;
}

std::vector<std::uint64_t> Supervisor::Impl::loads_behind_store(Thread& thread) {
  Process& process = thread.process();
  const PendingCall& call = thread.call();
  const auto address = static_cast<std::uint64_t>(call.arguments[0]);
  const code::FileCode* const file = process.patches()->origin_of(address).file;
  if (file == nullptr) return {};
  std::vector<std::uint64_t> loads =
      find_loads_behind_store(process, static_cast<std::uint64_t>(call.arguments[1]),
                              static_cast<std::uint64_t>(call.arguments[2]), {*file, code_files_.accesses_of(*file)});
  std::erase_if(loads, [&](std::uint64_t behind) { return process.patches()->is_replaced(behind, 1); });
  return loads;
}

// Searched again, since other threads may have run since the first search and changed the
// path behind the store.
std::int64_t Supervisor::Impl::load_behind_store(Thread& thread) {
  const std::uint32_t wanted = thread.loads_before_store();
  if (wanted == 0) return 0;
  const std::vector<std::uint64_t> loads = loads_behind_store(thread);
  return loads.empty() ? 0 : static_cast<std::int64_t>(loads[std::min<std::size_t>(wanted, loads.size()) - 1]);
}

void Supervisor::Impl::report_unpatched(Process& process) {
  for (const code::Unpatched& left : process.patches()->take_unpatched()) {
    // The trap of the time-stamp counter catches RDTSC and RDTSCP, and no other instruction.
    if (is_counter(left.kind) && timestamp_counter_traps()) {
      process.region().header().traps_timestamp_counter = 1;
      continue;
    }
    const std::string what = left.kind == protocol::DecidedInstruction::kNone
                                 ? "code that cannot be written, in which instructions stay that the machine decides"
                                 : fmt::format("what may be {} and could not be told from data",
                                               code::name_of(left.kind));
    warn(process, fmt::format("{} at {:#x} has {}; its result would be this machine's", left.object, left.offset, what),
         true);
  }
}

}  // namespace verbatim::supervisor
