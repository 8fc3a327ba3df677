// Options of ip(7) and ipv6(7) that have an integer value. Most are only stored and returned.
#pragma once

#include <map>
#include <utility>

namespace verbatim::supervisor {

class Socket;

class IpOptions {
 public:
  // 0 or -errno; -ENOPROTOOPT: no option of the socket's family.
  int set(const Socket& socket, int level, int option, int value);
  int get(const Socket& socket, int level, int option, int* value) const;
  bool has_any() const { return !values_.empty(); }
  // The value that was set, otherwise Linux' initial one.
  int at(int level, int option) const;

 private:
  std::map<std::pair<int, int>, int> values_;  // by level and option
};

}  // namespace verbatim::supervisor
