// System calls by which a program that waits asks the same again and again: is there a byte, an event, a connection.
#pragma once

#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>

namespace verbatim::protocol {

// Whether such a call has found that there is nothing, and changed nothing. It must not have waited.
inline bool finds_nothing(std::uint32_t number, const std::int64_t (&arguments)[6], std::int64_t result) {
  switch (number) {
    case SYS_epoll_wait:
      return result == 0 && arguments[3] == 0;
    case SYS_poll:
      return result == 0 && arguments[2] == 0;
    case SYS_read:
    case SYS_recvfrom:
    case SYS_accept:
    case SYS_accept4:
      return result == -EAGAIN;
    default:
      return false;
  }
}

// Whether two calls of that number ask the same; what is left in the registers of other arguments says nothing.
template <class A, class B>
bool ask_the_same(std::uint32_t number, const A (&a)[6], const B (&b)[6]) {
  const int count = number == SYS_recvfrom ? 6 : number == SYS_epoll_wait || number == SYS_accept4 ? 4 : 3;
  for (int i = 0; i < count; ++i) {
    if (static_cast<std::int64_t>(a[i]) != static_cast<std::int64_t>(b[i])) return false;
  }
  return true;
}

}  // namespace verbatim::protocol
