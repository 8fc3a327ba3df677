// /dev/infiniband/umadN: management datagrams as libibumad writes and reads them (rdma/ib_user_mad.h); each
// opening has its own agents. /dev/infiniband/issmN: while it is open, the port's IsSM bit
// (PortInfo:CapabilityMask) is set.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/management/mad_agents.h"
#include "sim/supervisor/files/virtual_file.h"

namespace verbatim::supervisor {

class Process;

class UmadFile final : public VirtualFile, public management::MadClient, public management::PortWatcher {
 public:
  // `port` outlives the file.
  explicit UmadFile(management::PortManagement& port) : port_(port) { port_.add_watcher(*this); }
  ~UmadFile() override { port_.remove_watcher(*this); }

  // As in Linux, a datagram can always be written.
  std::uint32_t readiness() const override;
  std::string describe() const override { return "management datagrams (umad)"; }
  bool reaches_beyond_host() const override { return true; }

  // Reads one message with its header. A message that does not fit stays; the header holds its length
  // (ENOSPC).
  IoResult read(std::size_t limit, std::vector<std::byte>& bytes) override;
  IoResult write(std::span<const std::byte> bytes) override;
  std::int64_t control_io(Process& process, std::uint64_t request, std::uint64_t address,
                          Instant now) override;

  void on_message(std::uint32_t agent, const ib::ManagementDatagram& datagram, management::MadBytes message) override;
  void on_unanswered(std::uint32_t agent, const ib::ManagementDatagram& datagram) override;
  void on_port_failed() override { notify(); }

 protected:
  void on_last_close() override;
  bool ends_waits_at_close() const override { return false; }
  bool reports_adapter_events() const override { return true; }

 private:
  static constexpr std::size_t kAgents = 32;
  struct Received {
    std::uint32_t id = 0;      // of the agent, in this opening
    std::uint32_t status = 0;  // ETIMEDOUT: no response
    ib::ManagementDatagram datagram;
    management::MadBytes message;
  };

  std::int64_t add_agent(const management::MadRegistration& registration);
  std::int64_t register_agent(Process& process, std::uint64_t address);
  std::int64_t register_agent2(Process& process, std::uint64_t address);
  std::int64_t remove_agent(Process& process, std::uint64_t address);
  std::optional<std::uint32_t> slot_of(std::uint32_t agent) const;
  // Size of the header, with or without a P_Key index.
  std::size_t header_bytes() const;
  void push(Received received);

  management::PortManagement& port_;
  std::array<std::uint32_t, kAgents> agents_{};  // numbers at the port, 0: free
  bool has_pkey_index_ = false;
  bool has_registered_ = false;
  std::deque<Received> received_;
};

// There may be several openings; the end of any of them clears the bit.
class IssmFile final : public VirtualFile {
 public:
  explicit IssmFile(management::PortManagement& port) : port_(port) { port_.set_subnet_manager(true); }

  std::uint32_t readiness() const override { return POLLIN | POLLOUT; }
  std::string describe() const override { return "subnet manager's mark (issm)"; }
  bool reaches_beyond_host() const override { return true; }

 protected:
  void on_last_close() override { port_.set_subnet_manager(false); }

 private:
  management::PortManagement& port_;
};

// `ports`: those of the host's devices. nullptr: the path names no umad or issm device of them.
VirtualFilePtr open_port_management(std::string_view path, const std::vector<management::PortManagement*>& ports);

}  // namespace verbatim::supervisor
