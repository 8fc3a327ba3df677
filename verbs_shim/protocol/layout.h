// Where things lie in every simulated process, and the version both sides must agree on. The shim maps the
// process region (a memfd made by the supervisor) at a fixed address; its images are linked at fixed addresses,
// so their size never moves the program's own mappings.
#pragma once

#include <cstdint>

namespace verbatim::protocol {

inline constexpr std::uint32_t kMagic = 0x62726556;  // "Verb"
inline constexpr std::uint32_t kVersion = 28;

// What every process touches lies within one block of 2 MiB, the reach of one page of the kernel's page tables: such a page
// costs a process more than ten pages of memory do.
inline constexpr std::uint64_t kShimBlock = 0x2002'0000'0000;
inline constexpr std::uint64_t kShimStackSize = 256 << 10;                // of one thread, see state.h
inline constexpr std::uint64_t kShimStackEnd = kShimBlock + kShimStackSize;  // the first thread's; the others' lie below
inline constexpr std::uint64_t kRuntimeImage = kShimBlock + 0x04'0000;    // libverbatim_runtime.so
inline constexpr std::uint64_t kVerbsImage = kShimBlock + 0x0c'0000;      // libibverbs.so.1
inline constexpr std::uint64_t kMlx5Image = kShimBlock + 0x10'0000;       // libmlx5.so.1
inline constexpr std::uint64_t kPatchDataAddress = kShimBlock + 0x12'0000;  // see patches.h
inline constexpr std::uint64_t kRegionAddress = kShimBlock + 0x18'0000;
inline constexpr std::uint64_t kAccessTablesAddress = 0x2010'0000'0000;  // see accesses.h; where threads may be late so
inline constexpr std::uint64_t kShimHeapAddress = 0x2020'0000'0000;  // objects the shim hands to the program
inline constexpr std::uint64_t kShimHeapSize = 1ull << 36;           // reserved, not committed
inline constexpr std::uint64_t kSmallShimHeapSize = 1ull << 28;      // where the machine does not let as much be reserved
// Nothing else lies between; a program that changes mappings there is told that it cannot.
inline constexpr std::uint64_t kShimStart = 0x2000'0000'0000, kShimEnd = 0x2100'0000'0000;

// Where a program's own memory lies: a position-independent one at two thirds of the address space, as Linux puts it without
// randomisation; the stack, of at most kStackLimit, at the end; libraries, and what is mapped without an address, below
// kLibrariesEnd. That is lower than any address at which Linux begins to look for room, however many bits of it are random
// (vm.mmap_rnd_bits, at most 32): what lies between and could be found is taken. Where the machine's limit on address space
// leaves no room for that, libraries end where Linux puts them without randomisation, at kTakenEnd.
inline constexpr std::uint64_t kAddressSpaceEnd = 0x7fff'ffff'f000;
inline constexpr std::uint64_t kLibrariesEnd = 0x6eff'fff8'0000;
inline constexpr std::uint64_t kTakenBegin = 0x6f00'0000'0000, kTakenEnd = 0x7fff'f7ff'f000;
// A program built with ThreadSanitizer does not start unless its libraries lie from 0x7e80'0000'0000 on. Below this Linux looks
// for room only where more than 28 bits are random.
inline constexpr std::uint64_t kWatchedLibrariesEnd = 0x7ebf'fff8'0000;

// What the loader reads in whole, while it does. Linux takes this for a wish.
inline constexpr std::uint64_t kLoaderFilesAddress = 0x3100'0000'0000;

// Replacements of instructions lie within the reach of a near jump (2 GiB) of the code they belong to: of programs at
// fixed addresses, of position-independent ones, and of libraries at each place.
inline constexpr std::uint64_t kPatchAreas[] = {0x0010'0000, 0x5555'5500'0000, kLibrariesEnd, kTakenEnd, kWatchedLibrariesEnd};
inline constexpr std::uint64_t kPatchAreaSize = 512 << 10;  // the first page is data, the rest code

// Simulated objects have the lowest free descriptors, as Linux gives them out. The shim's own lie above them, at
// RegionHeader::own_descriptors: at kUsualDescriptors while the process has no higher number, and from then on as high as the
// kernel lets them, which makes its table large. Below the shim's own a copy of the placeholder holds the number of each
// simulated object in the kernel's table; from there on, where the machine's limit is low, the kernel knows nothing of them.
inline constexpr int kUsualDescriptors = 1024;
inline constexpr int kMostDescriptors = 65536;

// Of the shim's own, the n-th. Real files that come in messages of AF_UNIX sockets are fetched from the passage. The last two
// exist until the constructor has run: the preload path goes through the directory, so that its length does not vary.
inline constexpr int kPassageFd = 0;
inline constexpr int kPlaceholderFd = 1;
inline constexpr int kShimDirectoryFd = 2;
inline constexpr int kRegionFd = 3;
inline constexpr int kKeptDescriptors = 2;
inline constexpr int kOwnDescriptors = 4;

inline constexpr std::uint32_t kMaxThreads = 32768;      // slots of one process; the region is sparse
inline constexpr std::uint32_t kMailboxSize = 16384;     // bytes of one thread's mailbox
inline constexpr std::uint64_t kArenaOffset = 1ull << 30;   // rings and doorbell records, within the region
inline constexpr std::uint64_t kArenaSize = 4ull << 30;     // sparse
inline constexpr std::uint64_t kRegionSize = kArenaOffset + kArenaSize;
inline constexpr std::uint64_t kNearSize = 512 << 10;  // what lies in the shim's block: all that few threads need

// The lowest address of the two stacks of the thread with slot `index`.
constexpr std::uint64_t shim_stack(std::uint64_t index) { return kShimStackEnd - (index + 1) * kShimStackSize; }
static_assert(shim_stack(kMaxThreads - 1) >= kShimStart);
static_assert(kLibrariesEnd + kPatchAreaSize == kTakenBegin);
static_assert(kRegionAddress + kNearSize == kShimBlock + (2 << 20) && kRegionAddress + kRegionSize <= kShimHeapAddress);

}  // namespace verbatim::protocol
