// Mappings of huge pages, and of the shim's own memory, which is nobody's to change.
#pragma once

namespace verbatim::shim {

// mmap of huge pages: false when `arguments` ask for other memory; else `result` is what the call returns.
bool map_huge(const long (&arguments)[6], long& result);
// munmap and mremap, and mmap at a fixed address, once the process has huge pages.
long change_mapping(long number, const long (&arguments)[6]);
// Maps a file natively at an address that is a multiple of `page`, as mmap would be asked to with `flags`.
long map_aligned(unsigned long hint, unsigned long size, unsigned long page, long protection, unsigned long flags, long fd);
// A huge page comes whole when one byte of it is touched. So do these, where the machine lends huge pages as they are touched or,
// for shared memory, gives them quicker than the faults of each 4 KiB would be. Nothing else shows of it.
void bring_whole_pages(unsigned long start, unsigned long size, bool shared);
// memfd_create(MFD_HUGETLB).
long create_huge_file(const long (&arguments)[6]);
// Bytes of the pages of an open file; 0: they are ordinary ones.
unsigned long huge_page_of_file(long fd);
// The same of a path as the program sees it.
unsigned long huge_page_of_path(const char* path);
// In a copy of the process: what it has inherited is counted for the other one.
void forget_huge_counts();

// Whether `size` bytes from `start` on touch what the shim has mapped for itself: its images, the gate, the region.
bool touches_shim(unsigned long start, unsigned long size);
// From now on every call that takes memory away comes to the shim (signals.cc).
bool watch_mappings();
// Whether the process has had huge pages, so that calls of its come here for their sake.
bool has_had_huge_pages();

}  // namespace verbatim::shim
