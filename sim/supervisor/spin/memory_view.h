// The analysed program's memory as the interpreter sees it: cache lines copied once per analysis, with stores
// going to the copy. Also the bookkeeping of proofs: whether memory equals that at the anchor, which bytes
// the cycle reads before it writes them, and which bytes it writes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/supervisor/spin/code_memory.h"
#include "sim/supervisor/spin/instruction.h"

namespace verbatim::spin {

// Consecutive bytes and their values. A loop reads some tens of runs, most of at most a word; the string type
// stores these without an allocation.
struct ByteRun {
  using Bytes = std::basic_string<std::uint8_t>;

  std::uint64_t address = 0;
  Bytes bytes;

  friend bool operator==(const ByteRun&, const ByteRun&) = default;
};

class MemoryView {
 public:
  static constexpr unsigned kPageSize = 4096;
  static constexpr unsigned kLineSize = 64;  // bytes of one read; a page has 64 lines

  // At most `page_limit` pages of data may be accessed.
  void begin(CodeMemory& memory, unsigned page_limit);
  // Releases the copies, because thousands of programs are analysed in turn.
  void end();
  // Restores memory as at begin(). The copies are kept.
  void rewind();

  // `n` is 1, 2, 4 or 8. False: see fault().
  bool load(std::uint64_t address, unsigned n, std::uint64_t& value) {
    if (Page* const at = quick_page(address); at != nullptr) [[likely]] {
      std::memcpy(&value, at->data.data() + address % kPageSize, 8);
      value &= ~0ull >> (64 - 8 * n);
      return true;
    }
    std::uint8_t bytes[8] = {};
    if (!load_bytes(address, n, bytes)) return false;
    std::memcpy(&value, bytes, 8);
    return true;
  }
  bool store(std::uint64_t address, unsigned n, std::uint64_t value) {
    if (Page* const at = quick_page(address); at != nullptr && at->anchored == anchor_) [[likely]] {
      // Always a store of eight bytes: a later load of another width would stall on store forwarding.
      std::uint64_t word;
      std::memcpy(&word, at->data.data() + address % kPageSize, 8);
      const std::uint64_t mask = ~0ull >> (64 - 8 * n);
      word = (word & ~mask) | (value & mask);
      std::memcpy(at->data.data() + address % kPageSize, &word, 8);
      return true;
    }
    std::uint8_t bytes[8];
    std::memcpy(bytes, &value, 8);
    return store_bytes(address, n, bytes);
  }
  // `n` is at most 32.
  bool load_bytes(std::uint64_t address, unsigned n, std::uint8_t* to);
  bool store_bytes(std::uint64_t address, unsigned n, const std::uint8_t* from);
  Reason fault() const { return fault_; }

  // Marks the page as executed code. False: this analysis has written to it.
  bool mark_executed(std::uint64_t address);
  // Reads from the program's memory, without the stores of the analysis. False: not readable.
  bool read_code(std::uint64_t address, std::uint8_t* to, unsigned n) { return memory_->read(address, to, n); }
  bool is_fixed_code(std::uint64_t page) { return memory_->is_fixed_code(page); }
  bool changes_unnoticed(std::uint64_t page) { return memory_->changes_unnoticed(page); }

  // same_as_anchor() compares all memory with its state at set_anchor().
  void set_anchor();
  bool same_as_anchor() const;

  // Begins to record reads and writes.
  void begin_tracking();
  // Bytes read before they were written, with their values at begin_tracking(); sorted and merged.
  std::vector<ByteRun> reads() const { return collect(kReadFirst, Value::kAnchor); }
  // Bytes written since begin_tracking(), with their current values.
  std::vector<ByteRun> writes() const { return collect(kWritten, Value::kNow); }
  // Bytes that a store has changed since begin_tracking(), even if they have their former values again; sorted and merged.
  std::vector<MemoryRange> changed() const;
  // Begins to record accesses for the next two functions, until begin_tracking().
  void note_recent() {
    recent_writes_.clear();
    recent_reads_.clear();
    notes_recent_ = true;
  }
  // Bytes written since the last call, with their current values; sorted and merged.
  std::vector<ByteRun> take_recent_writes();
  // Bytes read since the last call; sorted and merged.
  std::vector<MemoryRange> take_recent_reads();
  // Until the next call: reads are those of a comparison whose operand has no other use.
  void set_comparing(bool is_comparing) { read_marks_ = is_comparing ? kReadFirst : kReadFirst | kReadOtherwise; }
  // True if comparisons have read all of the bytes, and nothing else has read or written one since begin_tracking().
  bool is_only_compared(const MemoryRange& range);
  // True if every byte of reads() has its value at begin_tracking().
  bool reads_unchanged() const;
  // All bytes that differ from the program's memory.
  std::vector<ByteRun> changes() const;
  // Current values of the bytes in `runs`, one after the other.
  std::vector<std::uint8_t> values(const std::vector<ByteRun>& runs);

  // True if a call may have overwritten some of the bytes since they were last written.
  bool is_stale(std::uint64_t address, unsigned n);

  // A call has returned with this `stack_pointer` after the return. Up to `reach` bytes below it may have
  // been overwritten and are unreadable until they are written again. Requires tracking.
  void leave_stale(std::uint64_t stack_pointer, std::uint64_t reach);

  // Sorts the ranges and merges those that overlap or are adjacent.
  static std::vector<MemoryRange> merged(std::vector<MemoryRange> ranges);

 private:
  // kFresh: written since leave_stale(). kReadOtherwise: kReadFirst, and not only by comparisons. kChanged: a store gave
  // it another value.
  enum Mark : std::uint8_t { kReadFirst = 1, kWritten = 2, kFresh = 4, kReadOtherwise = 8, kChanged = 16 };
  static constexpr std::uint64_t kEachByte = 0x0101'0101'0101'0101;
  static constexpr std::size_t kUsualRuns = 32;  // most loops have fewer
  enum class Value { kAnchor, kNow };
  struct Page;
  using Bytes = std::array<std::uint8_t, kPageSize>;
  struct Page {
    std::uint64_t number = 0;
    std::uint64_t anchored = 0;  // equal to anchor_: `anchor` is the page at the anchor
    std::uint64_t tracked = 0;   // equal to tracking_: `marks` are valid
    // One bit for each line: lines read from the program, and lines with valid marks. The others are
    // uninitialised.
    std::uint64_t present = 0, marked = 0;
    bool written = false;        // `original` is the page in the program
    Bytes data;
    Bytes anchor;
    Bytes original;
    Bytes marks;
  };

  // Bits of the lines that contain the bytes, which must lie in one page; `n` is at least 1.
  static std::uint64_t lines_of(unsigned offset, unsigned n) {
    const unsigned first = offset / kLineSize, last = (offset + n - 1) / kLineSize;
    return ~0ull >> (63 - (last - first)) << first;
  }
  // The page of `address` if an access of up to 8 bytes needs no bookkeeping; otherwise nullptr.
  Page* quick_page(std::uint64_t address) const {
    Page* const recent = recent_[address / kPageSize % recent_.size()];
    const unsigned offset = address % kPageSize;
    if (recent == nullptr || recent->number != address / kPageSize || offset > kPageSize - 8 || is_tracking_) return nullptr;
    const std::uint64_t wanted = lines_of(offset, 8);
    return (recent->present & wanted) == wanted ? recent : nullptr;
  }
  // The page, with these bytes read. nullptr: see fault().
  Page* page(std::uint64_t number, unsigned offset, unsigned n) {
    Page* const recent = recent_[number % recent_.size()];
    Page* const found = recent != nullptr && recent->number == number ? recent : find_page(number);
    if (found == nullptr) return nullptr;
    const std::uint64_t missing = lines_of(offset, n) & ~found->present;
    return missing == 0 || read_lines(*found, missing) ? found : nullptr;
  }
  static std::vector<std::unique_ptr<Page>>& spare_pages();
  Page* find_page(std::uint64_t number);
  bool read_lines(Page& page, std::uint64_t lines);
  // Calls visit(begin, end) for each run of consecutive bytes of the page with `mark`.
  static std::uint64_t marked_bytes(const Page& page, unsigned line, Mark mark);
  template <class Visit>
  static void for_each_marked(const Page& page, Mark mark, Visit visit);
  // Before the first store to a page since the anchor: saves its contents. False: the page is executed code.
  bool prepare_write(Page& page);
  bool note_read(Page& page, unsigned offset, unsigned n);
  // Called before the bytes `from` are stored.
  void note_write(Page& page, unsigned offset, unsigned n, const std::uint8_t* from);
  // Calls visit(offset) for each line.
  template <class Visit>
  static void for_each_line(std::uint64_t lines, Visit visit);
  static void copy_lines(std::uint64_t lines, const Bytes& from, Bytes& to);
  static bool same_lines(std::uint64_t lines, const Bytes& a, const Bytes& b);
  // Clears the marks of lines that have none yet. Called before marks are set.
  void extend_marks(Page& page, unsigned offset, unsigned n);
  std::vector<Page*> sorted_pages() const;
  std::vector<ByteRun> collect(Mark mark, Value value) const;

  CodeMemory* memory_ = nullptr;
  unsigned page_limit_ = 0;
  Reason fault_ = Reason::kNone;
  std::array<Page*, 64> recent_{};
  std::unordered_map<std::uint64_t, Page*> index_;  // looked up, never walked
  std::vector<std::unique_ptr<Page>> pages_;        // the first used_ are in use
  std::size_t used_ = 0;
  std::vector<std::uint64_t> executed_;  // page numbers
  static constexpr std::size_t kMostSpare = 32;
  std::uint64_t anchor_ = 0;
  std::uint64_t tracking_ = 0;
  bool is_tracking_ = false;
  std::uint8_t read_marks_ = kReadFirst | kReadOtherwise;  // of the next reads
  std::uint64_t stale_from_ = 0, stale_to_ = 0;
  std::vector<Page*> anchored_;  // pages written since the anchor
  std::vector<MemoryRange> recent_writes_, recent_reads_;
  bool notes_recent_ = false;
};

}  // namespace verbatim::spin
