// System V shared memory, in the process that attaches it.
#pragma once

namespace verbatim::shim {

// The call is shmat with `arguments`; the memory is the file that is next in the passage. The address, or -errno.
long map_segment(const long (&arguments)[6], unsigned long size, unsigned long page);
long unmap_segment(long address, long size, long result);

}  // namespace verbatim::shim
