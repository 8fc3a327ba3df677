#include "sim/supervisor/machine/write_behind.h"

#include <algorithm>
#include <utility>

#include "sim/supervisor/machine/process_memory.h"

namespace verbatim::supervisor {

bool WriteBehind::keep(ProcessMemory& memory, host::ProgramAddress to, std::span<const std::byte> from,
                       host::PlacementFault fault) {
  const std::uint64_t* const host = memory.host();
  const bool is_long = from.size() >= kLeast && from.size() <= kMost;
  auto stream = std::ranges::find_if(streams_, [host](const Stream& of) { return of.memory != nullptr && of.host == host; });
  if (stream != streams_.end()) {
    const bool goes_on = is_long && stream->memory == &memory && stream->start + stream->bytes.size() == to &&
                         stream->bytes.size() + from.size() <= kMost;
    if (!goes_on) {
      write(*stream);
      stream = streams_.end();
    }
  }
  if (!is_long) return false;
  if (stream == streams_.end()) {
    stream = std::ranges::find(streams_, nullptr, &Stream::memory);
    if (stream == streams_.end()) return false;
    stream->memory = &memory;
    stream->host = host;
    stream->start = to;
    ++kept_;
  }
  stream->bytes.insert(stream->bytes.end(), from.begin(), from.end());
  stream->parts.push_back({static_cast<std::uint32_t>(from.size()), fault});
  return true;
}

void WriteBehind::flush() {
  if (kept_ == 0) [[likely]] return;
  for (Stream& stream : streams_) {
    if (stream.memory != nullptr) write(stream);
  }
}

void WriteBehind::flush(const std::uint64_t* host) {
  for (Stream& stream : streams_) {
    if (stream.memory != nullptr && stream.host == host) write(stream);
  }
}

void WriteBehind::forget(const ProcessMemory& memory) {
  for (Stream& stream : streams_) {
    if (stream.memory != &memory) continue;
    stream = Stream();
    --kept_;
  }
}

void WriteBehind::write(Stream& stream) {
  ProcessMemory& memory = *std::exchange(stream.memory, nullptr);
  --kept_;
  std::span<const std::byte> bytes = stream.bytes;
  host::ProgramAddress to = stream.start;
  if (!memory.write_bytes(to, bytes)) {
    // Not all of it is mapped: of which packets?
    for (const Part& part : stream.parts) {
      if (!memory.write_bytes(to, bytes.first(part.length))) part.fault.tell(to, part.length);
      to += part.length;
      bytes = bytes.subspan(part.length);
    }
  }
  stream.bytes.clear();
  stream.parts.clear();
}

}  // namespace verbatim::supervisor
