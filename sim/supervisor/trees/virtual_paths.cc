#include "sim/supervisor/trees/virtual_paths.h"

#include <fmt/format.h>

#include "sim/supervisor/net/interfaces.h"

namespace verbatim::supervisor {

namespace {

std::string processor(const HostSpec& host) {
  return fmt::format(
      "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\n"
      "model name\t: Verbatim virtual processor\nstepping\t: 0\ncpu MHz\t\t: {}.{:03}\ncache size\t: 32768 "
      "KB\n"
      "physical id\t: 0\nsiblings\t: 1\ncore id\t\t: 0\ncpu cores\t: 1\nfpu\t\t: yes\n"
      "flags\t\t: {}\nbogomips\t: {}.00\nclflush size\t: 64\ncache_alignment\t: 64\n"
      "address sizes\t: 46 bits physical, 48 bits virtual\n\n",
      host.timestamp_counter_hz / 1'000'000, host.timestamp_counter_hz / 1'000 % 1'000,
      code::flags_line(host.instruction_set), host.timestamp_counter_hz / 500'000);
}

// A version 4 UUID from 128 random bits.
std::string uuid(std::uint64_t high, std::uint64_t low) {
  high = (high & ~0xf000ull) | 0x4000;
  low = (low & ~(3ull << 62)) | 1ull << 63;
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}\n", high >> 32, high >> 16 & 0xffff, high & 0xffff,
                     low >> 48, low & 0xffff'ffff'ffff);
}

// One for each host, equal in all runs.
std::string machine_id(const HostSpec& host) {
  Rng stream(1, "machine_id/" + host.name);
  const std::uint64_t high = stream.next();
  std::string id;
  for (const char c : uuid(high, stream.next())) {
    if (c != '-') id += c;
  }
  return id;
}

// tzfile(5) for UTC: no transitions, one local time type.
std::string universal_time() {
  std::string block = "TZif2";
  block.append(15, '\0');
  for (const char count : {0, 0, 0, 0, 1, 4}) block += {'\0', '\0', '\0', count};
  block.append(6, '\0');
  block.append("UTC\0", 4);
  return block + block + "\nUTC0\n";
}

std::optional<std::string> kernel_state(const std::string& path, const HostSpec& host) {
  if (path == "/proc/version") return "Linux version 6.1.0-verbatim #1 SMP PREEMPT_DYNAMIC\n";
  if (path == "/proc/sys/kernel/osrelease") return "6.1.0-verbatim\n";
  // One for each host, equal in all runs.
  if (path == "/proc/sys/kernel/random/boot_id") {
    Rng stream(1, "boot_id/" + host.name);
    const std::uint64_t high = stream.next();
    return uuid(high, stream.next());
  }
  return std::nullopt;
}

}  // namespace

bool is_random_device(const std::string& path) { return path == "/dev/urandom" || path == "/dev/random"; }

std::string hosts_file(const std::vector<HostSpec>& hosts) {
  // A host's name leads to its IPv4 address, for programs that use the first address found; host.ip6 is the
  // IPv6 address. A further adapter is named after host and device: server-mlx5_1.
  std::string text = "127.0.0.1\tlocalhost\n::1\tip6-localhost ip6-loopback\n";
  const auto add = [&](bool is_first, bool is_v4) {
    for (const HostSpec& host : hosts) {
      const std::vector<Interface> interfaces = interfaces_of(host);
      for (const Interface& one : interfaces) {
        if (one.is_loopback() || (one.index == kEthernetIndex) != is_first) continue;
        const std::string& device = one.device ? host.devices[*one.device]->device_name() : one.name;
        const std::string name = is_first ? host.name : host.name + "-" + device;
        text += fmt::format("{}\t{}{}\n", to_string(is_v4 ? one.v4 : one.v6), name, is_v4 ? "" : ".ip6");
      }
    }
  };
  for (const bool is_v4 : {true, false}) {
    add(true, is_v4);
    add(false, is_v4);
  }
  return text;
}

std::optional<std::string> virtual_content(const std::string& path, const HostSpec& host) {
  if (path == "/etc/hostname") return host.name + "\n";
  if (path == "/etc/nsswitch.conf") {
    return "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\nnetworks: files\n";
  }
  if (path == "/etc/host.conf") return "multi on\n";
  if (path == "/etc/resolv.conf" || path == "/etc/gai.conf") return "";
  if (path == "/etc/machine-id") return machine_id(host);
  if (path == "/etc/localtime") return universal_time();
  if (path == "/proc/cpuinfo") return processor(host);
  if (path == "/proc/sys/kernel/hostname") return host.name + "\n";
  return kernel_state(path, host);
}

std::string random_uuid(Rng& random) {
  const std::uint64_t high = random.next();
  return uuid(high, random.next());
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
