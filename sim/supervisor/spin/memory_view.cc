#include "sim/supervisor/spin/memory_view.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/core/check.h"

namespace verbatim::spin {

// Pages that no analysis of this thread uses at present. Reuse avoids allocations, because an analysis takes
// only microseconds.
std::vector<std::unique_ptr<MemoryView::Page>>& MemoryView::spare_pages() {
  static thread_local std::vector<std::unique_ptr<Page>> pages;
  return pages;
}

template <class Visit>
void MemoryView::for_each_line(std::uint64_t lines, Visit visit) {
  for (; lines != 0; lines &= lines - 1) visit(static_cast<unsigned>(std::countr_zero(lines)) * kLineSize);
}

void MemoryView::copy_lines(std::uint64_t lines, const Bytes& from, Bytes& to) {
  for_each_line(lines, [&](unsigned line) { std::memcpy(to.data() + line, from.data() + line, kLineSize); });
}

bool MemoryView::same_lines(std::uint64_t lines, const Bytes& a, const Bytes& b) {
  bool same = true;
  for_each_line(lines, [&](unsigned line) { same = same && std::memcmp(a.data() + line, b.data() + line, kLineSize) == 0; });
  return same;
}

void MemoryView::begin(CodeMemory& memory, unsigned page_limit) {
  end();
  memory_ = &memory;
  page_limit_ = page_limit;
  fault_ = Reason::kNone;
  is_tracking_ = false;
  stale_from_ = stale_to_ = 0;
}

void MemoryView::end() {
  recent_.fill(nullptr);
  index_.clear();
  auto& spare = spare_pages();
  for (auto& page : pages_) {
    if (spare.size() < kMostSpare) spare.push_back(std::move(page));
  }
  pages_.clear();
  used_ = 0;
  executed_.clear();
  anchored_.clear();
}

void MemoryView::rewind() {
  for (std::size_t i = 0; i < used_; ++i) {
    Page& page = *pages_[i];
    if (std::exchange(page.written, false)) copy_lines(page.present, page.original, page.data);
  }
  set_anchor();
  is_tracking_ = false;
  stale_from_ = stale_to_ = 0;
}

MemoryView::Page* MemoryView::find_page(std::uint64_t number) {
  Page*& recent = recent_[number % recent_.size()];
  if (const auto found = index_.find(number); found != index_.end()) return recent = found->second;
  if (used_ == page_limit_) {
    fault_ = Reason::kTooMuchMemory;
    return nullptr;
  }
  // Default-initialised: the arrays of a page are filled before they are read.
  if (used_ == pages_.size()) {
    auto& spare = spare_pages();
    pages_.push_back(spare.empty() ? std::unique_ptr<Page>(new Page) : std::move(spare.back()));
    if (!spare.empty()) spare.pop_back();
  }
  Page* const page = pages_[used_++].get();
  page->number = number;
  page->anchored = page->tracked = page->present = 0;
  page->written = false;
  index_.emplace(number, page);
  return recent = page;
}

// Reads lines of the program's memory into all copies that the page has.
bool MemoryView::read_lines(Page& page, std::uint64_t lines) {
  while (lines != 0) {
    const auto first = static_cast<unsigned>(std::countr_zero(lines));
    const auto count = static_cast<unsigned>(std::countr_one(lines >> first));
    const unsigned offset = first * kLineSize, n = count * kLineSize;
    if (!memory_->read(page.number * kPageSize + offset, page.data.data() + offset, n)) {
      fault_ = Reason::kUnreadable;
      return false;
    }
    if (page.written) std::memcpy(page.original.data() + offset, page.data.data() + offset, n);
    if (page.anchored == anchor_) std::memcpy(page.anchor.data() + offset, page.data.data() + offset, n);
    const std::uint64_t read = ~0ull >> (64 - count) << first;
    page.present |= read;
    lines &= ~read;
  }
  return true;
}

bool MemoryView::load_bytes(std::uint64_t address, unsigned n, std::uint8_t* to) {
  while (n != 0) {
    const unsigned offset = address % kPageSize;
    const unsigned part = std::min(n, kPageSize - offset);
    Page* const from = page(address / kPageSize, offset, part);
    if (from == nullptr) return false;
    if (is_tracking_ && !note_read(*from, offset, part)) return false;
    std::memcpy(to, from->data.data() + offset, part);
    to += part;
    address += part;
    n -= part;
  }
  return true;
}

bool MemoryView::store_bytes(std::uint64_t address, unsigned n, const std::uint8_t* from) {
  while (n != 0) {
    const unsigned offset = address % kPageSize;
    const unsigned part = std::min(n, kPageSize - offset);
    Page* const to = page(address / kPageSize, offset, part);
    if (to == nullptr) return false;
    if (to->anchored != anchor_ && !prepare_write(*to)) return false;
    if (is_tracking_) note_write(*to, offset, part, from);
    std::memcpy(to->data.data() + offset, from, part);
    from += part;
    address += part;
    n -= part;
  }
  return true;
}

bool MemoryView::prepare_write(Page& page) {
  if (std::find(executed_.begin(), executed_.end(), page.number) != executed_.end()) {
    fault_ = Reason::kWritesCode;
    return false;
  }
  if (!page.written) copy_lines(page.present, page.data, page.original);
  page.written = true;
  copy_lines(page.present, page.data, page.anchor);
  page.anchored = anchor_;
  anchored_.push_back(&page);
  return true;
}

bool MemoryView::mark_executed(std::uint64_t address) {
  const std::uint64_t number = address / kPageSize;
  if (std::find(executed_.begin(), executed_.end(), number) != executed_.end()) return true;
  const auto found = index_.find(number);
  if (found != index_.end() && found->second->written) return false;
  executed_.push_back(number);
  return true;
}

void MemoryView::set_anchor() {
  ++anchor_;
  anchored_.clear();
}

bool MemoryView::same_as_anchor() const {
  return std::all_of(anchored_.begin(), anchored_.end(),
                     [](const Page* page) { return same_lines(page->present, page->data, page->anchor); });
}

void MemoryView::begin_tracking() {
  // The anchor has the values at begin_tracking().
  set_anchor();
  ++tracking_;
  is_tracking_ = true;
  note_recent();
  notes_recent_ = false;
  set_comparing(false);
  stale_from_ = stale_to_ = 0;
}

void MemoryView::extend_marks(Page& page, unsigned offset, unsigned n) {
  if (page.tracked != tracking_) {
    page.tracked = tracking_;
    page.marked = 0;
  }
  const std::uint64_t unmarked = lines_of(offset, n) & ~page.marked;
  if (unmarked == 0) return;
  for_each_line(unmarked, [&page](unsigned line) { std::memset(page.marks.data() + line, 0, kLineSize); });
  page.marked |= unmarked;
}

bool MemoryView::note_read(Page& page, unsigned offset, unsigned n) {
  extend_marks(page, offset, n);
  const std::uint64_t address = page.number * kPageSize + offset;
  if (notes_recent_) recent_reads_.push_back({address, n});
  const bool near_stale = address + n > stale_from_ && address < stale_to_;
  if (!near_stale && n <= 8 && offset <= kPageSize - 8) {
    std::uint64_t marks;
    std::memcpy(&marks, page.marks.data() + offset, 8);
    marks |= (~(marks / kWritten) & (kEachByte >> (64 - 8 * n))) * read_marks_;
    std::memcpy(page.marks.data() + offset, &marks, 8);
    return true;
  }
  for (unsigned i = 0; i < n; ++i) {
    std::uint8_t& mark = page.marks[offset + i];
    if (near_stale && (mark & kFresh) == 0 && address + i >= stale_from_ && address + i < stale_to_) {
      fault_ = Reason::kStaleStack;
      return false;
    }
    if ((mark & kWritten) == 0) mark |= read_marks_;
  }
  return true;
}

void MemoryView::note_write(Page& page, unsigned offset, unsigned n, const std::uint8_t* from) {
  extend_marks(page, offset, n);
  for (unsigned i = 0; i < n; ++i) {
    const std::uint8_t change = page.data[offset + i] == from[i] ? 0 : kChanged;
    page.marks[offset + i] |= static_cast<std::uint8_t>(kWritten | kFresh | change);
  }
  if (notes_recent_) recent_writes_.push_back({page.number * kPageSize + offset, n});
}

bool MemoryView::is_only_compared(const MemoryRange& range) {
  for (std::uint64_t at = range.address; at < range.address + range.length; ++at) {
    Page* const in = page(at / kPageSize, at % kPageSize, 1);
    if (in == nullptr || in->tracked != tracking_ || (in->marked & lines_of(at % kPageSize, 1)) == 0) return false;
    if ((in->marks[at % kPageSize] & (kReadFirst | kWritten | kReadOtherwise)) != kReadFirst) return false;
  }
  return true;
}

bool MemoryView::is_stale(std::uint64_t address, unsigned n) {
  if (!is_tracking_) return false;
  for (std::uint64_t at = std::max(address, stale_from_); at < std::min(address + n, stale_to_); ++at) {
    Page* const in = page(at / kPageSize, at % kPageSize, 1);
    if (in == nullptr) return false;  // it cannot be read at all
    const bool has_marks = in->tracked == tracking_ && (in->marked & lines_of(at % kPageSize, 1)) != 0;
    if (!has_marks || (in->marks[at % kPageSize] & kFresh) == 0) return true;
  }
  return false;
}

void MemoryView::leave_stale(std::uint64_t stack_pointer, std::uint64_t reach) {
  CHECK(is_tracking_);
  // Stack above this call's stack that an earlier call has made stale stays stale.
  const bool is_deeper = stack_pointer >= stale_from_ && stack_pointer < stale_to_;
  if (!is_deeper) stale_to_ = stack_pointer;
  stale_from_ = stack_pointer < reach ? 0 : stack_pointer - reach;
  for (std::size_t i = 0; i < used_; ++i) {
    Page& page = *pages_[i];
    const std::uint64_t start = page.number * kPageSize;
    if (page.tracked != tracking_ || start >= stack_pointer || start + kPageSize <= stale_from_) continue;
    const unsigned end = static_cast<unsigned>(std::min<std::uint64_t>(stack_pointer - start, kPageSize));
    for_each_line(page.marked, [&page, end](unsigned line) {
      unsigned offset = line;
      for (; offset < line + kLineSize && offset + 8 <= end; offset += 8) {
        std::uint64_t marks;
        std::memcpy(&marks, page.marks.data() + offset, 8);
        marks &= ~(kEachByte * kFresh);
        std::memcpy(page.marks.data() + offset, &marks, 8);
      }
      for (; offset < line + kLineSize && offset < end; ++offset) page.marks[offset] &= static_cast<std::uint8_t>(~kFresh);
    });
  }
}

std::vector<MemoryView::Page*> MemoryView::sorted_pages() const {
  std::vector<Page*> sorted;
  for (std::size_t i = 0; i < used_; ++i) sorted.push_back(pages_[i].get());
  std::sort(sorted.begin(), sorted.end(), [](const Page* a, const Page* b) { return a->number < b->number; });
  return sorted;
}

namespace {

void append(std::vector<ByteRun>& runs, std::uint64_t address, std::uint8_t value) {
  if (runs.empty() || runs.back().address + runs.back().bytes.size() != address)
    runs.push_back({address, {}});
  runs.back().bytes.push_back(value);
}

}  // namespace

// One bit for each byte of the line with the mark.
std::uint64_t MemoryView::marked_bytes(const Page& page, unsigned line, Mark mark) {
  std::uint64_t bytes = 0;
  for (unsigned word = 0; word < kLineSize / 8; ++word) {
    std::uint64_t marks;
    std::memcpy(&marks, page.marks.data() + line + 8 * word, 8);
    const std::uint64_t lowest = marks >> std::countr_zero(static_cast<unsigned>(mark)) & kEachByte;
    // The multiplication collects bit 0 of each byte in the top byte. No two of its partial products overlap.
    bytes |= (lowest * 0x0102'0408'1020'4080) >> 56 << 8 * word;
  }
  return bytes;
}

template <class Visit>
void MemoryView::for_each_marked(const Page& page, Mark mark, Visit visit) {
  for_each_line(page.marked, [&](unsigned line) {
    unsigned at = 0;
    for (std::uint64_t bytes = marked_bytes(page, line, mark); bytes != 0;) {
      const auto gap = static_cast<unsigned>(std::countr_zero(bytes));
      const auto count = static_cast<unsigned>(std::countr_one(bytes >> gap));
      at += gap;
      visit(line + at, line + at + count);
      at += count;
      bytes = at == kLineSize ? 0 : bytes >> gap >> (count - 1) >> 1;
    }
  });
}

std::vector<ByteRun> MemoryView::collect(Mark mark, Value value) const {
  std::vector<ByteRun> runs;
  runs.reserve(kUsualRuns);
  for (const Page* page : sorted_pages()) {
    if (page->tracked != tracking_) continue;
    // A page without a store since the anchor still has the anchor's values.
    const bool then = value == Value::kAnchor && page->anchored == anchor_;
    const auto& bytes = then ? page->anchor : page->data;
    for_each_marked(*page, mark, [&](unsigned begin, unsigned end) {
      const std::uint64_t address = page->number * kPageSize + begin;
      const bool goes_on = begin % kLineSize == 0 && !runs.empty() && runs.back().address + runs.back().bytes.size() == address;
      if (!goes_on) runs.push_back({address, {}});
      runs.back().bytes.append(bytes.data() + begin, end - begin);
    });
  }
  return runs;
}

std::vector<MemoryRange> MemoryView::changed() const {
  std::vector<MemoryRange> ranges;
  for (const ByteRun& run : collect(kChanged, Value::kNow)) ranges.push_back({run.address, run.bytes.size()});
  return ranges;
}

std::vector<MemoryRange> MemoryView::merged(std::vector<MemoryRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const MemoryRange& a, const MemoryRange& b) { return a.address < b.address; });
  std::size_t n = 0;
  for (const MemoryRange& range : ranges) {
    const bool goes_on = n != 0 && ranges[n - 1].address + ranges[n - 1].length >= range.address;
    if (!goes_on) ranges[n++] = range;
    MemoryRange& last = ranges[n - 1];
    last.length = std::max(last.length, range.address + range.length - last.address);
  }
  ranges.resize(n);
  return ranges;
}

std::vector<MemoryRange> MemoryView::take_recent_reads() { return merged(std::exchange(recent_reads_, {})); }

std::vector<ByteRun> MemoryView::take_recent_writes() {
  std::vector<ByteRun> runs;
  for (const MemoryRange& range : merged(std::exchange(recent_writes_, {})))
    runs.push_back({range.address, ByteRun::Bytes(range.length, 0)});
  const std::vector<std::uint8_t> now = values(runs);
  auto from = now.begin();
  for (ByteRun& run : runs) {
    std::copy_n(from, run.bytes.size(), run.bytes.begin());
    from += static_cast<std::ptrdiff_t>(run.bytes.size());
  }
  return runs;
}

bool MemoryView::reads_unchanged() const {
  for (const Page* page : anchored_) {
    if (page->tracked != tracking_) continue;
    if (same_lines(page->present, page->data, page->anchor)) continue;
    bool same = true;
    for_each_marked(*page, kReadFirst, [&](unsigned begin, unsigned end) {
      same = same && std::memcmp(page->data.data() + begin, page->anchor.data() + begin, end - begin) == 0;
    });
    if (!same) return false;
  }
  return true;
}

std::vector<ByteRun> MemoryView::changes() const {
  std::vector<ByteRun> runs;
  for (const Page* page : sorted_pages()) {
    if (!page->written) continue;
    for_each_line(page->present, [&](unsigned line) {
      for (unsigned offset = line; offset < line + kLineSize; ++offset) {
        if (page->data[offset] != page->original[offset])
          append(runs, page->number * kPageSize + offset, page->data[offset]);
      }
    });
  }
  return runs;
}

std::vector<std::uint8_t> MemoryView::values(const std::vector<ByteRun>& runs) {
  std::vector<std::uint8_t> result;
  // The bytes were accessed by this analysis before.
  for (const ByteRun& run : runs) {
    for (std::size_t i = 0; i < run.bytes.size(); ++i) {
      const std::uint64_t address = run.address + i;
      const Page* const from = page(address / kPageSize, address % kPageSize, 1);
      CHECK(from != nullptr);  // a run names bytes that this analysis has touched
      result.push_back(from->data[address % kPageSize]);
    }
  }
  return result;
}

}  // namespace verbatim::spin
