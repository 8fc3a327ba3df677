// Choices in which a host's kernel may answer differently from an idle machine. Each counts against the
// budget of failing calls (sim/core/failing_calls.h); index 0 is the usual answer.
#pragma once

#include <string_view>

namespace verbatim::supervisor::freedom {

// A nonblocking read finds nothing, or a nonblocking write no room, although poll has reported readiness
// (select(2), BUGS).
inline constexpr std::string_view kWouldBlock = "call-would-block";
// A read of a stream, or a nonblocking write, transfers less than it could (read(2), write(2), send(2)).
// kShortBytes chooses the number of bytes.
inline constexpr std::string_view kShortTransfer = "short-transfer";
inline constexpr std::string_view kShortBytes = "short-transfer/bytes";
// A call that would block ends with EINTR (signal(7)). Cause: a signal, if an unmasked one has a handler without
// SA_RESTART; or a stop of the process, for calls that a stop interrupts.
inline constexpr std::string_view kInterrupted = "call-interrupted";

}  // namespace verbatim::supervisor::freedom
