// Files that differ from host to host or from machine to machine, and so are made up: name resolution, the
// processor, random devices. They are found through their trees (host_tree.h, process_tree.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/core/rng.h"
#include "sim/supervisor/tasks/process.h"
#include "sim/supervisor/files/virtual_file.h"

namespace verbatim::supervisor {

// What a read of `path` on `host` gives; nullopt: the path is not virtual, or is /etc/hosts.
std::optional<std::string> virtual_content(const std::string& path, const HostSpec& host);

// The content of /etc/hosts, which is the same on every host.
std::string hosts_file(const std::vector<HostSpec>& hosts);

bool is_random_device(const std::string& path);

// /dev/random and /dev/urandom: bytes of the process's own stream.
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

// A new version 4 UUID and a newline.
std::string random_uuid(Rng& random);
void fill_random(Rng& random, std::vector<std::byte>& bytes, std::size_t count);

}  // namespace verbatim::supervisor
