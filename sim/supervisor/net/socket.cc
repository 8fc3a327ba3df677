#include "sim/supervisor/net/socket.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <cerrno>

#include "sim/supervisor/net/interface_requests.h"
#include "sim/supervisor/tasks/process.h"

namespace verbatim::supervisor {

int Socket::listen(Process&, int) { return -EOPNOTSUPP; }
int Socket::set_option(int, int, int) { return -ENOPROTOOPT; }
int Socket::get_option(int, int, int*) const { return -ENOPROTOOPT; }
std::vector<std::byte> Socket::structured_option(int, int) const { return {}; }
std::uint32_t Socket::mode() const { return S_IFSOCK | 0777; }

IoResult Socket::read(std::size_t limit, std::vector<std::byte>& bytes) {
  IncomingMessage message;
  const IoResult n = receive(limit, false, message);
  bytes = std::move(message.bytes);
  return n;
}

IoResult Socket::write_by(Process& process, std::span<const std::byte> bytes, VirtualFilePtr& wait_for) {
  OutgoingMessage message{bytes, {}, {}, nullptr};
  const IoResult result = send(process, message);
  if (message.wait_for != nullptr) wait_for = std::move(message.wait_for);
  return result;
}

std::int64_t Socket::control_io(Process& process, std::uint64_t request, std::uint64_t address, Instant now) {
  // Urgent data is not simulated: the next byte of a stream is never at a mark.
  if ((request & 0xffffffff) == SIOCATMARK && type_ == SOCK_STREAM &&
      (family_ == AF_INET || family_ == AF_INET6))
    return process.memory().store(address, 0) ? 0 : -EFAULT;
  return control_interface(process, request, address, now);
}

}  // namespace verbatim::supervisor
