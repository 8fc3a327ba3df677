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
// `socket`: named by the first argument of the call (dispatch.h).
CallOutcome sys_bind(CallContext& call, const std::shared_ptr<Socket>& socket);
CallOutcome sys_listen(CallContext& call, const std::shared_ptr<Socket>& socket);
CallOutcome sys_connect(CallContext& call, const std::shared_ptr<Socket>& socket);
CallOutcome sys_accept(CallContext& call, const std::shared_ptr<Socket>& socket);
CallOutcome sys_shutdown(CallContext& call, const std::shared_ptr<Socket>& socket);
CallOutcome sys_socket_name(CallContext& call, const std::shared_ptr<Socket>& socket);

CallOutcome sys_sendto(CallContext& call, const std::shared_ptr<Socket>& socket,
                       CallFailures& failures, RealDescriptors& descriptors);
CallOutcome sys_sendmsg(CallContext& call, const std::shared_ptr<Socket>& socket,
                        CallFailures& failures, RealDescriptors& descriptors);
CallOutcome sys_sendmmsg(CallContext& call, const std::shared_ptr<Socket>& socket, RealDescriptors& descriptors);
CallOutcome sys_recvfrom(CallContext& call, const std::shared_ptr<Socket>& socket, CallFailures& failures);
CallOutcome sys_recvmsg(CallContext& call, const std::shared_ptr<Socket>& socket,
                        CallFailures& failures, RealDescriptors& descriptors);
CallOutcome sys_recvmmsg(CallContext& call, const std::shared_ptr<Socket>& socket, RealDescriptors& descriptors);

CallOutcome sys_setsockopt(CallContext& call, const std::shared_ptr<Socket>& socket);
CallOutcome sys_getsockopt(CallContext& call, const std::shared_ptr<Socket>& socket);

// Reads a socket address from the program; nullopt and -errno.
std::optional<std::vector<std::byte>> load_name(CallContext& call, std::uint64_t address,
                                                std::uint64_t length, int* error);
// Stores a socket address, truncated to the program's buffer, and its full length; 0 or -errno.
int store_name(Process& process, std::span<const std::byte> name, std::uint64_t address,
               std::uint64_t length_address);

}  // namespace verbatim::supervisor
