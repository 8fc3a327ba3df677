// Mappings of huge pages, and the protection of the shim's own memory from changes.
#pragma once

namespace verbatim::shim {

// mmap of huge pages. False when `arguments` ask for other memory; else `result` is the call's result.
bool map_huge(const long (&arguments)[6], long& result);
// munmap, mremap, and mmap at a fixed address, once the process has huge pages.
long change_mapping(long number, const long (&arguments)[6]);
// Maps a file natively at an address that is a multiple of `page`, as mmap with `flags` would.
long map_aligned(unsigned long hint, unsigned long size, unsigned long page, long protection, unsigned long flags, long fd);
// The first touch of a huge page populates all of it. Populates this range in the same way where the machine
// provides huge pages on a fault or, for shared memory, by a collapse that is faster than 4 KiB faults. Has
// no effect but on speed.
void bring_whole_pages(unsigned long start, unsigned long size, bool shared);
// Whether a collapse in this process, or in another one of the run, was slow. No further collapse is tried then.
bool are_huge_pages_slow();
void note_slow_huge_pages();
// memfd_create(MFD_HUGETLB).
long create_huge_file(const long (&arguments)[6]);
// Page size of an open file in bytes; 0: ordinary pages.
unsigned long huge_page_of_file(long fd);
// The same for a path as the program sees it.
unsigned long huge_page_of_path(const char* path);
// In a copy of the process: inherited mappings are counted for the parent only.
void forget_huge_counts();

// Whether `size` bytes from `start` on overlap the shim's mappings: its images, the gate, the region.
bool touches_shim(unsigned long start, unsigned long size);
// Makes every call that takes memory away trap from this call on (filter.cc). False: the filter could not be
// installed.
bool watch_mappings();
// Makes every change of a protection trap. False: as above.
bool watch_protections();
// Whether the process has ever mapped huge pages, so that its munmap and mremap calls trap.
bool has_had_huge_pages();

}  // namespace verbatim::shim
