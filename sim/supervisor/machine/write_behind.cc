#include "sim/supervisor/machine/write_behind.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/supervisor/machine/process_memory.h"

namespace verbatim::supervisor {

// nullptr: nothing is kept for this host.
WriteBehind::Kept* WriteBehind::kept_of(const std::uint64_t* host) {
  const auto found = std::ranges::find_if(hosts_, [host](const Kept& of) { return of.memory != nullptr && of.host == host; });
  return found != hosts_.end() ? &*found : nullptr;
}

WriteBehind::Kept& WriteBehind::start(ProcessMemory& memory) {
  const auto free = std::ranges::find(hosts_, nullptr, &Kept::memory);
  Kept& kept = free != hosts_.end() ? *free : hosts_[next_++ % kHosts];
  if (kept.memory != nullptr) write(kept);
  kept.memory = &memory;
  kept.host = memory.epoch_of_host();
  ++kept_;
  return kept;
}

bool WriteBehind::keep(ProcessMemory& memory, host::ProgramAddress to, std::span<const std::byte> from,
                       host::PlacementFault fault) {
  Kept* kept = kept_of(memory.epoch_of_host());
  const bool has_room = kept != nullptr && kept->memory == &memory && kept->bytes.size() + from.size() <= kMost &&
                        kept->parts.size() < kMostParts;
  if (kept != nullptr && !has_room) {
    write(*kept);
    kept = nullptr;
  }
  if (from.size() > kMost) return false;
  if (kept == nullptr) kept = &start(memory);
  kept->bytes.insert(kept->bytes.end(), from.begin(), from.end());
  kept->parts.push_back({to, static_cast<std::uint32_t>(from.size()), fault});
  return true;
}

void WriteBehind::flush() {
  if (kept_ == 0) [[likely]] return;
  for (Kept& kept : hosts_) {
    if (kept.memory != nullptr) write(kept);
  }
}

void WriteBehind::flush(const std::uint64_t* host) {
  if (kept_ == 0) return;
  if (Kept* const kept = kept_of(host); kept != nullptr) write(*kept);
}

void WriteBehind::forget(const ProcessMemory& memory) {
  if (handed_.memory == &memory) drop_handed();
  for (Kept& kept : hosts_) {
    if (kept.memory != &memory) continue;
    kept = Kept();
    --kept_;
  }
}

std::uint32_t WriteBehind::hand_to(ProcessMemory& memory, protocol::PlacementList& list) {
  Kept* const kept = kept_ == 0 ? nullptr : kept_of(memory.epoch_of_host());
  if (kept == nullptr || kept->memory != &memory || kept->bytes.size() > protocol::kPlacedBytes) return 0;
  std::uint32_t count = 0, offset = 0;
  for (const Part& part : kept->parts) {
    list.placements[count++] = {part.to, part.length, offset};
    offset += part.length;
  }
  std::memcpy(list.bytes, kept->bytes.data(), kept->bytes.size());
  handed_.bytes.clear();
  handed_.parts.clear();
  std::swap(handed_, *kept);
  kept->memory = nullptr;
  --kept_;
  return count;
}

void WriteBehind::finish_handed(const ProcessMemory& memory) {
  if (handed_.memory != &memory) return;
  write_parts(*std::exchange(handed_.memory, nullptr), handed_.parts, handed_.bytes);
}

void WriteBehind::write(Kept& kept) {
  ProcessMemory& memory = *std::exchange(kept.memory, nullptr);
  --kept_;
  write_parts(memory, kept.parts, kept.bytes);
  kept.bytes.clear();
  kept.parts.clear();
}

// Writes all parts by one system call, or, if a byte may not be written, adjacent packets of a message by one each.
void WriteBehind::write_parts(ProcessMemory& memory, std::span<const Part> parts, std::span<const std::byte> bytes) {
  std::array<spin::MemoryRange, kMostParts> places;
  std::size_t count_of_places = 0;
  for (const Part& part : parts) {
    spin::MemoryRange* const last = count_of_places == 0 ? nullptr : &places[count_of_places - 1];
    if (last != nullptr && last->address + last->length == part.to) {
      last->length += part.length;
    } else {
      places[count_of_places++] = {part.to, part.length};
    }
  }
  if (count_of_places > 1 && memory.write_bytes(std::span(places).first(count_of_places), bytes)) return;
  while (!parts.empty()) {
    const host::ProgramAddress to = parts.front().to;
    std::size_t count = 0, length = 0;
    while (count < parts.size() && parts[count].to == to + length) length += parts[count++].length;
    if (!memory.write_bytes(to, bytes.first(length))) {
      // A byte is not mapped: finds the packets with unmapped bytes.
      std::size_t done = 0;
      for (const Part& part : parts.first(count)) {
        if (!memory.write_bytes(part.to, bytes.subspan(done, part.length))) part.fault.report(part.to, part.length);
        done += part.length;
      }
    }
    parts = parts.subspan(count);
    bytes = bytes.subspan(length);
  }
}

}  // namespace verbatim::supervisor
