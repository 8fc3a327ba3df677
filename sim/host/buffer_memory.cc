#include "sim/host/buffer_memory.h"

#include <algorithm>
#include <cstring>

#include "sim/core/check.h"

namespace verbatim::host {

std::span<std::byte> BufferMemory::map(ProgramAddress start, std::uint64_t size, bool writable) {
  CHECK(size > 0 && start + size > start);
  const auto next = ranges_.lower_bound(start);
  CHECK(next == ranges_.end() || next->first >= start + size);
  if (next != ranges_.begin()) {
    const auto previous = std::prev(next);
    CHECK(previous->first + previous->second.bytes.size() <= start);
  }
  Range& range = ranges_[start];
  range.bytes.resize(size);
  range.writable = writable;
  return range.bytes;
}

void BufferMemory::unmap(ProgramAddress start) { CHECK(ranges_.erase(start) == 1); }

std::span<std::byte> BufferMemory::at(ProgramAddress start, std::uint64_t size) {
  auto it = ranges_.upper_bound(start);
  CHECK(it != ranges_.begin());
  --it;
  const std::uint64_t offset = start - it->first;
  CHECK(offset + size <= it->second.bytes.size());
  return std::span(it->second.bytes).subspan(offset, size);
}

template <class Visit>
bool BufferMemory::visit(ProgramAddress start, std::uint64_t length, Visit visit) {
  if (length != 0 && start + (length - 1) < start) return false;
  std::uint64_t done = 0;
  bool complete = true;
  auto it = ranges_.upper_bound(start);
  if (it != ranges_.begin()) {
    --it;
    // Fast path: usually one range contains all of it.
    Range& range = it->second;
    const std::uint64_t offset = start - it->first;
    if (offset <= range.bytes.size() && length <= range.bytes.size() - offset) [[likely]] {
      if (length > 0) visit(std::uint64_t{0}, std::span(range.bytes).subspan(offset, length), range.writable);
      return true;
    }
  }
  while (done < length && it != ranges_.end()) {
    const ProgramAddress at = start + done;
    Range& range = it->second;
    const ProgramAddress end = it->first + range.bytes.size();
    if (end <= at) {
      ++it;
      continue;
    }
    if (it->first > at) {  // not mapped
      complete = false;
      done = std::min(length, it->first - start);
      continue;
    }
    const std::uint64_t part = std::min(length - done, end - at);
    visit(done, std::span(range.bytes).subspan(at - it->first, part), range.writable);
    done += part;
    if (done < length) ++it;
  }
  return complete && done >= length;
}

bool BufferMemory::read(ProgramAddress from, std::span<std::byte> to) {
  std::uint64_t covered = 0;
  const bool complete = visit(from, to.size(), [&](std::uint64_t offset, std::span<std::byte> bytes, bool) {
    if (offset > covered) std::memset(to.data() + covered, 0, offset - covered);
    std::memcpy(to.data() + offset, bytes.data(), bytes.size());
    covered = offset + bytes.size();
  });
  if (covered < to.size()) std::memset(to.data() + covered, 0, to.size() - covered);
  return complete;
}

bool BufferMemory::write(ProgramAddress to, std::span<const std::byte> from) {
  return visit(to, from.size(), [&](std::uint64_t offset, std::span<std::byte> bytes, bool) {
    std::memcpy(bytes.data(), from.data() + offset, bytes.size());
  });
}

bool BufferMemory::is_mapped(ProgramAddress start, std::uint64_t length, bool writable) {
  bool allowed = true;
  const bool complete = visit(start, length, [&](std::uint64_t, std::span<std::byte>, bool range_writable) {
    if (writable && !range_writable) allowed = false;
  });
  return complete && allowed;
}

}  // namespace verbatim::host
