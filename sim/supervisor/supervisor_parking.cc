// Threads that wait by running, see parking.h.
#include <atomic>
#include <cstring>

#include "sim/supervisor/supervisor_impl.h"

namespace verbatim::supervisor {

bool Supervisor::Impl::take_poke(Thread& thread) {
  Process& process = thread.process();
  const protocol::ThreadSlot& slot = process.region().slot(thread.slot());
  auto parked = analyst_of(process).spin(static_cast<std::uint64_t>(slot.arguments[0]),
                                         static_cast<std::uint64_t>(slot.arguments[1]));
  if (!parked) return false;
  if (!take_slice(thread)) return true;
  thread.call().request = protocol::Request::kPoke;
  parked->since = slice_end_;
  thread.spin_found();
  thread.park(std::move(*parked));
  if (thread.has_signal()) thread.unpark();
  check_watched(process);
  return true;
}

LoopAnalyst& Supervisor::Impl::analyst_of(Process& process) {
  if (process.analyst() == nullptr) process.analyst() = std::make_unique<LoopAnalyst>(process);
  return *process.analyst();
}

// A thread of this host has run: threads that wait for memory to change may share it.
void Supervisor::Impl::check_watched(Process& ran) {
  for (auto& process : processes_) {
    if (!process->alive || process->host_index() != ran.host_index()) continue;
    for (auto& thread : process->threads()) {
      if (thread->parked() != nullptr && watched_bytes_changed(*thread)) thread->unpark();
    }
  }
}

bool Supervisor::Impl::watched_bytes_changed(Thread& thread) {
  for (const spin::ByteRun& run : thread.parked()->watched) {
    std::vector<std::byte> now(run.bytes.size());
    thread.process().memory().read(run.address, now);
    if (std::memcmp(now.data(), run.bytes.data(), now.size()) != 0) return true;
  }
  return false;
}

void Supervisor::Impl::on_memory_written(Process& process, std::uint64_t address, std::size_t length) {
  for (auto& thread : process.threads()) {
    if (thread->parked() == nullptr) continue;
    for (const spin::ByteRun& run : thread->parked()->watched) {
      if (run.address >= address + length || address >= run.address + run.bytes.size()) continue;
      if (watched_bytes_changed(*thread)) thread->unpark();
      break;
    }
  }
}

// Nobody else of the host can run before something outside happens.
bool Supervisor::Impl::alone_on_host(const Thread& thread, std::size_t host) const {
  for (const auto& process : processes_) {
    if (!process->alive || process->host_index() != host) continue;
    for (const auto& other : process->threads()) {
      if (other.get() != &thread && other->state() == Thread::State::kPending) return false;
    }
  }
  return true;
}

bool Supervisor::Impl::someone_parked(std::size_t host) const {
  for (const auto& process : processes_) {
    if (!process->alive || process->host_index() != host) continue;
    for (const auto& thread : process->threads()) {
      if (thread->parked() != nullptr) return true;
    }
  }
  return false;
}

// The look is due. When it finds nothing and the program will only look again, the turns in between are
// skipped.
bool Supervisor::Impl::park_poll(Thread& thread) {
  Process& process = thread.process();
  if (options_.mode != Mode::kSlices || thread.has_signal() || !alone_on_host(thread, process.host_index()))
    return false;
  const PendingCall& call = thread.call();
  const auto offset = static_cast<std::uint64_t>(call.arguments[3]);
  if (call.arguments[0] <= 0 || offset % alignof(protocol::Cqe) != 0 ||
      offset > protocol::kArenaSize - sizeof(protocol::Cqe)) {
    return false;
  }
  auto* entry = reinterpret_cast<protocol::Cqe*>(process.region().arena().data() + offset);
  const std::uint32_t sequence = std::atomic_ref(entry->sequence).load(std::memory_order_acquire);
  if (sequence == static_cast<std::uint32_t>(call.arguments[4])) return false;
  auto parked =
      analyst_of(process).poll_loop(call, process.region().slot(thread.slot()).poll_registers, engine_.now());
  if (!parked) return false;
  thread.park(std::move(*parked));
  return true;
}

}  // namespace verbatim::supervisor
