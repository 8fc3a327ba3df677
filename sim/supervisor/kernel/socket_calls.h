// Sockets, messages (kernel_message.cc) and options (kernel_options.cc).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/supervisor/kernel/kernel_state.h"

namespace verbatim::supervisor {

CallOutcome sys_socket(CallContext& call, Networks& networks);
CallOutcome sys_socketpair(CallContext& call, Networks& networks);
CallOutcome sys_bind(CallContext& call);
CallOutcome sys_listen(CallContext& call);
CallOutcome sys_connect(CallContext& call);
CallOutcome sys_accept(CallContext& call);
CallOutcome sys_shutdown(CallContext& call);
CallOutcome sys_socket_name(CallContext& call);

CallOutcome sys_sendto(CallContext& call, CallFailures& failures, RealDescriptors& descriptors);
CallOutcome sys_sendmsg(CallContext& call, CallFailures& failures, RealDescriptors& descriptors);
CallOutcome sys_sendmmsg(CallContext& call, RealDescriptors& descriptors);
CallOutcome sys_recvfrom(CallContext& call, CallFailures& failures);
CallOutcome sys_recvmsg(CallContext& call, CallFailures& failures, RealDescriptors& descriptors);
CallOutcome sys_recvmmsg(CallContext& call, RealDescriptors& descriptors);

CallOutcome sys_setsockopt(CallContext& call);
CallOutcome sys_getsockopt(CallContext& call);

// The socket that the first argument names; nullptr and `refusal` if it is none.
std::shared_ptr<Socket> socket_of(CallContext& call, Answer* refusal);
// Reads a socket address from the program; nullopt and -errno.
std::optional<std::vector<std::byte>> load_name(CallContext& call, std::uint64_t address,
                                                std::uint64_t length, int* error);
// Stores a socket address, truncated to the program's buffer, and its full length; 0 or -errno.
int store_name(Process& process, std::span<const std::byte> name, std::uint64_t address,
               std::uint64_t length_address);

}  // namespace verbatim::supervisor
