#include "sim/supervisor/trees/socket_tables.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "sim/supervisor/net/socket.h"

namespace verbatim::supervisor {

namespace {

struct Listed {
  const Socket* socket = nullptr;
  std::uint64_t inode = 0;
  std::uint32_t user = 0;
};

// By inode number. A socket that several processes have open is listed for the first.
std::map<std::uint64_t, Listed> sockets_of(
    const ProcessTable& table, std::size_t host,
    const std::function<std::uint64_t(const VirtualFilePtr&)>& number_of) {
  std::map<std::uint64_t, Listed> all;
  for (const auto& process : table.processes()) {
    if (!process->alive || process->host_index() != host || process->threads().empty()) continue;
    for (const auto& [fd, file] : process->files().all()) {
      const auto* const socket = dynamic_cast<const Socket*>(file.get());
      if (socket == nullptr) continue;
      const std::uint64_t inode = number_of(file);
      all.try_emplace(inode,
                      Listed{socket, inode, process->threads().front()->credentials.users().effective});
    }
  }
  return all;
}

// Words of the address as numbers of this machine, as Linux prints them.
std::string hex(const Socket& socket, const Endpoint& end) {
  std::string text;
  const std::vector<std::byte> name = name_of(socket.family(), end);
  const bool v4 = socket.family() == AF_INET;
  const std::size_t at = v4 ? offsetof(sockaddr_in, sin_addr) : offsetof(sockaddr_in6, sin6_addr);
  for (std::size_t i = 0; i < (v4 ? 1 : 4); ++i) {
    std::uint32_t word;
    std::memcpy(&word, name.data() + at + 4 * i, sizeof word);
    text += fmt::format("{:08X}", word);
  }
  return fmt::format("{}:{:04X}", text, end.port);
}

std::string internet_table(const std::map<std::uint64_t, Listed>& all, int family, int protocol) {
  const bool is_tcp = protocol == IPPROTO_TCP, v4 = family == AF_INET;
  const std::size_t width = !v4 ? 0 : is_tcp ? 149 : 127;  // of lines; 0: they are not padded
  std::string text = fmt::format(
      "{:<{}}\n",
      fmt::format("{}  {} st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode{}",
                  v4 && protocol == IPPROTO_UDP ? "   sl" : "  sl",
                  v4 ? "local_address rem_address  "
                     : "local_address                         remote_address                       ",
                  is_tcp ? "" : " ref pointer drops"),
      width);
  int number = 0;
  for (const auto& [inode, one] : all) {
    const auto state = one.socket->internet_state();
    if (!state || one.socket->family() != family || one.socket->protocol() != protocol) continue;
    std::string line =
        fmt::format("{:{}}: {} {} {:02X} {:08X}:{:08X} 00:00000000 00000000 {:5} {:8} {}", number++,
                    is_tcp ? 4 : 5, hex(*one.socket, state->local), hex(*one.socket, state->remote),
                    state->number, state->sent_bytes, state->received_bytes, one.user, 0, inode);
    line += is_tcp ? " 1 0000000000000000 100 0 0 10 0" : " 2 0000000000000000 0";
    text += fmt::format("{:<{}}\n", line, width);
  }
  return text;
}

std::string unix_table(const std::map<std::uint64_t, Listed>& all) {
  constexpr unsigned kListens = 0x10000, kUnconnected = 1, kConnected = 3;
  std::string text = "Num       RefCount Protocol Flags    Type St Inode Path\n";
  for (const auto& [inode, one] : all) {
    if (one.socket->family() != AF_UNIX) continue;
    std::vector<std::byte> name, peer;
    one.socket->name(false, name);
    const bool is_connected = one.socket->name(true, peer) == 0;
    text += fmt::format("{:016x}: {:08X} {:08X} {:08X} {:04X} {:02X} {:5}", 0, is_connected ? 3 : 2, 0,
                        one.socket->listening() ? kListens : 0, one.socket->type(),
                        is_connected ? kConnected : kUnconnected, inode);
    if (name.size() > sizeof(sa_family_t)) {
      std::string path(reinterpret_cast<const char*>(name.data()) + sizeof(sa_family_t),
                       name.size() - sizeof(sa_family_t));
      const bool is_abstract = path.front() == '\0';
      if (!is_abstract) path.resize(path.find('\0') != std::string::npos ? path.find('\0') : path.size());
      std::ranges::replace(path, '\0', '@');
      text += " " + path;
    }
    text += "\n";
  }
  return text;
}

// sockstat, and sockstat6 for IPv6. Linux counts sockets without an address (UDP, ping and raw ones, and TCP
// before connect or listen) in the first line and in `alloc` only.
std::string socket_counts(const std::map<std::uint64_t, Listed>& all, int family) {
  std::map<int, int> addressed, existing;  // by protocol
  for (const auto& [inode, one] : all) {
    const Socket& socket = *one.socket;
    const bool is_internet = socket.family() == AF_INET || socket.family() == AF_INET6;
    if (!is_internet) continue;
    existing[socket.protocol()] += 1;
    if (socket.family() == family && socket.internet_state()) addressed[socket.protocol()] += 1;
  }
  const int tcp = addressed[IPPROTO_TCP], udp = addressed[IPPROTO_UDP];
  if (family == AF_INET6)
    return fmt::format(
        "TCP6: inuse {}\nUDP6: inuse {}\nUDPLITE6: inuse 0\nRAW6: inuse 0\nFRAG6: inuse 0 memory 0\n", tcp,
        udp);
  return fmt::format(
      "sockets: used {}\nTCP: inuse {} orphan 0 tw 0 alloc {} mem 0\nUDP: inuse {} mem 0\nUDPLITE: inuse 0\n"
      "RAW: inuse 0\nFRAG: inuse 0 memory 0\n",
      all.size(), tcp, existing[IPPROTO_TCP], udp);
}

// snmp: counters of RFC 1213 (MIB-II). Only the state of connections is counted.
std::string protocol_counters(const std::map<std::uint64_t, Listed>& all) {
  const auto is_connection = [](const auto& entry) {
    const auto state = entry.second.socket->internet_state();
    return entry.second.socket->protocol() == IPPROTO_TCP && state &&
           (state->number == TCP_ESTABLISHED || state->number == TCP_CLOSE_WAIT);
  };
  const auto connections = std::ranges::count_if(all, is_connection);
  return fmt::format(
      "Ip: Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors ForwDatagrams InUnknownProtos "
      "InDiscards InDelivers OutRequests "
      "OutDiscards OutNoRoutes ReasmTimeout ReasmReqds ReasmOKs ReasmFails FragOKs FragFails FragCreates\n"
      "Ip: 2 64 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
      "Icmp: InMsgs InErrors InCsumErrors InDestUnreachs InTimeExcds InParmProbs InSrcQuenchs InRedirects "
      "InEchos InEchoReps InTimestamps "
      "InTimestampReps InAddrMasks InAddrMaskReps OutMsgs OutErrors OutDestUnreachs OutTimeExcds "
      "OutParmProbs OutSrcQuenchs OutRedirects "
      "OutEchos OutEchoReps OutTimestamps OutTimestampReps OutAddrMasks OutAddrMaskReps\n"
      "Icmp: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
      "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab "
      "InSegs OutSegs RetransSegs InErrs "
      "OutRsts InCsumErrors\n"
      "Tcp: 1 200 120000 -1 0 0 0 0 {} 0 0 0 0 0 0\n"
      "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti "
      "MemErrors\n"
      "Udp: 0 0 0 0 0 0 0 0 0\n"
      "UdpLite: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors "
      "IgnoredMulti MemErrors\n"
      "UdpLite: 0 0 0 0 0 0 0 0 0\n",
      connections);
}

}  // namespace

void add_socket_tables(VirtualTree& tree, const std::string& folder, const ProcessTable& table,
                       std::size_t host,
                       const std::function<std::uint64_t(const VirtualFilePtr&)>& number_of) {
  struct Table {
    const char* name;
    int family, protocol;
  };
  constexpr Table kTables[] = {
      {"/tcp", AF_INET, IPPROTO_TCP},   {"/tcp6", AF_INET6, IPPROTO_TCP},
      {"/udp", AF_INET, IPPROTO_UDP},   {"/udp6", AF_INET6, IPPROTO_UDP},
      {"/icmp", AF_INET, IPPROTO_ICMP}, {"/icmp6", AF_INET6, IPPROTO_ICMPV6},
      {"/raw", AF_INET, IPPROTO_RAW},   {"/raw6", AF_INET6, IPPROTO_RAW},
  };
  const auto all = [&table, host, number_of] { return sockets_of(table, host, number_of); };
  for (const Table& one : kTables) {
    tree.add_file(folder + one.name, [all, one] { return internet_table(all(), one.family, one.protocol); });
  }
  for (const char* absent : {"/udplite", "/udplite6", "/ax25", "/ipx", "/appletalk", "/x25", "/rose", "/nr"})
    tree.mark_absent(folder + absent);
  tree.add_file(folder + "/sockstat", [all] { return socket_counts(all(), AF_INET); });
  tree.add_file(folder + "/sockstat6", [all] { return socket_counts(all(), AF_INET6); });
  tree.add_file(folder + "/snmp", [all] { return protocol_counters(all()); });
  tree.add_file(folder + "/unix", [all] { return unix_table(all()); });
}

}  // namespace verbatim::supervisor
