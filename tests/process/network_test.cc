// The management network between hosts: UDP, IPv6, queries of programs about it; and an interpreter that uses
// all of it at once.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/support/verbatim_run.h"

namespace verbatim {
namespace {

using support::RunReport;

const std::string kEcho = support::quoted(std::string(PROCESS_FOLDER) + "/udp_echo");
const std::string kEverything = "python3 " + support::quoted(std::string(SCRIPT_FOLDER) + "/everything.py");

std::vector<long> measured(const RunReport& run) {
  std::istringstream text(run.output("client"));
  std::vector<long> values;
  for (long value; text >> value;) values.push_back(value);
  return values;
}

// Round trip: twice 20 us, and twice the datagram and its 42 bytes of headers at 10 Gb/s, 0.8 ns a byte.
TEST(Network, a_datagram_takes_the_latency_and_its_bytes) {
  for (const char* name : {"server", "server.ip6", "10.0.0.1", "fd00::a00:1"}) {
    const RunReport run = support::run_pair(kEcho, kEcho + " " + name);
    ASSERT_EQ(run.code, 0) << run.story();
    const std::vector<long> times = measured(run);
    ASSERT_EQ(times.size(), 3u) << run.story();
    EXPECT_NEAR(times[1] - times[0], 2 * 8000 * 0.8, 1) << name;
    EXPECT_NEAR(times[2] - times[1], 2 * 41000 * 0.8, 1) << name;
    EXPECT_GT(times[0], 2 * (20'000 + 1042 * 0.8));
    EXPECT_LT(times[0], 2 * (20'000 + 1042 * 0.8) + 10'000) << "calls and wake-ups";
    EXPECT_TRUE(run.report["warnings"].empty()) << run.report["warnings"];
  }
}

// Output of `client`, a Python program that runs beside `server`, with these faults of the management
// network.
std::string with_faults(const std::string& server, const std::string& client,
                        std::vector<std::string> faults) {
  const support::TemporaryFolder folder;
  const auto file = [&](const std::string& name, const std::string& text) {
    const std::string path = folder.path() + "/" + name;
    std::ofstream(path) << "import socket, sys, time\n" << text;
    return name.substr(0, name.find('.')) + "=python3 " + support::quoted(path);
  };
  support::RunRequest request{.commands = {file("server.py", server), file("client.py", client)}};
  for (const std::string& fault : faults) {
    request.options.insert(request.options.end(), {"--fault", R"({"network": "management", )" + fault + "}"});
  }
  request.trace = true;
  const RunReport run = support::run(request);
  EXPECT_EQ(run.code, 0) << run.story();
  EXPECT_TRUE(run.report["warnings"].empty()) << run.report["warnings"];
  std::uint64_t fired = 0, traced = 0;
  for (const auto& fault : run.report.value("faults", nlohmann::json::array())) fired += fault["fired"].get<std::uint64_t>();
  for (std::size_t at = 0; (at = run.trace.find("  management-fault  ", at)) != std::string::npos; ++at) ++traced;
  EXPECT_EQ(traced, fired) << "each is a record";
  request.trace = false;
  request.options.push_back("--call-by-call");
  EXPECT_EQ(support::run(request).digest(), run.digest());
  return run.output("client") + run.output("server");
}

const char kUdpServer[] =
    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.bind(('', 7))\ns.settimeout(2)\n"
    "try:\n  while True: print(s.recv(9).decode(), end='')\nexcept TimeoutError: pass\n";
const char kUdpClient[] =
    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    "for c in 'abcdefgh': s.sendto(c.encode(), ('server', 7))\n";

TEST(Network, lost_datagrams_are_gone_and_late_ones_are_overtaken) {
  EXPECT_EQ(with_faults(kUdpServer, kUdpClient, {}), "abcdefgh");
  EXPECT_EQ(with_faults(kUdpServer, kUdpClient, {R"("action": "drop", "nth": 2, "every": 3, "count": 2)"}),
            "acdfgh");
  EXPECT_EQ(with_faults(kUdpServer, kUdpClient,
                        {R"("action": "delay", "delay": "1 ms", "from": "client", "protocol": "udp")"}),
            "bcdefgha");
  EXPECT_EQ(with_faults(kUdpServer, kUdpClient, {R"("action": "drop", "to": "server", "count": 0)"}), "");
}

// A ping socket (icmp(7)) of Python sends requests, whose identifier and checksum Linux sets, and prints the replies and their
// times in units of 20 us.
const char kPing[] =
    "def ping(family, protocol, host, kind):\n"
    "  s = socket.socket(family, socket.SOCK_DGRAM, protocol)\n  s.settimeout(1)\n"
    "  for number in range(4):\n"
    "    request = bytes([kind, 0, 0, 0, 0, 0, 0, number]) + b'abc'\n    t = time.monotonic_ns()\n"
    "    try:\n      s.sendto(request, (host, 0))\n      reply, sender = s.recvfrom(99)\n"
    "      print(reply[0], reply[4:].hex(), sender[0], (time.monotonic_ns() - t) // 20000, end='; ')\n"
    "    except TimeoutError: print('lost', end='; ')\n"
    "ping(socket.AF_INET, socket.IPPROTO_ICMP, 'server', 8)\n"
    "ping(socket.AF_INET6, socket.IPPROTO_ICMPV6, 'server.ip6', 128)\n";

TEST(Network, every_host_answers_echo_requests_of_icmp) {
  const auto replies = [](const std::string& first, const std::string& sender) {
    std::string text;
    for (int i = 0; i < 4; ++i) text += first + std::to_string(i) + "616263 " + sender + " 2; ";
    return text;
  };
  EXPECT_EQ(with_faults("", kPing, {}), replies("0 0001000", "10.0.0.1") + replies("129 0002000", "fd00::a00:1"));
  const std::string some = R"("action": "drop", "protocol": "icmp", "from": "server", "nth": 2, "count": 6)";
  EXPECT_EQ(with_faults("", kPing, {some}),
            "0 00010000616263 10.0.0.1 2; lost; lost; lost; lost; lost; lost; 129 00020003616263 fd00::a00:1 2; ");
}

// Scripts wait with ss(8) until a server listens.
TEST(Network, ss_lists_the_sockets_of_the_host) {
  EXPECT_EQ(with_faults("s = socket.create_server(('', 7))\nc, _ = s.accept()\nprint(c.recv(9))\n",
                        "import subprocess\n"
                        "def ss(words): return subprocess.run(['ss', '-H', *words.split()], capture_output=True, text=True)\n"
                        "s = socket.create_connection(('server', 7))\nu = socket.socket(type=socket.SOCK_DGRAM)\nu.bind(('', 9))\n"
                        "for words in ('-tn', '-lun', '-ltn sport = :7', '-tnp dport = :7'):\n"
                        "  done = ss(words)\n  print(done.stderr, ' '.join(done.stdout.split()), end='; ')\n"
                        "s.send(b'x')\n",
                        {}),
            " ESTAB 0 0 10.0.0.2:32768 10.0.0.1:7;  UNCONN 0 0 0.0.0.0:9 0.0.0.0:*;  ;  ESTAB 0 0 10.0.0.2:32768 10.0.0.1:7 "
            "users:((\"python3\",pid=1001,fd=3)); b'x'\n");
}

// Programs of net-tools, iproute2 and procps that read the files of /proc/net, /proc/vmstat and /proc/self/status.
TEST(Network, tools_show_interfaces_and_numbers_of_sockets) {
  EXPECT_EQ(with_faults("s = socket.create_server(('', 7))\nc, _ = s.accept()\nprint(c.recv(9))\n",
                        "import subprocess\n"
                        "s = socket.create_connection(('server', 7))\nt = socket.socket()\nu = socket.socket(type=socket.SOCK_DGRAM)\nu.bind(('', 9))\n"
                        "v = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\nv.bind(('::1', 10))\n"
                        "for words in ('ss -s', 'netstat -in', 'arp -n', 'vmstat', 'grep Vm.*S /proc/self/status'):\n"
                        "  done = subprocess.run(words.split(), capture_output=True, text=True)\n"
                        "  print(done.stderr, ' '.join(done.stdout.split()[-9:]), end='; ')\n"
                        "with open('/proc/net/snmp') as f: print(''.join(l.split()[9] for l in f if l.startswith('Tcp')))\n"
                        "s.send(b'x')\n",
                        {}),
            " 0 INET 3 2 1 FRAG 0 0 0;  0 0 0 0 0 0 0 0 LRU;  ;  0 0 0 0 0 0 100 0 0;  VmRSS: 0 kB VmStk: 0 kB VmSwap: 0 kB; CurrEstab1\nb'x'\n");
}

TEST(Network, addresses_without_a_route_are_unreachable_at_once) {
  EXPECT_EQ(with_faults("",
                        "for host in ('10.0.0.99', '8.8.8.8', '224.0.0.1', 'fd00::99', '2001:db8::1'):\n"
                        "  family = socket.AF_INET6 if ':' in host else socket.AF_INET\n"
                        "  for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):\n"
                        "    print(socket.socket(family, kind).connect_ex((host, 9)), end=' ')\n"
                        "  try: print(socket.socket(family, socket.SOCK_DGRAM).sendto(b'x', (host, 9)))\n  except OSError as e: print(e.errno)\n",
                        {}),
            "113 0 1\n101 101 101\n101 101 101\n113 0 1\n101 101 101\n");
}

// Datagrams longer than the MTU of the interface, if fragments are forbidden.
TEST(Network, datagrams_longer_than_the_mtu_are_refused_with_it) {
  EXPECT_EQ(with_faults("",
                        "for family, level, mtu_discover, recverr, host in ((socket.AF_INET, 0, 10, 11, 'server'), "
                        "(socket.AF_INET6, 41, 23, 25, 'server.ip6')):\n"
                        "  s = socket.socket(family, socket.SOCK_DGRAM)\n  s.sendto(bytes(1500), (host, 9))\n"
                        "  s.setsockopt(level, mtu_discover, 2)\n  s.setsockopt(level, recverr, 1)\n"
                        "  for n in (1452, 1472, 1473):\n"
                        "    try: print(s.sendto(bytes(n), (host, 9)), end=' ')\n    except OSError as e: print(e.errno, end=' ')\n"
                        "  data, control, flags, name = s.recvmsg(99, 99, 0x2000)\n"
                        "  fields = control[0][2]\n  print(fields[0], fields[4], int.from_bytes(fields[8:12], 'little'), name[1])\n",
                        {}),
            "1452 1472 90 90 1 1500 9\n1452 90 90 90 1 1500 9\n");
}

// Milliseconds for connecting and for one exchange, without their latencies.
const char kTcpServer[] =
    "s = socket.create_server(('', 7))\nc, _ = s.accept()\nwhile d := c.recv(9): c.sendall(d)\n";
const char kTcpClient[] =
    "t = time.monotonic()\ns = socket.create_connection(('server', 7))\nu = time.monotonic()\n"
    "s.sendall(b'x')\ns.recv(9)\nv = time.monotonic()\n"
    "print(int((u - t) * 1e3), int((v - u) * 1e3))\n";

TEST(Network, lost_segments_come_after_the_retransmission_timeout) {
  const std::string tcp = R"("action": "drop", "protocol": "tcp", )";
  EXPECT_EQ(with_faults(kTcpServer, kTcpClient, {}), "0 0\n");
  // From the client: SYN, ACK, data; from the server: SYN and ACK, data. Repetitions count.
  EXPECT_EQ(with_faults(kTcpServer, kTcpClient, {tcp + R"("from": "client")"}), "1000 0\n");
  EXPECT_EQ(with_faults(kTcpServer, kTcpClient, {tcp + R"("from": "client", "count": 2)"}), "3000 0\n");
  EXPECT_EQ(with_faults(kTcpServer, kTcpClient, {tcp + R"("from": "client", "nth": 3)"}), "0 200\n");
  EXPECT_EQ(with_faults(kTcpServer, kTcpClient, {tcp + R"("from": "client", "nth": 3, "count": 3)"}),
            "0 1400\n");
  EXPECT_EQ(with_faults(kTcpServer, kTcpClient, {tcp + R"("from": "server", "nth": 2)"}), "0 200\n");
  EXPECT_EQ(with_faults(kTcpServer, kTcpClient,
                        {R"("action": "delay", "delay": "7 ms", "from": "server", "nth": 2)"}),
            "0 7\n");
}

// As on Linux with its default of six repetitions: 1 + 2 + 4 + 8 + 16 + 32 + 64 seconds.
TEST(Network, a_host_that_nothing_reaches_is_given_up) {
  EXPECT_EQ(with_faults("",
                        "t = time.monotonic()\ntry: socket.create_connection(('server', 7))\n"
                        "except TimeoutError as e: print(e.errno, int(time.monotonic() - t))\n",
                        {R"("action": "drop", "to": "server", "count": 0)"}),
            "110 127\n");
  // 200 ms doubled up to 120 s, 15 repetitions: 924.6 s, as in man tcp(7).
  EXPECT_EQ(with_faults("s = socket.create_server(('', 7))\nc, _ = s.accept()\ntime.sleep(2000)\n",
                        "s = socket.create_connection(('server', 7))\ntime.sleep(1)\nt = time.monotonic()\n"
                        "s.sendall(b'x')\ntry: s.recv(1)\n"
                        "except TimeoutError as e: print(e.errno, int(time.monotonic() - t))\n",
                        {R"("action": "drop", "to": "server", "after": "1 s", "count": 0)"}),
            "110 924\n");
}

TEST(Network, ip_shows_the_hosts_own_addresses) {
  const RunReport run = support::run({.commands = {"server=ip -oneline addr", "client=ip -oneline addr"}});
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_NE(run.output("server").find("inet 10.0.0.1/8 brd 10.255.255.255 scope global eth0"),
            std::string::npos)
      << run.story();
  EXPECT_NE(run.output("client").find("inet6 fd00::a00:2/64 scope global"), std::string::npos) << run.story();
  EXPECT_NE(run.output("client").find("inet 127.0.0.1/8 scope host lo"), std::string::npos);
}

TEST(Network, ip_shows_the_route_to_the_other_hosts) {
  const RunReport run = support::run({.commands = {"server=ip route"}});
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), "10.0.0.0/8 dev eth0 proto kernel scope link src 10.0.0.1 \n");
}

// Open MPI 5 finds out in this manner whether a peer can be reached.
TEST(Network, ip_tells_the_route_to_one_address) {
  const std::pair<const char*, const char*> kRoutes[] = {
      {"10.0.0.2", "10.0.0.2 dev eth0 src 10.0.0.1 uid 0 \n    cache \n"},
      {"10.0.0.1", "local 10.0.0.1 dev lo src 10.0.0.1 uid 0 \n    cache <local> \n"},
      {"127.0.0.9", "local 127.0.0.9 dev lo src 127.0.0.1 uid 0 \n    cache <local> \n"},
      {"10.0.0.2 from 10.0.0.1", "10.0.0.2 from 10.0.0.1 dev eth0 uid 0 \n    cache \n"},
      {"10.0.0.2 from 10.0.0.2", ""},
      {"8.8.8.8", ""},
      {"8.8.8.8 oif eth0", "8.8.8.8 dev eth0 src 10.0.0.1 uid 0 \n    cache \n"},
      {"::1", "local ::1 from :: dev lo table local proto kernel src ::1 metric 0 pref medium\n"},
      {"fd00::a00:2", "fd00::a00:2 from :: dev eth0 proto kernel src fd00::a00:1 metric 256 pref medium\n"},
      {"fd01::1", ""}};
  std::string command = "server=sh -c 'exec 2>&1; ", expected;
  for (const auto& [question, answer] : kRoutes) {
    command += std::string("ip route get ") + question + "; ";
    expected += answer[0] == '\0' ? "RTNETLINK answers: Network is unreachable\n" : answer;
  }
  const RunReport run = support::run({.commands = {command + "true'"}});
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), expected);
}

// The name that configurations for IPoIB have; eth0 stays the name in lists.
TEST(Network, an_infiniband_host_s_interface_is_found_as_ib0) {
  const support::TemporaryFolder folder;
  const std::string script = folder.path() + "/ask.py";
  std::ofstream(script) << R"PY(
import fcntl, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
  print(socket.inet_ntoa(fcntl.ioctl(s, 0x8915, struct.pack('256s', b'ib0'))[20:24]), socket.if_nametoindex('ib0'))
except OSError as error:
  print(error)
print([name for _, name in socket.if_nameindex()])
)PY";
  const std::string command = "server=python3 " + support::quoted(script);
  const RunReport run = support::run({.commands = {command}});
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), "10.0.0.1 2\n['lo', 'eth0']\n");
  const RunReport roce = support::run({.topology = "two_hosts_roce", .commands = {command}});
  ASSERT_EQ(roce.code, 0) << roce.story();
  EXPECT_EQ(roce.output("server"), "[Errno 19] No such device\n['lo', 'eth0']\n");
}

TEST(Network, rdma_shows_adapters_and_their_ports) {
  const RunReport run = support::run({.commands = {"server=sh -c 'rdma dev; rdma link; rdma system'"}});
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_THAT(run.output("server"), ::testing::ContainsRegex("mlx5_0: node_type ca .*fw "));
  EXPECT_THAT(run.output("server"), ::testing::ContainsRegex("link mlx5_0/1 .*lid 1 .*state ACTIVE physical_state LINK_UP"));
  EXPECT_THAT(run.output("server"), ::testing::HasSubstr("netns shared"));
  const RunReport roce = support::run({.topology = "two_hosts_roce", .commands = {"server=rdma link -j"}});
  ASSERT_EQ(roce.code, 0) << roce.story();
  EXPECT_THAT(roce.output("server"),
              ::testing::ContainsRegex("\"ifname\":\"mlx5_0\",\"port\":1,.*\"netdev\":\"eth0\""));
}

// The server's objects while it waits for the client.
TEST(Network, rdma_counts_the_objects_of_programs) {
  const RunReport run = support::run(
      {.commands = {"server=sh -c 'ibv_rc_pingpong -n 5 & sleep 0.05; rdma res; rdma res show qp; "
                    "rdma res show cq; wait'",
                    "client=sh -c 'sleep 0.1; exec ibv_rc_pingpong -n 5 server'"}});
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_THAT(run.output("server"), ::testing::ContainsRegex("mlx5_0: pd 1 cq 1 qp 1 mr 1 ctx 1"));
  EXPECT_THAT(run.output("server"),
              ::testing::ContainsRegex("link mlx5_0/1 lqpn [0-9]+ rqpn 0 type RC state INIT .*comm ibv_rc_pingpong"));
  EXPECT_THAT(run.output("server"), ::testing::ContainsRegex("cqn [0-9]+ cqe [0-9]+ users 2 .*comm ibv_rc_pingpong"));
}

// More objects than one message has.
TEST(Network, rdma_lists_many_objects) {
  const RunReport run = support::run({.commands = {"server=sh -c 'for i in $(seq 19000 19039); do ibv_rc_pingpong -p $i & p=\"$p $!\"; done; "
                                                   "sleep 0.1; rdma res show qp; rdma res show cq; kill $p'"}});
  ASSERT_EQ(run.code, 0) << run.story();
  const std::string out = run.output("server");
  EXPECT_EQ(std::ranges::count(out, '\n'), 2 * 40) << out.substr(0, 1000);
}

// On request, a final acknowledgement reports success, as libnl expects.
TEST(Network, answers_of_netlink_are_acknowledged) {
  const support::TemporaryFolder folder;
  const std::string script = folder.path() + "/ask.py";
  std::ofstream(script) << R"PY(
import socket, struct
for flags in (1, 5):
  s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
  body = struct.pack('BBBBBBBBI', 2, 32, 0, 0, 0, 0, 0, 0, 0) + struct.pack('HH', 8, 1) + socket.inet_aton('10.0.0.2')
  s.send(struct.pack('IHHII', 16 + len(body), 26, flags, 7, 0) + body)
  s.setblocking(False)
  told = []
  try:
    while True:
      told.append(struct.unpack('HHIIi', s.recv(4096)[4:20]))
  except BlockingIOError:
    print([(kind, sequence, error if kind == 2 else '') for kind, _, sequence, _, error in told])
)PY";
  const RunReport run = support::run({.commands = {"server=python3 " + support::quoted(script)}});
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), "[(24, 7, '')]\n[(24, 7, ''), (2, 7, 0)]\n");
}

// Each adapter beyond the first has an interface, an address, a network and a host name of its own.
constexpr char kRails[] = R"PY(
import fcntl, os, socket, struct
def ask(number, name):
  with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    return fcntl.ioctl(s, number, struct.pack('256s', name.encode()))
name = socket.if_nameindex()[2][1]
print(socket.if_nameindex())
print([socket.inet_ntoa(ask(number, name)[20:24]) for number in (0x8915, 0x891b, 0x8919)])
print(struct.unpack('i', ask(0x8933, name)[16:20])[0], struct.unpack('H', ask(0x8927, name)[16:18])[0])
print(open('/sys/class/net/' + name + '/ifindex').read().strip(), open('/sys/class/net/' + name + '/type').read().strip(),
      open('/sys/class/net/' + name + '/address').read().strip(), os.listdir('/sys/class/net/' + name + '/device/infiniband'))
print([line.split()[:3:2] + line.split()[-1:] for line in open('/proc/net/if_inet6')])
print([line.split()[0:2] + [line.split()[7]] for line in open('/proc/net/route')][1:])
print(socket.gethostbyname(socket.gethostname() + '-mlx5_1'),
      socket.getaddrinfo(socket.gethostname() + '-mlx5_1.ip6', 7, type=socket.SOCK_STREAM)[0][4][0])
)PY";

TEST(Network, further_adapters_have_interfaces) {
  const support::TemporaryFolder folder;
  const std::string script = folder.path() + "/rails.py";
  std::ofstream(script) << kRails;
  struct Case {
    const char *topology, *host, *expected, *addresses, *routes;
  };
  constexpr Case kCases[] = {
      {"rails_2_roce", "client",
       "[(1, 'lo'), (2, 'eth0'), (3, 'eth1')]\n['192.168.1.2', '255.255.255.0', '192.168.1.255']\n3 1\n"
       "3 1 02:56:42:00:00:02 ['mlx5_1']\n"
       "[['00000000000000000000000000000001', '80', 'lo'], ['fd00000000000000000000000a000002', '40', 'eth0'], "
       "['fd000000c0a8010000000000c0a80102', '40', 'eth1']]\n"
       "[['eth0', '0000000A', '000000FF'], ['eth1', '0001A8C0', '00FFFFFF']]\n"
       "192.168.1.2 fd00:0:c0a8:100::c0a8:102\n",
       "inet 192.168.1.2/24 brd 192.168.1.255 scope global eth1",
       "10.0.0.0/8 dev eth0 proto kernel scope link src 10.0.0.2 \n"
       "192.168.1.0/24 dev eth1 proto kernel scope link src 192.168.1.2 \n"},
      {"rails_4", "h1",
       "[(1, 'lo'), (2, 'eth0'), (3, 'ib1')]\n['172.17.0.2', '255.255.0.0', '172.17.255.255']\n3 32\n"
       "3 32 00:00:00:00:fe:80:00:00:00:00:00:00:02:56:42:00:00:00:04:01 ['mlx5_1']\n"
       "[['00000000000000000000000000000001', '80', 'lo'], ['fd00000000000000000000000a000002', '40', 'eth0'], "
       "['fd000000ac11000000000000ac110002', '40', 'ib1']]\n"
       "[['eth0', '0000000A', '000000FF'], ['ib1', '000011AC', '0000FFFF']]\n"
       "172.17.0.2 fd00:0:ac11::ac11:2\n",
       "inet 172.17.0.2/16 brd 172.17.255.255 scope global ib1",
       "10.0.0.0/8 dev eth0 proto kernel scope link src 10.0.0.2 \n"
       "172.17.0.0/16 dev ib1 proto kernel scope link src 172.17.0.2 \n"}};
  for (const Case& one : kCases) {
    const std::string at = std::string(one.host) + "=";
    const auto output = [&](const std::string& command) {
      const RunReport run = support::run({.topology = one.topology, .commands = {at + command}});
      EXPECT_EQ(run.code, 0) << run.story();
      return run.output(one.host);
    };
    EXPECT_EQ(output("python3 " + support::quoted(script)), one.expected);
    EXPECT_NE(output("ip -oneline addr").find(one.addresses), std::string::npos);
    EXPECT_EQ(output("ip route"), one.routes);
  }
}

// Lists longer than one netlink datagram are sent in several.
TEST(Network, getifaddrs_has_room_for_many_interfaces) {
  const support::TemporaryFolder folder;
  const std::string topology = folder.path() + "/t.json", script = folder.path() + "/all.py";
  std::string adapters, links = R"({"a": "server", "b": "s:1", "rate": "EDR"})";
  for (int i = 1; i <= 15; ++i) {
    adapters += i == 1 ? "{}" : ", {}";
    links += R"(, {"a": "server/mlx5_)" + std::to_string(i) + R"(", "b": "s:)" + std::to_string(i + 1) + R"(", "rate": "EDR"})";
  }
  std::ofstream(topology) << R"({"name": "t", "hosts": [{"name": "server", "further_adapters": [)" << adapters
                          << R"(]}], "switches": [{"name": "s", "ports": 16}], "links": [)" << links << "]}";
  std::ofstream(script) << "import ctypes\n"
                           "class Entry(ctypes.Structure): pass\n"
                           "Entry._fields_ = [('next', ctypes.POINTER(Entry)), ('name', ctypes.c_char_p)]\n"
                           "entry = ctypes.POINTER(Entry)()\n"
                           "print(ctypes.CDLL(None).getifaddrs(ctypes.byref(entry)))\n"
                           "names = []\n"
                           "while entry:\n"
                           "  names.append(entry.contents.name.decode())\n"
                           "  entry = entry.contents.next\n"
                           "print(len(names), len(set(names)), names[-1])\n";
  const RunReport run =
      support::run({.topology = topology, .commands = {"server=python3 " + support::quoted(script), "server=ip -oneline addr"}});
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_NE(run.out.find("51 17 ib15\n"), std::string::npos) << run.story();  // link and two addresses of each
  EXPECT_NE(run.out.find("inet 172.31.0.1/16 brd 172.31.255.255 scope global ib15"), std::string::npos) << run.story();
}

// The address in the destination's network is the source; a socket may bind to one address only; a host
// without an adapter in the network uses its first one, and its routes show that.
TEST(Network, sockets_know_further_addresses) {
  const support::TemporaryFolder folder;
  std::string text = R"({"name": "t", "link_layer": "roce",
      "hosts": [{"name": "server", "further_adapters": [{}]}, {"name": "client", "further_adapters": [{}]}, {"name": "third"}],
      "switches": [{"name": "s", "ports": 5}], "links": [)";
  int port = 0;
  for (const char* end : {"server", "client", "third", "server/mlx5_1", "client/mlx5_1"}) {
    text += std::string(port == 0 ? "" : ", ") + R"({"a": ")" + end + R"(", "b": "s:)";
    text += std::to_string(++port) + R"(", "rate": "EDR"})";
  }
  const std::string topology = folder.path() + "/t.json";
  std::ofstream(topology) << text << "]}";
  const std::string server = folder.path() + "/server.py", client = folder.path() + "/client.py";
  std::ofstream(server) << "import socket\n"
                           "first, second = (socket.create_server((socket.gethostbyname(name), 7)) for name in "
                           "('server', 'server-mlx5_1'))\n"
                           "for listener in (second, second, first):\n"
                           "  connection, peer = listener.accept()\n"
                           "  print(peer[0], connection.getsockname()[0])\n";
  std::ofstream(client) << "import socket, sys\n"
                           "for name in sys.argv[1:]:\n"
                           "  s = socket.create_connection((name, 7))\n"
                           "  print(s.getsockname()[0], s.getpeername()[0])\n";
  support::RunRequest request;
  request.topology = topology;
  request.commands = {"server=python3 " + support::quoted(server),
                      "client=python3 " + support::quoted(client) + " server-mlx5_1",
                      "third=python3 " + support::quoted(client) + " server-mlx5_1 server", "third=ip route"};
  const RunReport run = support::run(request);
  ASSERT_EQ(run.code, 0) << run.story();
  EXPECT_EQ(run.output("server"), "172.17.0.2 172.17.0.1\n10.0.0.3 172.17.0.1\n10.0.0.3 10.0.0.1\n");
  EXPECT_NE(run.out.find("172.17.0.2 172.17.0.1\n"), std::string::npos);
  EXPECT_NE(run.out.find("10.0.0.0/8 dev eth0 proto kernel scope link src 10.0.0.3 \n"), std::string::npos) << run.story();
  EXPECT_NE(run.out.find("172.17.0.0/16 dev eth0 proto kernel scope link src 10.0.0.3 \n"), std::string::npos) << run.story();
  request.options = {"--call-by-call"};
  EXPECT_EQ(support::run(request).digest(), run.digest());
}

TEST(Network, an_interpreter_repeats_itself_in_both_modes) {
  support::RunRequest request;
  request.commands = {"server=" + kEverything};
  const RunReport first = support::run(request);
  ASSERT_EQ(first.code, 0) << first.story();
  EXPECT_NE(first.output("server").find("\n500\n['pipe']\n['pipe', 'socket']\n"), std::string::npos)
      << first.story();
  EXPECT_NE(first.output("server").find("('fd00::a00:1', "), std::string::npos);
  EXPECT_NE(first.output("server").find("b'two\\nthree\\n'"), std::string::npos);
  EXPECT_TRUE(first.report["warnings"].empty()) << first.report["warnings"];
  for (int i = 0; i < 4; ++i) EXPECT_EQ(support::run(request).digest(), first.digest());
  request.options = {"--call-by-call"};
  EXPECT_EQ(support::run(request).digest(), first.digest());
}

}  // namespace
}  // namespace verbatim
