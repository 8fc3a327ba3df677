// Memory of another process. Accessed by process_vm_readv and process_vm_writev; where a container refuses
// these, through /proc/PID/mem. /proc/PID/mem ignores page protection: the rights of the mappings are checked
// first, and both methods access the same bytes and fail at the same byte. std::system_error: the machine cannot
// open a file of /proc/PID, such as for lack of descriptors.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sim/host/program_memory.h"
#include "sim/supervisor/spin/code_memory.h"

namespace verbatim::supervisor {

// One mapping of a process: [begin, end).
struct ForeignMapping {
  host::ProgramAddress begin = 0, end = 0;
  unsigned rights = 0;     // ForeignMemory::Right, combined
  bool is_shared = false;  // MAP_SHARED
  std::uint64_t device = 0, inode = 0, offset = 0;  // of the file mapped at `begin`; inode 0: none
};

class ForeignMemory {
 public:
  enum Right : unsigned { kRead = 1, kWrite = 2 };  // PROCMAP_QUERY_VMA_READABLE, _WRITABLE

  explicit ForeignMemory(pid_t pid);

  // Thread id through which the address space is accessed.
  pid_t reached_through() const { return pid_; }
  void reach_through(pid_t tid) { pid_ = tid; }
  // Simulates a machine that refuses the two calls.
  void do_without_calls() { has_calls_ = false; }
  // Simulates a kernel before 6.11, without PROCMAP_QUERY.
  void do_without_queries() { has_queries_ = false; }

  // Copies the ranges, concatenated, up to the first byte that may not be read. Returns the number of bytes.
  std::size_t read(std::span<const spin::MemoryRange> from, std::byte* to);
  // Writes up to the first byte that may not be written. Returns the number of bytes.
  std::size_t write(host::ProgramAddress to, std::span<const std::byte> from);
  // As above for several places, one after the other; `from` has their bytes, concatenated.
  std::size_t write(std::span<const spin::MemoryRange> to, std::span<const std::byte> from);
  // Writes regardless of page protection, up to the first byte that cannot be written. Returns
  // the number of bytes.
  std::size_t write_anyway(host::ProgramAddress to, std::span<const std::byte> from);
  // Number of bytes from `from`, at most `most`, in mappings with these rights.
  std::uint64_t permitted(host::ProgramAddress from, std::uint64_t most, unsigned rights);
  // Mapping that contains `address`; nullopt: none.
  std::optional<ForeignMapping> mapping_at(host::ProgramAddress address);
  // Name of that mapping as in /proc/PID/maps: path of a file, "[stack]" and the like. "": no mapping, or no name.
  std::string name_at(host::ProgramAddress address);
  // Number of pages from page number `first` (address / 4096) on, at most `count`, that are present, anonymous and not
  // shared.
  std::uint64_t private_pages(std::uint64_t first, std::uint64_t count);

 private:
  // A file of /proc/PID, opened on first use. It refers to the program that was executed at that time.
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
  // Fills in the mapping that contains query.address. False: there is none, or the kernel lacks PROCMAP_QUERY
  // (has_queries_).
  bool ask(MapsQuery& query);
  // `name`: receives the mapping's name, unless nullptr.
  std::optional<ForeignMapping> mapping_by_text(host::ProgramAddress address, std::string* name) const;
  std::size_t read_by_file(std::span<const spin::MemoryRange> from, std::byte* to);
  // pread or pwrite on that file of /proc/PID.
  template <class Transfer>
  std::size_t by_file(ProcessFile& file, Transfer transfer);
  // Bytes that `call`, process_vm_readv or process_vm_writev, has moved between `places` and `local`. `places` keeps
  // those that are left if the machine refuses the call.
  template <class Call>
  std::size_t by_call(Call call, std::span<const spin::MemoryRange>& places, std::byte* local);
  // Return value of one of the two calls; 0 if the memory or the process is gone, -1 if the machine refuses the call.
  std::int64_t judged(std::int64_t answer);

  pid_t pid_;
  ProcessFile memory_, maps_, page_map_;
  bool has_calls_ = true, has_queries_ = true;
};

}  // namespace verbatim::supervisor
