// System V shared memory: the part in the attaching process.
#pragma once

namespace verbatim::shim {

// Executes shmat with `arguments`: maps the file that is next in the passage. `page`: size of
// its pages, with kSlowHugePages (protocol/huge_pages.h). Returns the address, or -errno.
long map_segment(const long (&arguments)[6], unsigned long size, unsigned long page);
long unmap_segment(long address, long size, long result);

}  // namespace verbatim::shim
