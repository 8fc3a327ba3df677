// Simulated files whose real content would depend on the machine: name resolution, the processor, random
// devices. The trees (host_tree.h, process_tree.h) contain them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/core/rng.h"
#include "sim/supervisor/tasks/process.h"
#include "sim/supervisor/files/virtual_file.h"

namespace verbatim::supervisor {

// Content of `path` on `host`; nullopt: another path, or /etc/hosts.
std::optional<std::string> virtual_content(const std::string& path, const HostSpec& host);

// Content of /etc/hosts, equal on all hosts.
std::string hosts_file(const std::vector<HostSpec>& hosts);

bool is_random_device(const std::string& path);

// /dev/random and /dev/urandom: bytes of the process's random stream.
class RandomFile final : public VirtualFile {
 public:
  explicit RandomFile(Rng& random) : random_(random) {}
  std::uint32_t readiness() const override { return POLLIN | POLLOUT; }
  std::string describe() const override { return "random device"; }
  IoResult read(std::size_t limit, std::vector<std::byte>& bytes) override;
  IoResult write(std::span<const std::byte> bytes) override { return static_cast<std::int64_t>(bytes.size()); }

 private:
  Rng& random_;
};

// A random version 4 UUID and a newline.
std::string random_uuid(Rng& random);
// Appends `count` random bytes.
void fill_random(Rng& random, std::vector<std::byte>& bytes, std::size_t count);

}  // namespace verbatim::supervisor
