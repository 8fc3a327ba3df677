// Where the parts of a program lie before its first instruction. Linux puts the program, its loader and its stack at random
// addresses unless it is told not to (personality), which containers refuse. Here is by how much each part is to be moved so
// that it lies where it lies in every run.
//
// Later mappings are placed by the kernel, in the highest room below an address that nobody can set: random, too, or
// below the stack. So libraries end at kLibrariesEnd, which is lower than any that the kernel draws, and all addresses from
// there up to the stack's are taken (kTakenBegin, kTakenEnd): whatever the kernel drew, the highest room lies below the loader.
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

std::vector<Mapping> mappings_of(pid_t pid);

// Addresses from `begin` to `end` are to become others: `by` is added, modulo 2^64.
struct Move {
  std::uint64_t begin = 0, end = 0, by = 0;

  std::uint64_t target() const { return begin + by; }
  bool has(std::uint64_t address) const { return address >= begin && address < end; }
  // Of addresses that belong to it, or are its end.
  std::uint64_t moved(std::uint64_t address) const { return address >= begin && address <= end ? address + by : address; }
};

struct Places {
  Move program, loader, stack;
  std::uint64_t program_break = 0;  // where the heap begins, after the move
  std::uint64_t libraries_end = 0;

  // The kernel has drawn addresses: its own records of them are to be changed as well.
  bool were_random = false;

  void move_records(prctl_mm_map& records) const;
};

// What the kernel has recorded of where the parts of a process lie (PR_SET_MM_MAP): the heap begins there, and /proc goes by it.
// nullopt: it does not tell.
std::optional<prctl_mm_map> records_of(pid_t pid);

// What the kernel has told the program of itself (AT_PHDR, AT_BASE), and the program headers of both files.
struct LoadedImages {
  std::uint64_t program_headers_at = 0, loader_base = 0, stack_pointer = 0;
  std::span<const Elf64_Phdr> program, loader;
};

// `libraries_end`: where the loader is to end.

// nullopt: the program is not as the kernel loads them.
std::optional<Places> places_of(const std::vector<Mapping>& all, const LoadedImages& images, std::uint64_t libraries_end);

// What of [begin, end) is not mapped, lowest first. `all` is in order.
std::vector<std::pair<std::uint64_t, std::uint64_t>> free_ranges(const std::vector<Mapping>& all, std::uint64_t begin,
                                                                 std::uint64_t end);

}  // namespace verbatim::supervisor
