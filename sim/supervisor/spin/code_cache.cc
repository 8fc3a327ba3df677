#include "sim/supervisor/spin/code_cache.h"

#include <algorithm>
#include <cstring>

namespace verbatim::spin {

namespace {

constexpr unsigned kLineSize = MemoryView::kLineSize;

std::uint64_t end_of(const Instruction& instruction) { return instruction.address + std::max<unsigned>(instruction.length, 1); }

}  // namespace

void CodeCache::invalidate() {
  entries_ = {};  // frees the tables too
  lines_ = {};
  recent_.reset();
}

void CodeCache::begin() {
  ++analysis_;
  looked_at_.clear();
  if (entries_.size() > kMaxEntries) invalidate();
  if (recent_ == nullptr) recent_ = std::make_unique<std::array<Entry*, kRecent>>();
}

// The line that contains the address, compared with memory once per analysis unless it is fixed code.
// nullptr: the analysis has written into its page.
const CodeCache::Line* CodeCache::look(std::uint64_t address, MemoryView& memory) {
  const std::uint64_t start = address & ~std::uint64_t{kLineSize - 1};
  Line& line = lines_[address / kLineSize];
  if (line.analysis == analysis_) return &line;
  if (!memory.mark_executed(start)) return nullptr;
  line.analysis = analysis_;
  looked_at_.push_back(start);
  if (line.is_readable && memory.is_fixed_code(start & ~std::uint64_t{MemoryView::kPageSize - 1})) return &line;
  std::uint8_t now[kLineSize];
  const bool is_readable = memory.read_code(start, now, kLineSize);
  if (is_readable == line.is_readable && (!is_readable || std::memcmp(now, line.bytes.data(), kLineSize) == 0)) return &line;
  ++line.changes;
  line.is_readable = is_readable;
  if (is_readable) std::memcpy(line.bytes.data(), now, kLineSize);
  return &line;
}

std::vector<ByteRun> CodeCache::changing_lines(MemoryView& memory) const {
  std::vector<ByteRun> lines;
  for (const std::uint64_t start : looked_at_) {
    const auto line = lines_.find(start / kLineSize);
    if (line == lines_.end() || !memory.changes_unnoticed(start & ~std::uint64_t{MemoryView::kPageSize - 1})) continue;
    lines.push_back({start, {line->second.bytes.begin(), line->second.bytes.end()}});
  }
  std::ranges::sort(lines, {}, &ByteRun::address);
  return lines;
}

bool CodeCache::is_unchanged(Entry& entry, MemoryView& memory) {
  if (entry.first == nullptr) return false;
  const std::uint64_t address = entry.instruction.address;
  const Line* const first = look(address, memory);
  if (first == nullptr || first->changes != entry.first_changes) return false;
  if (entry.last != entry.first) {
    const Line* const last = look(end_of(entry.instruction) - 1, memory);
    if (last == nullptr || last->changes != entry.last_changes) return false;
  }
  entry.analysis = analysis_;
  return true;
}

// False: the analysis has written into the page where the instruction ends.
bool CodeCache::decode_anew(Entry& entry, std::uint64_t address, const Line& first, MemoryView& memory) {
  std::uint8_t bytes[sizeof entry.instruction.bytes];
  const unsigned offset = address % kLineSize;
  unsigned n = 0;
  if (first.is_readable) {
    n = std::min<unsigned>(sizeof bytes, kLineSize - offset);
    std::memcpy(bytes, first.bytes.data() + offset, n);
    // The following bytes may not belong to the instruction; failure to read them is ignored.
    if (n < sizeof bytes && memory.read_code(address + n, bytes + n, static_cast<unsigned>(sizeof bytes) - n)) n = sizeof bytes;
  }
  entry.instruction = decode(address, bytes, n);
  entry.first = entry.last = nullptr;
  const Line* const last = look(end_of(entry.instruction) - 1, memory);
  if (last == nullptr) return false;
  // Missing bytes may become readable: an instruction without all of its bytes is decoded again by the next
  // analysis.
  if (entry.instruction.refusal == Reason::kUnreadable || entry.instruction.length == 0) return true;
  entry.first = &first;
  entry.last = last;
  entry.first_changes = first.changes;
  entry.last_changes = last->changes;
  return true;
}

const Instruction* CodeCache::find(std::uint64_t address, MemoryView& memory) {
  const Line* const first = look(address, memory);
  if (first == nullptr) return nullptr;
  Entry& entry = entries_[address];
  if (entry.analysis != analysis_ && !is_unchanged(entry, memory)) {
    if (!decode_anew(entry, address, *first, memory)) return nullptr;
    entry.analysis = analysis_;
  }
  (*recent_)[address % kRecent] = &entry;
  return &entry.instruction;
}

}  // namespace verbatim::spin
