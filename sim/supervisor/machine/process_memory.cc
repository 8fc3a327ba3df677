#include "sim/supervisor/machine/process_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "verbs_shim/protocol/layout.h"

namespace verbatim::supervisor {

namespace {
constexpr std::size_t kPage = 4096;

std::size_t to_page_end(host::ProgramAddress address, std::size_t length) {
  return std::min<std::size_t>(length, kPage - address % kPage);
}
}  // namespace

ProcessMemory::~ProcessMemory() {
  if (cache_ != nullptr) cache_->forget(*this);
  if (read_ahead_ != nullptr) read_ahead_->forget(*this);
  if (write_behind_ != nullptr) write_behind_->forget(*this);
}

bool ProcessMemory::is_in_region(host::ProgramAddress start, std::uint64_t length) {
  constexpr std::uint64_t kEnd = protocol::kRegionAddress + protocol::kRegionSize;
  return start < kEnd && start + length > protocol::kRegionAddress;
}

bool ProcessMemory::is_private(host::ProgramAddress start, std::uint64_t length) const {
  settle();
  const std::uint64_t first = start / kPage, last = (start + length - 1) / kPage;
  return bytes_.private_pages(first, last - first + 1) == last - first + 1;
}

std::vector<std::size_t> ProcessMemory::shared_among(std::span<const spin::ByteRun> runs) const {
  std::vector<std::size_t> shared;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::uint64_t length = runs[i].bytes.size();
    if (length != 0 && !is_in_region(runs[i].address, length) && !is_private(runs[i].address, length)) shared.push_back(i);
  }
  return shared;
}

std::size_t ProcessMemory::read_present(host::ProgramAddress from, std::span<std::byte> to) const {
  settle();
  const spin::MemoryRange range{from, to.size()};
  return bytes_.read(std::span(&range, 1), to.data());
}

bool ProcessMemory::read(host::ProgramAddress from, std::span<std::byte> to) { return read(from, to, 0); }

bool ProcessMemory::read(host::ProgramAddress from, std::span<std::byte> to, std::uint64_t follow) {
  announce(from, to.size());
  if (read_ahead_ != nullptr && read_ahead_->copy(*this, from, to, follow)) return true;
  bool complete = true;
  while (!to.empty()) {
    std::size_t done = read_present(from, to);
    if (done == 0) {
      done = to_page_end(from, to.size());
      std::memset(to.data(), 0, done);
      complete = false;
    }
    from += done;
    to = to.subspan(done);
  }
  return complete;
}

bool ProcessMemory::gather(host::ProgramAddress from, std::span<std::byte> to, std::uint64_t follow) {
  return (engine_ != nullptr && touches_.take_read(engine_->now(), from, to)) || read(from, to, follow);
}

void ProcessMemory::place(host::ProgramAddress to, std::span<const std::byte> from, host::PlacementFault fault) {
  if (engine_ != nullptr && touches_.take_write(engine_->now(), to, from.size())) return;
  announce(to, from.size());
  begin_epoch();
  if (read_ahead_ != nullptr) read_ahead_->note_placement(*this, to, from.size());
  write_behind(to, from, fault);
}

void ProcessMemory::write_later(host::ProgramAddress to, std::span<const std::byte> from) {
  announce(to, from.size());
  begin_epoch();
  if (read_ahead_ != nullptr) read_ahead_->note_placement(*this, to, from.size());
  write_behind(to, from, {});
}

void ProcessMemory::write_behind(host::ProgramAddress to, std::span<const std::byte> from, host::PlacementFault fault) {
  Written written{to, from};
  if (write_behind_ == nullptr || !write_behind_->keep(*this, to, from, fault)) written.is_complete = write_bytes(to, from);
  if (write_listener_) write_listener_(written);
  if (!written.is_complete) fault.report(to, static_cast<std::uint32_t>(from.size()));
}

void ProcessMemory::begin_epoch() {
  if (epoch_ != nullptr) ++*epoch_;
}

bool ProcessMemory::write(host::ProgramAddress to, std::span<const std::byte> from) {
  announce(to, from.size());
  settle();
  begin_epoch();
  const Written written{to, from, write_bytes(to, from)};
  if (write_listener_) write_listener_(written);
  return written.is_complete;
}

bool ProcessMemory::write_bytes(host::ProgramAddress to, std::span<const std::byte> from) {
  bool is_complete = true;
  while (!from.empty()) {
    std::size_t done = bytes_.write(to, from);
    if (done == 0) {
      done = to_page_end(to, from.size());
      is_complete &= bytes_.write_anyway(to, from.first(done)) == done;
      if (regardless_listener_) regardless_listener_();
    }
    to += done;
    from = from.subspan(done);
  }
  return is_complete;
}

void ProcessMemory::write_changed(std::span<const spin::ByteRun> runs) {
  const PresentBytes present(*this, runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!present.equal(i, runs[i])) write(runs[i].address, std::as_bytes(std::span(runs[i].bytes)));
  }
}

bool ProcessMemory::write_code(host::ProgramAddress to, std::span<const std::byte> from) {
  announce(to, from.size());
  settle();
  begin_epoch();
  if (bytes_.write_anyway(to, from) != from.size()) return write(to, from);
  if (write_listener_) write_listener_({to, from});
  return true;
}

bool ProcessMemory::put(host::ProgramAddress to, std::span<const std::byte> from) {
  announce(to, from.size());
  settle();
  begin_epoch();
  Written written{to, from};
  for (std::size_t done = 1; done > 0 && !from.empty();) {
    done = bytes_.write(to, from);
    to += done;
    from = from.subspan(done);
  }
  written.is_complete = from.empty();
  if (write_listener_) write_listener_(written);
  return written.is_complete;
}

bool ProcessMemory::read_ranges(std::span<const spin::MemoryRange> ranges, std::uint8_t* to) {
  if (access_listener_) access_listener_(ranges);
  return (cache_ != nullptr && cache_->copy(*this, ranges, to, true)) || copy_uncached(ranges, to);
}

bool ProcessMemory::copy_ranges(std::span<const spin::MemoryRange> ranges, std::uint8_t* to, bool again) const {
  return (cache_ != nullptr && cache_->copy(*this, ranges, to, again)) || copy_uncached(ranges, to);
}

bool ProcessMemory::copy_uncached(std::span<const spin::MemoryRange> ranges, std::uint8_t* to) const {
  settle();
  std::size_t bytes = 0;
  for (const spin::MemoryRange& range : ranges) bytes += range.length;
  return bytes_.read(ranges, reinterpret_cast<std::byte*>(to)) == bytes;
}

PresentBytes::PresentBytes(const ProcessMemory& memory, std::span<const spin::ByteRun> runs, bool again)
    : is_mapped_(runs.size(), true) {
  std::vector<spin::MemoryRange> ranges;
  ranges.reserve(runs.size());
  begins_.reserve(runs.size() + 1);
  begins_.push_back(0);
  for (const spin::ByteRun& run : runs) {
    ranges.push_back({run.address, run.bytes.size()});
    begins_.push_back(begins_.back() + run.bytes.size());
  }
  bytes_.resize(begins_.back());
  if (memory.copy_ranges(ranges, bytes_.data(), again)) return;
  for (std::size_t i = 0; i < runs.size(); ++i)
    is_mapped_[i] = memory.copy_ranges(std::span(ranges).subspan(i, 1), bytes_.data() + begins_[i]);
}

bool ProcessMemory::is_mapped(host::ProgramAddress start, std::uint64_t length, bool writable) {
  const unsigned rights = ForeignMemory::kRead | (writable ? ForeignMemory::kWrite : 0u);
  return start + length >= start && bytes_.permitted(start, length, rights) == length;
}

std::optional<std::string> ProcessMemory::load_string(host::ProgramAddress from, std::size_t limit) {
  std::string text;
  while (text.size() <= limit) {
    char chunk[256];
    const std::size_t size = to_page_end(from, sizeof chunk);
    if (!read(from, std::as_writable_bytes(std::span(chunk, size)))) return std::nullopt;
    const void* zero = std::memchr(chunk, 0, size);
    if (zero != nullptr) {
      text.append(chunk, static_cast<std::size_t>(static_cast<const char*>(zero) - chunk));
      return text.size() <= limit ? std::optional(text) : std::nullopt;
    }
    text.append(chunk, size);
    from += size;
  }
  return std::nullopt;
}

}  // namespace verbatim::supervisor
