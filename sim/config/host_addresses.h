// Who has which IP address, as one host knows it, and the connections that its programs make by address.
#pragma once

#include <vector>

#include "sim/cm/rdma_cm.h"
#include "sim/config/spec.h"
#include "sim/ib/ip_network.h"

namespace verbatim::config {

class HostAddresses final : public cm::AddressBook {
 public:
  // `host`: whose book it is. `ports` are the adapters' addresses, in the order of the topology's. All outlive it.
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
  const std::vector<std::size_t> adapters_;  // the host's, as the topology numbers them
  const std::vector<ib::IpRoute> routes_;
};

// What librdmacm on one host leads to.
class HostConnections {
 public:
  // `source`: of its events. `sides`: of the host's adapters, in their order.
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
