// Addresses of the parts of a program before its first instruction. Linux puts the program, its loader and
// its stack at random addresses unless personality(2) forbids it, which containers refuse. This computes by
// how much each part must be moved to its fixed address.
//
// The kernel places later mappings in the highest free range below an address that cannot be set: a random
// one, or one below the stack. Therefore libraries end at kLibrariesEnd, below any address that the kernel
// draws, and all addresses from there up to the stack are taken (kTakenBegin, kTakenEnd). The highest free
// range is then always below the loader.
#pragma once

#include <elf.h>
#include <linux/prctl.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace verbatim::supervisor {

// A line of /proc/PID/maps.
struct Mapping {
  std::uint64_t begin, end, offset;
  bool writable, executable;
  std::string name;
};

// Lines of /proc/PID/maps, which is read once more if reading fails; none: it cannot be read.
std::vector<std::string> lines_of_mappings(pid_t pid);
std::vector<Mapping> mappings_of(pid_t pid);

// Addresses [begin, end) are moved by `by`, modulo 2^64.
struct Move {
  std::uint64_t begin = 0, end = 0, by = 0;

  std::uint64_t target() const { return begin + by; }
  bool has(std::uint64_t address) const { return address >= begin && address < end; }
  // Address after the move, for an address in the range or its end.
  std::uint64_t moved(std::uint64_t address) const { return address >= begin && address <= end ? address + by : address; }
};

struct Places {
  Move program, loader, stack;
  std::uint64_t program_break = 0;  // start of the heap after the move
  std::uint64_t libraries_end = 0;

  // The kernel has drawn addresses at random: its own records must be changed too.
  bool were_random = false;

  void move_records(prctl_mm_map& records) const;
};

// Kernel's records of the address layout of a process (PR_SET_MM_MAP), which determine the start of the heap
// and /proc. nullopt: not available.
std::optional<prctl_mm_map> records_of(pid_t pid);

// Addresses from the auxiliary vector (AT_PHDR, AT_BASE), and the program headers of both files.
struct LoadedImages {
  std::uint64_t program_headers_at = 0, loader_base = 0, stack_pointer = 0;
  std::span<const Elf64_Phdr> program, loader;
};

// `libraries_end`: end of the loader after the move. nullopt: the program is not loaded as
// Linux loads programs.
std::optional<Places> places_of(const std::vector<Mapping>& all, const LoadedImages& images, std::uint64_t libraries_end);

// Unmapped parts of [begin, end), lowest first. `all` is sorted.
std::vector<std::pair<std::uint64_t, std::uint64_t>> free_ranges(const std::vector<Mapping>& all, std::uint64_t begin,
                                                                 std::uint64_t end);

}  // namespace verbatim::supervisor
