// rsockets, absent: none can be made, so every descriptor is a bad one.
#include "verbs_shim/cm/cm_api.h"
#include "verbs_shim/runtime/runtime.h"

using verbatim::cm::fail;

extern "C" int rsocket(int, int, int) { return fail(verbatim::shim::attached() ? EOPNOTSUPP : ENODEV); }
extern "C" int rbind(int, const sockaddr*, socklen_t) { return fail(EBADF); }
extern "C" int rlisten(int, int) { return fail(EBADF); }
extern "C" int raccept(int, sockaddr*, socklen_t*) { return fail(EBADF); }
extern "C" int rconnect(int, const sockaddr*, socklen_t) { return fail(EBADF); }
extern "C" int rshutdown(int, int) { return fail(EBADF); }
extern "C" int rclose(int) { return fail(EBADF); }
extern "C" ssize_t rrecv(int, void*, size_t, int) { return fail(EBADF); }
extern "C" ssize_t rrecvfrom(int, void*, size_t, int, sockaddr*, socklen_t*) { return fail(EBADF); }
extern "C" ssize_t rrecvmsg(int, msghdr*, int) { return fail(EBADF); }
extern "C" ssize_t rsend(int, const void*, size_t, int) { return fail(EBADF); }
extern "C" ssize_t rsendto(int, const void*, size_t, int, const sockaddr*, socklen_t) { return fail(EBADF); }
extern "C" ssize_t rsendmsg(int, const msghdr*, int) { return fail(EBADF); }
extern "C" ssize_t rread(int, void*, size_t) { return fail(EBADF); }
extern "C" ssize_t rreadv(int, const iovec*, int) { return fail(EBADF); }
extern "C" ssize_t rwrite(int, const void*, size_t) { return fail(EBADF); }
extern "C" ssize_t rwritev(int, const iovec*, int) { return fail(EBADF); }
extern "C" int rgetpeername(int, sockaddr*, socklen_t*) { return fail(EBADF); }
extern "C" int rgetsockname(int, sockaddr*, socklen_t*) { return fail(EBADF); }
extern "C" int rsetsockopt(int, int, int, const void*, socklen_t) { return fail(EBADF); }
extern "C" int rgetsockopt(int, int, int, void*, socklen_t*) { return fail(EBADF); }
extern "C" int rfcntl(int, int, ...) { return fail(EBADF); }
extern "C" off_t riomap(int, void*, size_t, int, int, off_t) { return fail(EBADF); }
extern "C" int riounmap(int, void*, size_t) { return fail(EBADF); }
extern "C" size_t riowrite(int, const void*, size_t, off_t, int) { return static_cast<size_t>(fail(EBADF)); }

// Among other descriptors these serve ordinary ones as well: rping and ucmatose wait on standard input with
// rpoll.
extern "C" int rpoll(pollfd* fds, nfds_t count, int timeout) { return poll(fds, count, timeout); }
extern "C" int rselect(int count, fd_set* readable, fd_set* writable, fd_set* exceptional, timeval* timeout) {
  return select(count, readable, writable, exceptional, timeout);
}
