// Where a host's kernel may answer otherwise than an idle machine does. Each counts against the budget of failing calls
// (sim/core/failing_calls.h); index 0 is the usual answer.
#pragma once

#include <string_view>

namespace verbatim::supervisor::freedom {

// A read or write that may not wait finds nothing, or no room, though a poll has just said so (select(2), BUGS).
inline constexpr std::string_view kWouldBlock = "call-would-block";
// A read of a stream, or a write that may not wait, moves a part of what it could (read(2), write(2), send(2)); and how much.
inline constexpr std::string_view kShortTransfer = "short-transfer";
inline constexpr std::string_view kShortBytes = "short-transfer/bytes";
// A call that has to wait ends with EINTR at once, as by a signal whose handler leaves nothing behind, or by a stop of the
// process (signal(7)): where the thread lets a signal in that has a handler without SA_RESTART, and always of what a stop
// interrupts.
inline constexpr std::string_view kInterrupted = "call-interrupted";

}  // namespace verbatim::supervisor::freedom
