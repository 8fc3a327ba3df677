// The IP addresses that one host knows, and the connections that its programs make by address.
#pragma once

#include <vector>

#include "sim/cm/rdma_cm.h"
#include "sim/config/spec.h"
#include "sim/ib/ip_network.h"

namespace verbatim::config {

class HostAddresses final : public cm::AddressBook {
 public:
  // The address book of `host`. `ports` are the addresses of all adapters, in the topology's order. All must
  // outlive it.
  HostAddresses(const TopologySpec& topology, std::size_t host, const std::vector<cm::PortFacts>& ports);

  std::optional<Station> find(const cm::Address& address) const override;
  bool reaches(const cm::Address& address) const override;
  Duration round_trip() const override { return 2 * topology_.management_network.latency; }
  std::size_t adapter_for(const cm::Address& destination) const override;
  cm::Address own_for(const cm::Address& destination, std::size_t adapter) const override;

 private:
  bool has_ip(std::size_t adapter, const ib::Gid& ip) const;

  const TopologySpec& topology_;
  const std::size_t host_;
  const std::vector<cm::PortFacts>& ports_;
  const std::vector<std::size_t> adapters_;  // of the host, as indices into the topology's adapters
  const std::vector<ib::IpRoute> routes_;
};

// The connection manager of a host, as librdmacm uses it.
class HostConnections {
 public:
  // `source` is the component of its events; `sides` are the host's adapters, in order.
  HostConnections(Engine& engine, ComponentId source, HostAddresses addresses, const std::vector<cm::AdapterSide>& sides)
      : addresses_(std::move(addresses)), rdma_cm_(engine, source, addresses_, sides) {}
  HostConnections(const HostConnections&) = delete;
  HostConnections& operator=(const HostConnections&) = delete;

  cm::RdmaCm& rdma_cm() { return rdma_cm_; }

 private:
  HostAddresses addresses_;
  cm::RdmaCm rdma_cm_;
};

}  // namespace verbatim::config
