#include "sim/supervisor/virtual_paths.h"

#include <fmt/format.h>

#include "sim/supervisor/internet.h"

namespace verbatim::supervisor {

namespace {

std::string dotted(std::uint32_t address) {
  return fmt::format("{}.{}.{}.{}", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
}

std::string hosts_file(const std::vector<HostSpec>& hosts) {
  // Names lead to IPv4, so that programs which take the first address they get meet; host.ip6 is the other
  // one.
  std::string text = "127.0.0.1\tlocalhost\n::1\tip6-localhost ip6-loopback\n";
  for (const HostSpec& host : hosts) text += dotted(host.address) + "\t" + host.name + "\n";
  for (const HostSpec& host : hosts) text += to_string(IpAddress::v6_of(host)) + "\t" + host.name + ".ip6\n";
  return text;
}

std::string processor(const HostSpec& host) {
  return fmt::format(
      "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\n"
      "model name\t: Verbatim virtual processor\nstepping\t: 0\ncpu MHz\t\t: {}.{:03}\ncache size\t: 32768 "
      "KB\n"
      "physical id\t: 0\nsiblings\t: 1\ncore id\t\t: 0\ncpu cores\t: 1\nfpu\t\t: yes\n"
      "flags\t\t: fpu tsc msr cx8 sse sse2 constant_tsc nonstop_tsc\nbogomips\t: {}.00\n\n",
      host.timestamp_counter_hz / 1'000'000, host.timestamp_counter_hz / 1'000 % 1'000,
      host.timestamp_counter_hz / 500'000);
}

// A version 4 UUID of 128 bits.
std::string uuid(std::uint64_t high, std::uint64_t low) {
  high = (high & ~0xf000ull) | 0x4000;
  low = (low & ~(3ull << 62)) | 1ull << 63;
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}\n", high >> 32, high >> 16 & 0xffff, high & 0xffff,
                     low >> 48, low & 0xffff'ffff'ffff);
}

std::optional<std::string> kernel_state(const std::string& path, const Process& process) {
  if (path == "/proc/loadavg") return "0.00 0.00 0.00 1/2 " + std::to_string(process.pid()) + "\n";
  if (path == "/proc/version") return "Linux version 6.1.0-verbatim #1 SMP PREEMPT_DYNAMIC\n";
  if (path == "/proc/stat") {
    return "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nintr 0\nctxt 0\nbtime 1699999000\nprocesses "
           "1\n"
           "procs_running 1\nprocs_blocked 0\n";
  }
  if (path == "/proc/sys/kernel/osrelease") return "6.1.0-verbatim\n";
  // One for each host, the same in every run.
  if (path == "/proc/sys/kernel/random/boot_id") {
    Rng stream(1, "boot_id/" + process.host().name);
    const std::uint64_t high = stream.next();
    return uuid(high, stream.next());
  }
  return std::nullopt;
}

std::optional<std::string> interface_state(const std::string& path, const HostSpec& host) {
  static constexpr std::string_view kFolder = "/sys/class/net/";
  if (!path.starts_with(kFolder)) return std::nullopt;
  const std::size_t end = path.find('/', kFolder.size());
  if (end == std::string::npos) return std::nullopt;
  const std::string name = path.substr(kFolder.size(), end - kFolder.size()), field = path.substr(end + 1);
  const bool loopback = name == "lo";
  if (!loopback && name != "eth0") return std::nullopt;
  const std::uint32_t a = host.address;
  if (field == "address") {
    if (loopback) return "00:00:00:00:00:00\n";
    return fmt::format("02:00:{:02x}:{:02x}:{:02x}:{:02x}\n", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255);
  }
  if (field == "mtu") return loopback ? "65536\n" : "1500\n";
  if (field == "ifindex") return loopback ? "1\n" : "2\n";
  if (field == "operstate") return "up\n";
  if (field == "type") return loopback ? "772\n" : "1\n";
  return std::nullopt;
}

}  // namespace

bool is_random_device(const std::string& path) { return path == "/dev/urandom" || path == "/dev/random"; }

std::optional<std::string> virtual_content(const std::string& path, const Process& process,
                                           const std::vector<HostSpec>& hosts) {
  if (path == "/etc/hosts") return hosts_file(hosts);
  if (path == "/etc/hostname") return process.host().name + "\n";
  if (path == "/etc/nsswitch.conf") {
    return "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\nnetworks: files\n";
  }
  if (path == "/etc/host.conf") return "multi on\n";
  if (path == "/etc/resolv.conf" || path == "/etc/gai.conf") return "";
  if (path == "/proc/cpuinfo") return processor(process.host());
  if (path == "/proc/sys/kernel/hostname") return process.host().name + "\n";
  if (path == "/sys/devices/system/cpu/online" || path == "/sys/devices/system/cpu/possible") return "0\n";
  if (auto state = kernel_state(path, process)) return state;
  return interface_state(path, process.host());
}

void fill_random(Rng& random, std::vector<std::byte>& bytes, std::size_t count) {
  while (count > 0) {
    std::uint64_t word = random.next();
    for (int i = 0; i < 8 && count > 0; ++i, --count, word >>= 8)
      bytes.push_back(static_cast<std::byte>(word & 255));
  }
}

IoResult RandomFile::read(std::size_t limit, std::vector<std::byte>& bytes) {
  fill_random(random_, bytes, limit);
  return static_cast<std::int64_t>(limit);
}

}  // namespace verbatim::supervisor
