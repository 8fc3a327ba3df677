// The bytes of another process. process_vm_readv and process_vm_writev reach them; where a container refuses these two,
// /proc/PID/mem does. It heeds no protection, so what the mappings permit is asked for before: both ways give the same bytes and
// fail at the same ones.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sim/host/program_memory.h"
#include "sim/supervisor/spin/code_memory.h"

namespace verbatim::supervisor {

// One mapping of a process: [begin, end).
struct ForeignMapping {
  host::ProgramAddress begin = 0, end = 0;
  bool is_shared = false;  // with whoever maps the same (MAP_SHARED)
  std::uint64_t device = 0, inode = 0, offset = 0;  // of what is mapped at `begin`; inode 0: of no file
};

class ForeignMemory {
 public:
  enum Right : unsigned { kRead = 1, kWrite = 2 };  // PROCMAP_QUERY_VMA_READABLE, _WRITABLE

  explicit ForeignMemory(pid_t pid);

  // The thread whose address space it is.
  pid_t reached_through() const { return pid_; }
  void reach_through(pid_t tid) { pid_ = tid; }
  // As where the two calls are refused.
  void do_without_calls() { has_calls_ = false; }
  // As on kernels before 6.11, which tell of mappings by text alone.
  void do_without_queries() { has_queries_ = false; }

  // Copies the ranges one after the other, up to the first byte that may not be read; how many bytes.
  std::size_t read(std::span<const spin::MemoryRange> from, std::byte* to);
  // Up to the first byte that may not be written; how many bytes.
  std::size_t write(host::ProgramAddress to, std::span<const std::byte> from);
  // Whatever the protection, up to the first byte that cannot be written; how many bytes.
  std::size_t write_anyway(host::ProgramAddress to, std::span<const std::byte> from);
  // How many bytes from there on lie in mappings with these rights, `most` at most.
  std::uint64_t permitted(host::ProgramAddress from, std::uint64_t most, unsigned rights);
  // The mapping in which `address` lies; nullopt: nothing is mapped there.
  std::optional<ForeignMapping> mapping_at(host::ProgramAddress address);
  // Whether so many pages from that number (address / 4096) on are in memory, and of no file nor shared.
  bool are_private_pages(std::uint64_t first, std::uint64_t count);

 private:
  // A file of /proc/PID, opened when it is first used. It belongs to the program that was executed then.
  class ProcessFile {
   public:
    ProcessFile(const char* name, int flags) : name_(name), flags_(flags) {}
    ~ProcessFile() { close(); }
    ProcessFile(const ProcessFile&) = delete;
    ProcessFile& operator=(const ProcessFile&) = delete;
    // -1: it cannot be opened.
    int open(pid_t pid);
    void close();

   private:
    const char* name_;
    int flags_;
    int fd_ = -1;
  };

  struct MapsQuery;
  // Fills in what is mapped at query.address with the rights of query.flags. False: nothing, or nobody answers (has_queries_).
  bool ask(MapsQuery& query);
  std::uint64_t permitted_by_query(host::ProgramAddress from, std::uint64_t most, unsigned rights);
  std::uint64_t permitted_by_text(host::ProgramAddress from, std::uint64_t most, unsigned rights) const;
  std::optional<ForeignMapping> mapping_by_text(host::ProgramAddress address) const;
  std::size_t read_by_file(std::span<const spin::MemoryRange> from, std::byte* to);
  // pread or pwrite of that file of /proc/PID.
  template <class Transfer>
  std::size_t by_file(ProcessFile& file, Transfer transfer);
  // The answer of one of the two calls; -1 where it is refused here, as it always will be.
  std::int64_t judged(std::int64_t answer);

  pid_t pid_;
  ProcessFile memory_, maps_, page_map_;
  bool has_calls_ = true, has_queries_ = true;
};

}  // namespace verbatim::supervisor
