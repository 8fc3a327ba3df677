// A simulated program's address space: what DMA does to memory, and system calls.
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

  // The thread whose address space it is; a process's first may end before the others.
  pid_t reached_through() const { return bytes_.reached_through(); }
  void reach_through(pid_t tid) { bytes_.reach_through(tid); }
  // As where process_vm_readv and process_vm_writev are refused.
  void do_without_calls() { bytes_.do_without_calls(); }

  bool read(host::ProgramAddress from, std::span<std::byte> to) override;
  // Pages are written whatever their protection, as pinned ones are by an adapter.
  bool write(host::ProgramAddress to, std::span<const std::byte> from) override;
  // As write(), of memory that is there: before anybody looks there, or a program of the host runs.
  void write_later(host::ProgramAddress to, std::span<const std::byte> from);
  // Writes those runs that are not there already.
  void write_changed(std::span<const spin::ByteRun> runs);
  bool write_code(host::ProgramAddress to, std::span<const std::byte> from) override;
  bool gather(host::ProgramAddress from, std::span<std::byte> to, std::uint64_t follow) override;
  void place(host::ProgramAddress to, std::span<const std::byte> from, host::PlacementFault fault) override;
  // As write() without a word to anybody.
  bool write_bytes(host::ProgramAddress to, std::span<const std::byte> from);
  // As a system call does: false when a byte may not be written.
  bool put(host::ProgramAddress to, std::span<const std::byte> from);
  bool is_mapped(host::ProgramAddress start, std::uint64_t length, bool writable) override;
  // As ForeignMemory's.
  std::optional<ForeignMapping> mapping_at(host::ProgramAddress address) { return bytes_.mapping_at(address); }

  // Whether a byte lies in the region that the process shares with the simulator, which changes without a write of this class.
  static bool is_in_region(host::ProgramAddress start, std::uint64_t length);
  // Whether the pages are mapped and nobody else's: no file, no memory that other processes may share.
  bool is_private(host::ProgramAddress start, std::uint64_t length) const;
  // Which of the runs other processes may write to: those that are not private, nor in the region.
  std::vector<std::size_t> shared_among(std::span<const spin::ByteRun> runs) const;

  // Copies the ranges one after the other, in as few system calls as the kernel allows; false when a byte is unmapped. For one
  // who looks at the same places again and again.
  bool read_ranges(std::span<const spin::MemoryRange> ranges, std::uint8_t* to);
  // The same without a word to the access listener: what lies there, which may be behind what should.
  bool copy_ranges(std::span<const spin::MemoryRange> ranges, std::uint8_t* to) const;
  // From now on memory is read by way of these. `epoch` is another one whenever a program of the host has run or memory of one
  // was written, which may be shared; the latter is counted here. Without them everything is read anew.
  void use(PageCache& cache, ReadAhead& read_ahead, WriteBehind& write_behind, std::uint64_t& epoch) {
    cache_ = &cache;
    read_ahead_ = &read_ahead;
    write_behind_ = &write_behind;
    epoch_ = &epoch;
  }
  std::uint64_t epoch() const { return *epoch_; }
  const std::uint64_t* host() const { return epoch_; }
  // What threads have done of what adapters do, whose time is that of `engine`.
  void use(const Engine& engine) { engine_ = &engine; }
  TouchesAhead& touches() { return touches_; }
  // What read_ranges() has read since a program of the host ran or memory was written, or else before that.
  std::vector<protocol::PageLines> looked_at() const {
    return cache_ != nullptr ? cache_->looked_at(*this) : std::vector<protocol::PageLines>();
  }
  // Lines as they are now, one after the other at `lines`, which need not be read.
  void keep(std::span<const protocol::PageLines> pages, const std::uint8_t* lines) {
    if (cache_ != nullptr) cache_->keep(*this, pages, lines);
  }
  // Copies from the beginning as much as is mapped; how many bytes.
  std::size_t read_present(host::ProgramAddress from, std::span<std::byte> to) const;
  // What has been written, or only some of it where not all is mapped.
  struct Written {
    host::ProgramAddress address = 0;
    std::span<const std::byte> bytes;
    bool is_complete = true;
  };
  // Called after every write.
  void set_write_listener(std::function<void(const Written&)> listener) { write_listener_ = std::move(listener); }

  // Called before every read and write.
  void set_access_listener(std::function<void()> listener) { access_listener_ = std::move(listener); }

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
  // A string of at most `limit` bytes before its terminating zero; nullopt when unmapped or longer.
  std::optional<std::string> load_string(host::ProgramAddress from, std::size_t limit);

 private:
  friend class PageCache;
  bool read(host::ProgramAddress from, std::span<std::byte> to, std::uint64_t follow);
  void write_behind(host::ProgramAddress to, std::span<const std::byte> from, host::PlacementFault fault);
  bool copy_uncached(std::span<const spin::MemoryRange> ranges, std::uint8_t* to) const;
  void begin_epoch();
  // What was placed is there.
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
  mutable std::vector<protocol::PageLines> looked_at_;  // by read_ranges(), until the cache forgot it
  std::function<void(const Written&)> write_listener_;
  std::function<void()> access_listener_;
};

// What lies where `runs` are, read in as few system calls as the kernel allows, and not told to the access listener.
class PresentBytes {
 public:
  PresentBytes(const ProcessMemory& memory, std::span<const spin::ByteRun> runs);

  // In place of the n-th run; empty when it is not mapped in whole.
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
