// Choices in which a host's kernel may answer differently from an idle machine. Each counts against the
// budget of failing calls (sim/core/failing_calls.h); index 0 is the usual answer.
#pragma once

#include <string_view>

namespace verbatim::supervisor::freedom {

// A nonblocking read finds nothing, or a nonblocking write no room, although poll has reported readiness
// (select(2), BUGS).
inline constexpr std::string_view kWouldBlock = "call-would-block";
// A read of a stream, or a nonblocking write, transfers a part of what it could (read(2), write(2), send(2));
// and its size.
inline constexpr std::string_view kShortTransfer = "short-transfer";
inline constexpr std::string_view kShortBytes = "short-transfer/bytes";
// A call that must wait ends with EINTR at once (signal(7)), as after a signal whose handler leaves no trace, or
// after a stop of the process. Handler: only if an unmasked signal has a handler without SA_RESTART. Stop: always
// for calls that a stop interrupts.
inline constexpr std::string_view kInterrupted = "call-interrupted";

}  // namespace verbatim::supervisor::freedom
