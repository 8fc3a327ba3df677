#include "sim/supervisor/machine/read_ahead.h"

#include <algorithm>
#include <cstring>

#include "sim/supervisor/machine/process_memory.h"

namespace verbatim::supervisor {

// Stream whose next packet begins at `from`; otherwise the least recently used one, for a new message.
ReadAhead::Stream& ReadAhead::stream_of(const ProcessMemory& memory, std::uint64_t from) {
  const auto goes_on = [&](const Stream& stream) { return stream.memory == &memory && stream.next == from; };
  const auto found = std::ranges::find_if(streams_, goes_on);
  Stream& stream = found != streams_.end() ? *found : *std::ranges::min_element(streams_, {}, &Stream::used);
  stream.used = ++uses_;
  if (found != streams_.end()) return stream;
  stream.memory = &memory;
  stream.next = from;
  stream.length = stream.window = 0;
  return stream;
}

bool ReadAhead::copy(const ProcessMemory& memory, std::uint64_t from, std::span<std::byte> to, std::uint64_t follow) {
  if (to.size() < kLeast) return copy_short(memory, from, to);
  if (to.size() > kMost / 2) return false;
  Stream& stream = stream_of(memory, from);
  stream.next = from + to.size();
  const bool is_current = stream.length != 0 && stream.epoch == memory.epoch();
  if (is_current && from >= stream.start && from + to.size() <= stream.start + stream.length) {
    std::memcpy(to.data(), stream.bytes.data() + (from - stream.start), to.size());
    return true;
  }
  // Data read in vain, because a program has run or memory was written meanwhile, halve the window.
  const bool was_in_vain = stream.length != 0 && !is_current && stream.start + stream.length > from;
  const bool is_new = stream.window == 0;
  const std::size_t known = to.size() + std::min<std::uint64_t>(follow, kMost - to.size());
  stream.window = is_new ? known : was_in_vain ? std::max(stream.window / 2, to.size()) : std::min(2 * stream.window, kMost);
  if (follow != 0) stream.window = std::min(stream.window, known);
  stream.length = 0;
  if (stream.window == to.size() || ProcessMemory::is_in_region(from, stream.window)) return false;
  stream.bytes.resize(kMost);
  stream.length = memory.read_present(from, std::span(stream.bytes).first(stream.window));
  stream.start = from;
  stream.epoch = memory.epoch();
  stream.is_private.reset();
  if (stream.length < to.size()) {
    stream.length = 0;
    return false;
  }
  std::memcpy(to.data(), stream.bytes.data(), to.size());
  return true;
}

bool ReadAhead::copy_short(const ProcessMemory& memory, std::uint64_t from, std::span<std::byte> to) {
  const std::uint64_t number = from / kPage, offset = from % kPage;
  if (to.empty() || offset + to.size() > kPage || ProcessMemory::is_in_region(from, to.size())) return false;
  const auto is_it = [&](const Page& page) { return page.memory == &memory && page.number == number; };
  const auto found = std::ranges::find_if(pages_, is_it);
  Page& page = found != pages_.end() ? *found : *std::ranges::min_element(pages_, {}, &Page::used);
  page.used = ++uses_;
  if (!is_it(page) || page.epoch != memory.epoch()) {
    page.memory = nullptr;
    if (memory.read_present(number * kPage, page.bytes) != kPage) return false;
    page.memory = &memory;
    page.number = number;
    page.epoch = memory.epoch();
    page.is_private.reset();
  }
  std::memcpy(to.data(), page.bytes.data() + offset, to.size());
  return true;
}

void ReadAhead::note_placement(const ProcessMemory& memory, std::uint64_t to, std::size_t length) {
  const std::uint64_t now = memory.epoch();
  const auto stays = [&](auto& read, std::uint64_t start, std::size_t bytes) {
    if (read.epoch != now - 1 || read.memory == nullptr || bytes == 0) return false;
    if (read.memory->epoch_of_host() != memory.epoch_of_host()) return false;
    if (read.memory == &memory && to < start + bytes && start < to + length) return false;
    if (!read.is_private) read.is_private = read.memory->is_private(start, bytes);
    return *read.is_private;
  };
  for (Stream& stream : streams_) {
    if (stays(stream, stream.start, stream.length)) stream.epoch = now;
  }
  for (Page& page : pages_) {
    if (stays(page, page.number * kPage, kPage)) page.epoch = now;
  }
}

void ReadAhead::forget(const ProcessMemory& memory) {
  for (Page& page : pages_) {
    if (page.memory == &memory) page.memory = nullptr;
  }
  for (Stream& stream : streams_) {
    if (stream.memory == &memory) stream = Stream();
  }
}

}  // namespace verbatim::supervisor
