#include "sim/supervisor/program_code.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/machine/host_probes.h"
#include "sim/supervisor/run_after_run.h"
#include "sim/supervisor/run_report.h"
#include "sim/supervisor/tasks/parking.h"
#include "sim/supervisor/tasks/store_buffer.h"

namespace verbatim::supervisor {

namespace {

bool is_counter(protocol::DecidedInstruction kind) {
  using protocol::DecidedInstruction;
  return kind == DecidedInstruction::kRdtsc || kind == DecidedInstruction::kRdtscp;
}

// File mapped at `address` in the simulator's own process. Programs mostly use the same loader and libc.
std::string object_at(void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

}  // namespace

ProgramCode::ProgramCode(const RunContext& run, RunReport& report, Kernel& kernel)
    : run_(run),
      report_(report),
      kernel_(kernel),
      files_(run.options.run_after_run != nullptr ? run.options.run_after_run->code_files()
             : run.options.code_files != nullptr  ? *run.options.code_files
                                                  : own_files_) {}

void ProgramCode::search_ahead(int core) {
  if (&files_ == &own_files_)
    own_files_.use_table(code::CodeTable(run_.options.shim_directory + "/code.table"));
  files_.search_ahead(
      {object_at(reinterpret_cast<void*>(getauxval(AT_BASE))), object_at(reinterpret_cast<void*>(&::read))},
      core);
}

bool ProgramCode::timestamp_counter_traps() {
  if (!timestamp_counter_traps_)
    timestamp_counter_traps_ =
        run_.options.machine.timestamp_counter_trap && probe_timestamp_counter_trap() == 0;
  return *timestamp_counter_traps_;
}

protocol::NewCodeAnswer ProgramCode::search(Process& process, const request::NewCode& found) {
  using protocol::CodeQuestion, protocol::NewCodeAnswer;
  const auto [address, length, fd, offset, question, changes_unnoticed] = found;
  constexpr std::uint64_t kMost = 1ull << 32, kPage = 4096;
  if (address % kPage != 0 || length == 0 || length > kMost || address + length < address) return NewCodeAnswer::kSearched;
  code::CodePatches& patches = *process.patches();
  if (process.analyst() != nullptr) process.analyst()->forget_proofs();
  process.known_loops = process.known_calls = 0;
  const Kernel::OwnFileWork own_work(kernel_, process.host_index());
  if (changes_unnoticed) report_unnoticed_changes(process);
  if (fd < 0 && question != CodeQuestion::kJudge) {
    const auto mapping = process.memory().mapping_at(address);
    if (mapping && mapping->is_shared) return NewCodeAnswer::kShared;
  }
  if (question == CodeQuestion::kSharing) return NewCodeAnswer::kSearched;
  if (question == CodeQuestion::kJudge)
    return patches.is_known(process.memory(), address, length) ? NewCodeAnswer::kSearched : NewCodeAnswer::kDoubtful;
  const code::FileCode* file =
      fd < 0 ? nullptr : files_.of(fmt::format("/proc/{}/fd/{}", process.native_pid(), fd));
  bool is_doubtful = false;
  if (file != nullptr) {
    patches.patch_file(process.memory(), *file, address, length, offset);
  } else {
    is_doubtful = !patches.patch_memory(process.memory(), address, length);
  }
  report_unpatched(process);
  return is_doubtful ? NewCodeAnswer::kDoubtful : NewCodeAnswer::kSearched;
}

// The program can later write code there that runs without being searched.
void ProgramCode::report_unnoticed_changes(Process& process) {
  if (timestamp_counter_traps()) process.region().header().traps_timestamp_counter = 1;
  report_.warn(process,
               "has more memory that is writable and executable than can be watched: what it writes there is not searched "
               "for instructions whose result depends on the machine",
               true);
}

protocol::CallReplacement ProgramCode::replace_call(Process& process, const request::TrappedCall& call) {
  const auto [address, traps] = call;
  code::CodePatches& patches = *process.patches();
  const code::CodePatches::Origin origin = patches.origin_of(address);
  if (!patches.replaces_calls() || origin.file == nullptr) return protocol::CallReplacement::kNever;
  const std::uint64_t worth = run_.options.machine.call_traps ? traps : code::CodeFiles::kTrapsWorthSearch;
  const std::vector<code::CallSite>* const calls = files_.calls_of(*origin.file, worth);
  if (calls == nullptr) return protocol::CallReplacement::kNotYet;
  const bool is_done = patches.replace_call(process.memory(), address, origin, *calls);
  known_calls_.replace_in(patches, process.memory(), process.known_calls);
  if (is_done) known_calls_.add(origin, *calls);
  return is_done ? protocol::CallReplacement::kDone : protocol::CallReplacement::kNever;
}

std::int64_t ProgramCode::place_accesses(Thread& thread, const request::Attach& attach) {
  Process& process = thread.process();
  const std::uint64_t room = attach.room;
  if (thread.tid() != process.pid()) return 0;
  process.traps_accesses = false;
  if (!run_.options.late_accesses || !run_.choices.is_free() || room == 0) return 0;
  const Kernel::OwnFileWork own_work(kernel_, process.host_index());
  const code::FileCode* const file = files_.of(fmt::format("/proc/{}/exe", process.native_pid()));
  if (file == nullptr) return 0;
  std::vector<protocol::AccessPlace> places;
  for (const code::AccessSite& site : files_.accesses_of(*file)) {
    const auto address = process.patches()->address_of(*file, site.offset);
    if (!address || process.patches()->is_replaced(*address, site.place.length)) continue;
    if (places.size() == protocol::kMostAccessPlaces) {
      report_.warn(
          process,
          fmt::format(
              "has more than {} instructions that touch memory; its threads can be late only before the "
              "first of these",
              places.size()));
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

std::vector<std::uint64_t> ProgramCode::loads_behind_store(Process& process, const request::Access& access) {
  const code::FileCode* const file = process.patches()->origin_of(access.instruction).file;
  if (file == nullptr) return {};
  std::vector<std::uint64_t> loads =
      find_loads_behind_store(process, access.context, access.fs_base, {*file, files_.accesses_of(*file)});
  std::erase_if(loads, [&](std::uint64_t behind) { return process.patches()->is_replaced(behind, 1); });
  return loads;
}

// Searched again, since other threads may have run since the first search and changed the
// path behind the store.
std::int64_t ProgramCode::load_behind_store(Thread& thread, const request::Access& access) {
  const std::uint32_t wanted = thread.delays.loads_before_store();
  if (wanted == 0) return 0;
  const std::vector<std::uint64_t> loads = loads_behind_store(thread.process(), access);
  return loads.empty() ? 0
                       : static_cast<std::int64_t>(loads[std::min<std::size_t>(wanted, loads.size()) - 1]);
}

void ProgramCode::report_unpatched(Process& process) {
  for (const code::Unpatched& left : process.patches()->take_unpatched()) {
    // The trap of the time-stamp counter catches RDTSC and RDTSCP, and no other instruction.
    if (is_counter(left.kind) && timestamp_counter_traps()) {
      process.region().header().traps_timestamp_counter = 1;
      continue;
    }
    const std::string what =
        left.kind == protocol::DecidedInstruction::kNone
            ? "code that cannot be written, in which instructions stay that the machine decides"
            : fmt::format("bytes that may be {} or data", code::name_of(left.kind));
    report_.warn(
        process,
        fmt::format("{} at {:#x} has {}; its result would be this machine's", left.object, left.offset, what),
        true);
  }
}

}  // namespace verbatim::supervisor
