#include "sim/supervisor/net/socket.h"

#include <sys/stat.h>

#include <cerrno>

namespace verbatim::supervisor {

int Socket::listen(Process&, int) { return -EOPNOTSUPP; }
int Socket::set_option(int, int, int) { return -ENOPROTOOPT; }
int Socket::get_option(int, int, int*) const { return -ENOPROTOOPT; }
std::vector<std::byte> Socket::structured_option(int, int) const { return {}; }
std::uint32_t Socket::mode() const { return S_IFSOCK | 0777; }

}  // namespace verbatim::supervisor
