// Address space of a simulated program, for DMA and for system calls. The order of caches and queues is
// in MEMORY_ACCESS.md.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/engine.h"
#include "sim/host/program_memory.h"
#include "sim/supervisor/machine/foreign_memory.h"
#include "sim/supervisor/machine/page_cache.h"
#include "sim/supervisor/machine/read_ahead.h"
#include "sim/supervisor/machine/touches_ahead.h"
#include "sim/supervisor/machine/write_behind.h"
#include "sim/supervisor/spin/code_memory.h"
#include "sim/supervisor/spin/memory_view.h"

namespace verbatim::supervisor {

class ProcessMemory final : public host::ProgramMemory {
 public:
  explicit ProcessMemory(pid_t pid) : bytes_(pid) {}
  ~ProcessMemory() override;

  // Id of the native thread through which the address space is accessed: a process's first thread may end
  // before the others.
  pid_t reached_through() const { return bytes_.reached_through(); }
  void reach_through(pid_t tid) { bytes_.reach_through(tid); }
  // Simulates a machine that refuses process_vm_readv and process_vm_writev.
  void do_without_calls() { bytes_.do_without_calls(); }

  bool read(host::ProgramAddress from, std::span<std::byte> to) override;
  // Writes regardless of page protection, as an adapter writes to pinned pages.
  bool write(host::ProgramAddress to, std::span<const std::byte> from) override;
  // As write(), for mapped memory; may delay the write until the memory is read or a program of the host
  // runs.
  void write_later(host::ProgramAddress to, std::span<const std::byte> from);
  // Writes only runs that differ from memory.
  void write_changed(std::span<const spin::ByteRun> runs);
  bool write_code(host::ProgramAddress to, std::span<const std::byte> from) override;
  bool gather(host::ProgramAddress from, std::span<std::byte> to, std::uint64_t follow) override;
  void place(host::ProgramAddress to, std::span<const std::byte> from, host::PlacementFault fault) override;
  // As write(), without notifying listeners.
  bool write_bytes(host::ProgramAddress to, std::span<const std::byte> from);
  // As above at several places, whose bytes are concatenated in `from`, in one system call. False: not all are written.
  bool write_bytes(std::span<const spin::MemoryRange> to, std::span<const std::byte> from) {
    return bytes_.write(to, from) == from.size();
  }
  // As a system call writes: false if a byte may not be written.
  bool put(host::ProgramAddress to, std::span<const std::byte> from);
  bool is_mapped(host::ProgramAddress start, std::uint64_t length, bool writable) override;
  // As in ForeignMemory.
  std::optional<ForeignMapping> mapping_at(host::ProgramAddress address) { return bytes_.mapping_at(address); }
  std::string name_at(host::ProgramAddress address) { return bytes_.name_at(address); }

  // Whether a byte is in the region shared with the simulator, which changes without a write by this class.
  static bool is_in_region(host::ProgramAddress start, std::uint64_t length);
  // Whether the pages are present, anonymous and not shared with other processes.
  bool is_private(host::ProgramAddress start, std::uint64_t length) const;
  // Number of pages from `page` on, at most `most`, that are so apart from delayed writes.
  std::uint64_t private_pages(std::uint64_t page, std::uint64_t most) const { return bytes_.private_pages(page, most); }
  // Indices of runs that other processes may write to: not private and not in the region.
  std::vector<std::size_t> shared_among(std::span<const spin::ByteRun> runs) const;

  // Copies the ranges, concatenated, in as few system calls as possible; false if a byte is unmapped. For
  // users that read the same places repeatedly.
  bool read_ranges(std::span<const spin::MemoryRange> ranges, std::uint8_t* to);
  // As read_ranges, without calling the access listener: memory as it is, possibly without the turns that
  // parked threads have skipped.
  // `again`: the same places will be read after the program has run.
  bool copy_ranges(std::span<const spin::MemoryRange> ranges, std::uint8_t* to, bool again = false) const;
  // Installs caches and queues. `epoch` is the host's: it changes whenever a program of the host has run or
  // memory of one was written, which may be shared. This class increments it for writes. Without them every
  // access goes to the kernel.
  void use(PageCache& cache, ReadAhead& read_ahead, WriteBehind& write_behind, std::uint64_t& epoch) {
    cache_ = &cache;
    read_ahead_ = &read_ahead;
    write_behind_ = &write_behind;
    epoch_ = &epoch;
  }
  std::uint64_t epoch() const { return *epoch_; }
  // The epoch's address, which identifies the host.
  const std::uint64_t* epoch_of_host() const { return epoch_; }
  // Enables touches(): DMA accesses that threads ahead of the engine execute themselves.
  void use(const Engine& engine) { engine_ = &engine; }
  TouchesAhead& touches() { return touches_; }
  // Lines that read_ranges() has read in this epoch, or in the last one in which it read any.
  std::vector<protocol::PageLines> looked_at() const {
    return cache_ != nullptr ? cache_->looked_at(*this) : std::vector<protocol::PageLines>();
  }
  // Lines in their present state, concatenated at `lines`; they need not be read again.
  void keep(std::span<const protocol::PageLines> pages, const std::uint8_t* lines) {
    if (cache_ != nullptr) cache_->keep(*this, pages, lines);
  }
  // Copies bytes up to the first unmapped one. Returns their number.
  std::size_t read_present(host::ProgramAddress from, std::span<std::byte> to) const;
  // A write; bytes that are not mapped are missing if not is_complete.
  struct Written {
    host::ProgramAddress address = 0;
    std::span<const std::byte> bytes;
    bool is_complete = true;
  };
  // Called after every write.
  void set_write_listener(std::function<void(const Written&)> listener) { write_listener_ = std::move(listener); }

  // Called after write() or place() has written to a page that the process itself may not write.
  void set_regardless_listener(std::function<void()> listener) { regardless_listener_ = std::move(listener); }
  // Called before every read and write with the places that are accessed.
  using AccessListener = std::function<void(std::span<const spin::MemoryRange>)>;
  void set_access_listener(AccessListener listener) { access_listener_ = std::move(listener); }

  template <class T>
  std::optional<T> load(host::ProgramAddress from) {
    T value;
    if (!read(from, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
    return value;
  }
  template <class T>
  bool store(host::ProgramAddress to, const T& value) {
    return put(to, std::as_bytes(std::span(&value, 1)));
  }
  // String of at most `limit` bytes before its terminating zero; nullopt: unmapped or longer.
  std::optional<std::string> load_string(host::ProgramAddress from, std::size_t limit);

 private:
  friend class PageCache;
  bool read(host::ProgramAddress from, std::span<std::byte> to, std::uint64_t follow);
  void write_behind(host::ProgramAddress to, std::span<const std::byte> from, host::PlacementFault fault);
  bool copy_uncached(std::span<const spin::MemoryRange> ranges, std::uint8_t* to) const;
  void begin_epoch();
  void announce(host::ProgramAddress address, std::size_t length) {
    const spin::MemoryRange range{address, length};
    if (access_listener_) access_listener_({&range, 1});
  }
  // Flushes delayed writes to this host.
  void settle() const {
    if (write_behind_ != nullptr && write_behind_->keeps_any()) [[unlikely]] write_behind_->flush(epoch_);
  }

  mutable ForeignMemory bytes_;
  PageCache* cache_ = nullptr;
  ReadAhead* read_ahead_ = nullptr;
  WriteBehind* write_behind_ = nullptr;
  std::uint64_t* epoch_ = nullptr;
  const Engine* engine_ = nullptr;
  TouchesAhead touches_;
  // Lines read by read_ranges() in an earlier epoch; PageCache writes it.
  mutable std::vector<protocol::PageLines> looked_at_;
  std::function<void(const Written&)> write_listener_;
  AccessListener access_listener_;
  std::function<void()> regardless_listener_;
};

// Present bytes at the places of `runs`, read in as few system calls as possible, without calling
// the access listener.
class PresentBytes {
 public:
  // `again` as in ProcessMemory::copy_ranges().
  PresentBytes(const ProcessMemory& memory, std::span<const spin::ByteRun> runs, bool again = false);

  // Bytes of the n-th run; empty if it is not completely mapped.
  std::span<const std::uint8_t> of(std::size_t n) const {
    return is_mapped_[n] ? std::span(bytes_).subspan(begins_[n], begins_[n + 1] - begins_[n]) : std::span<const std::uint8_t>();
  }
  bool equal(std::size_t n, const spin::ByteRun& run) const { return std::ranges::equal(of(n), run.bytes); }

 private:
  std::vector<std::uint8_t> bytes_;
  std::vector<std::size_t> begins_;
  std::vector<bool> is_mapped_;
};

}  // namespace verbatim::supervisor
