// The analysed program's memory as the interpreter sees it: lines copied once per analysis, stores into the
// copy. Also the bookkeeping of proofs: is memory as it was at the anchor, which bytes does the cycle depend
// on (it reads them before it writes them), which does it write.
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

// Consecutive bytes and their values. A loop reads some tens of them, few of more than a word: a string keeps these in itself.
struct ByteRun {
  using Bytes = std::basic_string<std::uint8_t>;

  std::uint64_t address = 0;
  Bytes bytes;

  friend bool operator==(const ByteRun&, const ByteRun&) = default;
};

class MemoryView {
 public:
  static constexpr unsigned kPageSize = 4096;
  static constexpr unsigned kLineSize = 64;  // what is read of it at once, a 64th

  // At most `page_limit` pages of data will be looked at.
  void begin(CodeMemory& memory, unsigned page_limit);
  // Gives back the room of what has been read: thousands of programs are analysed in turn.
  void end();
  // Memory is again as it was at begin(); what has been read of it is kept.
  void rewind();

  // `n` is 1, 2, 4 or 8. False: fault() tells why.
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
      // Always eight bytes: loads of another width than the last store's would wait for it.
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

  // The page of code that is executed; false when it is also written by this analysis.
  bool mark_executed(std::uint64_t address);
  // Bytes as they are in the program; false: they cannot be read.
  bool read_code(std::uint64_t address, std::uint8_t* to, unsigned n) { return memory_->read(address, to, n); }
  bool is_fixed_code(std::uint64_t page) { return memory_->is_fixed_code(page); }

  // From here on same_as_anchor() says whether all memory has the value it has now.
  void set_anchor();
  bool same_as_anchor() const;

  // From here on reads and writes are noted.
  void begin_tracking();
  // Bytes read since then before they were written, with the values they had; sorted and merged.
  std::vector<ByteRun> reads() const { return collect(kReadFirst, Value::kAnchor); }
  // Bytes written since then, with the values they have now.
  std::vector<ByteRun> writes() const { return collect(kWritten, Value::kNow); }
  // From here on, until begin_tracking(), what the next two tell of is noted.
  void note_recent() {
    recent_writes_.clear();
    recent_reads_.clear();
    notes_recent_ = true;
  }
  // Bytes written since this was asked, with the values they have now; sorted and merged.
  std::vector<ByteRun> take_recent_writes();
  // Likewise where was read since this was asked.
  std::vector<MemoryRange> take_recent_reads();
  // Whether every byte of reads() has its value of begin_tracking() now.
  bool reads_unchanged() const;
  // All bytes whose value now differs from the program's memory.
  std::vector<ByteRun> changes() const;
  // The values now of the bytes that `runs` names, one after the other.
  std::vector<std::uint8_t> values(const std::vector<ByteRun>& runs);

  // Stores from here on can be taken back, which leaves memory as it is now; that something was read stays noted. Such ways nest.
  // Needs tracking. The result is what take_back() and end_way() want.
  std::size_t begin_way() {
    ++ways_;
    return undo_.size();
  }
  // Where this way has stored so far, each store for itself and the parts that lie in different pages as well.
  std::vector<MemoryRange> stores_since(std::size_t begin) const;
  void take_back(std::size_t begin);
  // The stores of the way stay.
  void end_way() {
    if (--ways_ == 0) undo_.clear();
  }
  // Whether all bytes there were written since begin_tracking(), and no call may have overwritten them since.
  bool is_written(const MemoryRange& range);

  // Whether a call may have overwritten some of the bytes there since they were last written.
  bool is_stale(std::uint64_t address, unsigned n);

  // A call has returned to `stack_pointer`: what lies up to `reach` bytes below may have been overwritten and
  // is not readable until it is written again. Needs tracking.
  void leave_stale(std::uint64_t stack_pointer, std::uint64_t reach);

 private:
  enum Mark : std::uint8_t { kReadFirst = 1, kWritten = 2, kFresh = 4 };  // kFresh: written since leave_stale
  static constexpr std::uint64_t kEachByte = 0x0101'0101'0101'0101;
  static constexpr std::size_t kUsualRuns = 32;  // a loop touches fewer, mostly
  enum class Value { kAnchor, kNow };
  struct Page;
  static constexpr unsigned kMostStored = 32;  // bytes
  // What a store has overwritten, and how that was marked.
  struct Undo {
    Page* page = nullptr;
    unsigned offset = 0, n = 0;
    std::array<std::uint8_t, kMostStored> bytes{}, marks{};
  };
  using Bytes = std::array<std::uint8_t, kPageSize>;
  struct Page {
    std::uint64_t number = 0;
    std::uint64_t anchored = 0;  // equal to anchor_: `anchor` holds the page as it was at the anchor
    std::uint64_t tracked = 0;   // equal to tracking_: `marks` are of this tracking
    // Lines, one bit each: that have been read, and in which bytes carry marks. Nothing in the others is to be looked at.
    std::uint64_t present = 0, marked = 0;
    bool written = false;        // `original` holds the page as it is in the program
    Bytes data;
    Bytes anchor;
    Bytes original;
    Bytes marks;
  };

  // `n` is at least 1, and the bytes lie in one page.
  static std::uint64_t lines_of(unsigned offset, unsigned n) {
    const unsigned first = offset / kLineSize, last = (offset + n - 1) / kLineSize;
    return ~0ull >> (63 - (last - first)) << first;
  }
  // The page of `address` when nothing but a copy of up to 8 bytes is to be done; nullptr: take the long way.
  Page* quick_page(std::uint64_t address) const {
    Page* const recent = recent_[address / kPageSize % recent_.size()];
    const unsigned offset = address % kPageSize;
    if (recent == nullptr || recent->number != address / kPageSize || offset > kPageSize - 8 || is_tracking_) return nullptr;
    const std::uint64_t wanted = lines_of(offset, 8);
    return (recent->present & wanted) == wanted ? recent : nullptr;
  }
  // The page, with those bytes; nullptr: fault() tells why.
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
  static std::vector<MemoryRange> merged(std::vector<MemoryRange> ranges);
  // Calls visit(offset, end) for all consecutive bytes of the page that carry `mark`.
  static std::uint64_t marked_bytes(const Page& page, unsigned line, Mark mark);
  template <class Visit>
  static void for_each_marked(const Page& page, Mark mark, Visit visit);
  bool prepare_write(Page& page);
  bool note_read(Page& page, unsigned offset, unsigned n);
  void note_write(Page& page, unsigned offset, unsigned n);
  void note_undo(Page& page, unsigned offset, unsigned n);
  // Calls visit(offset) for all lines.
  template <class Visit>
  static void for_each_line(std::uint64_t lines, Visit visit);
  static void copy_lines(std::uint64_t lines, const Bytes& from, Bytes& to);
  static bool same_lines(std::uint64_t lines, const Bytes& a, const Bytes& b);
  // Before bytes get their marks.
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
  std::uint64_t stale_from_ = 0, stale_to_ = 0;
  std::vector<Page*> anchored_;  // pages written since the anchor
  std::vector<MemoryRange> recent_writes_, recent_reads_;
  bool notes_recent_ = false;
  std::vector<Undo> undo_;
  unsigned ways_ = 0;  // that have begun and not ended
};

}  // namespace verbatim::spin
