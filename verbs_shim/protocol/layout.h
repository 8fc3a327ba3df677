// The address layout of a simulated process, and the version on which both sides must agree. The shim maps
// the process region (a memfd created by the supervisor) at a fixed address. Its images are linked at fixed
// addresses, so that their size never moves the program's mappings.
#pragma once

#include <cstdint>

namespace verbatim::protocol {

inline constexpr std::uint32_t kMagic = 0x62726556;  // "Verb"
inline constexpr std::uint32_t kVersion = 30;

// Data that every process touches is within one block of 2 MiB, which one page of page table covers: such a
// page costs a process more than ten pages of memory.
inline constexpr std::uint64_t kShimBlock = 0x2d02'0000'0000;
inline constexpr std::uint64_t kShimStackSize = 256 << 10;                // bytes per thread, see state.h
inline constexpr std::uint64_t kShimStackEnd = kShimBlock + kShimStackSize;  // the first thread's stack; the others' are below
inline constexpr std::uint64_t kRuntimeImage = kShimBlock + 0x04'0000;    // libverbatim_runtime.so
inline constexpr std::uint64_t kVerbsImage = kShimBlock + 0x0c'0000;      // libibverbs.so.1
inline constexpr std::uint64_t kMlx5Image = kShimBlock + 0x10'0000;       // libmlx5.so.1
inline constexpr std::uint64_t kPatchDataAddress = kShimBlock + 0x12'0000;  // see patches.h
inline constexpr std::uint64_t kRegionAddress = kShimBlock + 0x18'0000;
inline constexpr std::uint64_t kAccessTablesAddress = 0x2d10'0000'0000;  // see accesses.h; mapped only where
                                                                         // threads may be late before
                                                                         // accesses
inline constexpr std::uint64_t kShimHeapAddress = 0x2d20'0000'0000;  // objects whose addresses the program gets
inline constexpr std::uint64_t kShimHeapSize = 1ull << 36;           // reserved, not committed
inline constexpr std::uint64_t kSmallShimHeapSize = 1ull << 28;      // where the machine's limit does not allow the full size
// Nothing else is mapped in between; calls of the program that change mappings there are refused.
inline constexpr std::uint64_t kShimStart = 0x2d00'0000'0000, kShimEnd = 0x2e00'0000'0000;

// Addresses of a program's own memory. A position-independent program is at two thirds of the address space,
// as on Linux without randomization; the stack, at most kStackLimit, is at the end. Libraries and mappings
// without an address are below kLibrariesEnd. This limit is lower than any address at which Linux starts
// its search, with any number of random bits (vm.mmap_rnd_bits, at most 32); free ranges in between are occupied.
// If the machine's limit on address space leaves no room for that, libraries end at kTakenEnd, where they are
// on Linux without randomization.
inline constexpr std::uint64_t kAddressSpaceEnd = 0x7fff'ffff'f000;
inline constexpr std::uint64_t kLibrariesEnd = 0x6eff'fff8'0000;
inline constexpr std::uint64_t kTakenBegin = 0x6f00'0000'0000, kTakenEnd = 0x7fff'f7ff'f000;
// A program built with ThreadSanitizer starts only if its libraries are at 0x7e80'0000'0000 or higher. Linux
// starts its search below this address only with more than 28 random bits.
inline constexpr std::uint64_t kWatchedLibrariesEnd = 0x7ebf'fff8'0000;

// Hint address for files that the loader maps as a whole while it reads them.
inline constexpr std::uint64_t kLoaderFilesAddress = 0x3100'0000'0000;

// Stubs for replaced instructions are within the reach of a near jump (2 GiB) from the code to which they
// belong: programs at fixed addresses, position-independent ones, and libraries at each location.
inline constexpr std::uint64_t kPatchAreas[] = {0x0010'0000, 0x5555'5500'0000, kLibrariesEnd, kTakenEnd, kWatchedLibrariesEnd};
inline constexpr std::uint64_t kPatchAreaSize = 512 << 10;  // the first page is data, the rest code

// Simulated objects get the lowest free descriptor, as on Linux. The shim's own descriptors are above them,
// from RegionHeader::own_descriptors on: at kUsualDescriptors while the process has no higher number,
// afterwards as high as the kernel permits, which enlarges its table. Below the shim's own, each virtual
// descriptor is reserved in the kernel's table by a copy of the placeholder. Virtual descriptors above them,
// which exist where the machine's limit is low, are unknown to the kernel.
inline constexpr int kUsualDescriptors = 1024;
inline constexpr int kMostDescriptors = 65536;

// Numbers of the shim's own descriptors, relative to own_descriptors. Real files in messages of AF_UNIX
// sockets are received through the passage. The last two are closed by the constructor: the preload path
// leads through the directory, so that its length does not vary.
inline constexpr int kPassageFd = 0;
inline constexpr int kPlaceholderFd = 1;
inline constexpr int kShimDirectoryFd = 2;
inline constexpr int kRegionFd = 3;
inline constexpr int kKeptDescriptors = 2;
inline constexpr int kOwnDescriptors = 4;

inline constexpr std::uint32_t kMaxThreads = 32768;      // slots per process; the region is sparse
inline constexpr std::uint32_t kMailboxSize = 16384;     // bytes of one thread's mailbox
inline constexpr std::uint64_t kArenaOffset = 1ull << 30;   // rings and doorbell records, within the region
inline constexpr std::uint64_t kArenaSize = 4ull << 30;     // sparse
inline constexpr std::uint64_t kRegionSize = kArenaOffset + kArenaSize;
inline constexpr std::uint64_t kNearSize = 512 << 10;  // part of the region within the shim's block,
                                                       // sufficient for few threads

// Lowest address of the two stacks of the thread with slot `index`.
constexpr std::uint64_t shim_stack(std::uint64_t index) { return kShimStackEnd - (index + 1) * kShimStackSize; }
static_assert(shim_stack(kMaxThreads - 1) >= kShimStart);
static_assert(kLibrariesEnd + kPatchAreaSize == kTakenBegin);
static_assert(kRegionAddress + kNearSize == kShimBlock + (2 << 20) && kRegionAddress + kRegionSize <= kShimHeapAddress);

}  // namespace verbatim::protocol
