// Interface of the adapter: commands and doorbells from programs on one side, packets on the other. The
// caller (supervisor, or a test) owns the programs; the adapter owns every verbs object, and reaches programs
// only by DMA and by the events that it raises.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/core/choice.h"
#include "sim/core/failing_calls.h"
#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "sim/fabric/packet_sink.h"
#include "sim/fabric/port.h"
#include "sim/hca/endpoint.h"
#include "sim/hca/hca_profile.h"
#include "sim/hca/neighbours.h"
#include "sim/hca/queue_counters.h"
#include "sim/host/dma_engine.h"
#include "sim/host/program_memory.h"
#include "sim/ib/key_violations.h"
#include "sim/ib/late_receive.h"
#include "sim/ib/management.h"
#include "sim/ib/partition.h"
#include "sim/ib/types.h"
#include "verbs_shim/protocol/commands.h"
#include "verbs_shim/protocol/region.h"
#include "verbs_shim/protocol/rings.h"

namespace verbatim::hca {

// Receiver of the notifications of an opened device. Each call is made at the virtual time at which the
// program could read the notification.
class EventListener {
 public:
  virtual ~EventListener() = default;
  virtual void on_completion_event(std::uint32_t channel, const protocol::CompletionEvent& event) = 0;
  virtual void on_async_event(std::uint32_t context, const protocol::AsyncEvent& event) = 0;
  // A queue has been destroyed: its unread events, which have this cookie, are void.
  virtual void on_queue_destroyed(std::uint64_t cookie) { static_cast<void>(cookie); }
  // An entry of a completion queue has been written.
  virtual void on_completion_written(std::uint32_t context, std::uint32_t cq_number) = 0;
  // A DMA access hit bytes that are no longer mapped; once per memory region.
  virtual void on_dma_fault(std::uint32_t context, std::uint64_t va, std::uint64_t length) = 0;
};

// One program's access to the adapter. `arena` (the process region's arena) outlives the opening; the program
// may write to it at any time. The adapter uses `memory` until keep_memory(), and `listener` until leave().
struct ProgramPort {
  std::uint32_t process = 0;  // virtual pid, for traces
  host::ProgramMemory* memory = nullptr;
  std::span<std::byte> arena;
  EventListener* listener = nullptr;
  // Offset of `arena` in the process region's arena, in which each adapter has a part. It is added to every
  // offset in an answer. Contexts of one process on one adapter share the part.
  std::uint64_t arena_offset = 0;
  // Owner of the arena's memory; null: the memory outlives the adapter.
  std::shared_ptr<const void> region;
};

// Logical states of a port (IBA 7.2.7), with the values of ibv_port_state.
enum class PortState : std::uint8_t { kDown = 1, kInit, kArmed, kActive };

inline constexpr std::uint8_t kDefaultSubnetTimeout = 18;  // OpenSM's

// Settings of a port by a subnet manager (IBA 14.2.5.6).
struct PortConfiguration {
  PortState state = PortState::kActive;
  ib::Lid lid, sm_lid;
  std::uint8_t lmc = 0, sm_service_level = 0, subnet_timeout = kDefaultSubnetTimeout;
  std::uint64_t subnet_prefix = 0xfe80'0000'0000'0000;
  std::vector<std::uint64_t> guids;  // by index of the GID table, 0: that entry is empty; the first is the adapter's own
  std::vector<std::uint16_t> pkeys;
  bool asks_for_registration = false;  // ClientReregister
};

struct PortAddress {
  ib::Lid lid;
  ib::Lid sm_lid;
  PortState state = PortState::kActive;  // while the link is up
  std::uint8_t lmc = 0, sm_service_level = 0, subnet_timeout = kDefaultSubnetTimeout;
  bool is_subnet_manager = false;  // IsSM as set by a program; a port with the LID `sm_lid` has it as well
  std::vector<ib::Gid> gids;  // by index; at least one. Zero: an empty entry, as are those beyond the vector
  std::vector<std::uint16_t> pkeys{ib::kDefaultPkey};  // by index; entries beyond the vector are empty
  std::uint64_t node_guid = 0;
  std::uint32_t active_width = 2;  // ibv_port_attr encoding: 1, 2, 4, 8, 16 are 1x, 4x, 8x, 12x, 2x
  std::uint32_t active_speed = 32;
  // An Ethernet port: no LIDs, every path is global and its frames are those of RoCEv2 (IBA annex A17).
  bool roce = false;
  // 0, an invalid P_Key, for an empty entry.
  std::uint16_t pkey(std::uint32_t index) const { return index < pkeys.size() ? pkeys[index] : 0; }
  ib::MacAddress mac;
  std::uint32_t interface_mtu = 0;  // MTU of an Ethernet port's network interface, bytes; 0: no limit
  std::uint32_t netdev_index = 0;  // index of the network interface that has an Ethernet port's addresses
  // Entries of the GID table that belong to a VLAN interface: packets with such an address have its tag, in
  // both directions.
  struct VlanEntry {
    std::size_t index = 0;          // in the GID table
    std::uint16_t vlan = 0;         // 1 to 4094
    std::uint32_t netdev_index = 0;
  };
  std::vector<VlanEntry> vlan_entries;
  // nullptr: the entry with this index is not a VLAN interface's.
  const VlanEntry* vlan_entry(std::size_t index) const;
  // The VLAN of the port's own address `gid`; 0: no VLAN, or not an address of the port.
  std::uint16_t vlan_of(const ib::Gid& gid) const;
  // ibv_mtu of the port; `max_mtu`: the adapter's largest one.
  std::uint32_t active_mtu(std::uint32_t max_mtu) const {
    return interface_mtu == 0 ? max_mtu : std::min(max_mtu, ib::mtu_within(interface_mtu));
  }
  // On Ethernet: the priority of packets, by service level and traffic class of their path.
  fabric::PriorityMap priorities;
  // Switches may choose a path for each packet of a WRITE; the adapter sorts arriving packets by PSN.
  bool accepts_any_path = false;
  // Whether a RoCE packet has the VLAN tag of its destination GID (0: no tag) or, for a group, that of any
  // VLAN of the port.
  bool has_vlan_of(const ib::Packet& packet) const;
  // Whether the packet's destination is this port's MAC address or LID.
  bool is_destination_of(const ib::Packet& packet) const {
    return roce ? packet.ethernet && packet.ethernet->destination == mac : packet.lrh.destination == lid;
  }
  const Neighbours* neighbours = nullptr;  // outlives the adapter
};

class Inspector;

class Hca final : public fabric::PacketSink, public Endpoint {
 public:
  Hca(Engine& engine, Tracer& tracer, Choices& choices, ComponentId id, std::string device_name,
      const HcaProfile& profile, const PortAddress& address);
  ~Hca() override;

  ComponentId component() const override;
  const std::string& device_name() const;
  const HcaProfile& profile() const override;
  const PortAddress& address() const override;
  const CongestionCounters& congestion_counters() const override;
  void set_injection(const ib::InjectionSetting& setting) override;
  // Congestion that injection rate control has logged; null: it was never set.
  ib::InjectionLog* injection_log();
  const QueueCounters& queue_counters() const;

  // The port that sends packets; set once, before the first event.
  void attach(fabric::Port& port);

  // The port for sending management datagrams, and the receiver of arriving ones; set once, before the first
  // datagram.
  ib::ManagementPort& management();
  void attach(ib::ManagementAgent& agent);

  // Counters of packets with wrong keys that arrived at the port, and the listener for each such packet.
  ib::KeyViolations& key_violations();
  void attach(ib::KeyViolationListener& listener);
  // Decides whether a connection's first receive was posted in time only by chance (ib/late_receive.h).
  // Outlives the adapter. Without a judge no receive is reported.
  void attach(ib::LateReceiveJudge& judge);

  // Takes the subnet manager's settings; programs get an asynchronous event for each change (IBA 11.6.3.3).
  void configure(const PortConfiguration& configuration);
  // Sets the capability IsSM of the port (IBA 14.2.5.6).
  void set_subnet_manager(bool is_one);

  // Device failure: programs get IBV_EVENT_DEVICE_FATAL (IBA 11.6.3.1) and lose every object; later commands
  // answer EIO, except those that close.
  void fail() override;
  bool has_failed() const;

  // `calls` selects verbs of programs on `host` that fail with ENOMEM; without it none does. Outlives the
  // adapter.
  void use_failing_calls(FailingCalls& calls, ComponentId host);

  // Opens the device for a program and returns the number of its context, never 0. Handles in commands are
  // valid within the opening.
  std::uint32_t open(const ProgramPort& program);
  // Adds a context to the opening of `context`, which has not been closed, and returns its number, never 0.
  // Handles are valid in all contexts of the opening; objects use the memory of the program that creates
  // them.
  std::uint32_t share(std::uint32_t context, const ProgramPort& program);
  // Ends the program's use of the context; its objects stay for the other contexts of the opening.
  void leave(std::uint32_t context);
  // The program is about to end, or has ended: copies the bytes of its registered regions, as pinned pages
  // keep them.
  void keep_memory(std::uint32_t context);
  // Ends an opening at once, as the kernel does when its last descriptor is closed: every object of all its
  // contexts is destroyed, packets in flight are dropped on arrival, and peers run into timeouts.
  void close(std::uint32_t context);

  // Executes one control-path command at the current time; `mailbox` starts with a CommandHeader and holds
  // header.size bytes. The answer is written in place. Unknown commands get EOPNOTSUPP, wrong sizes EINVAL.
  void execute(std::span<std::byte> mailbox);

  // The CPU's MMIO write leaves the processor now; no value in it is trusted. `call_time` is the duration of
  // the verbs call that rings the doorbell, for trails.
  void ring_doorbell(std::uint32_t context, protocol::DoorbellKind kind, std::uint32_t number,
                     std::uint64_t value, Duration call_time = Duration(0));

  SourceEnd add_source(WorkSource& source, std::uint32_t depth) override;
  void connect_source(std::uint32_t qpn, const SourcePath& path) override;
  void post_source(std::uint32_t qpn, std::uint32_t count) override;

  // The queues and regions of programs.
  const Inspector& inspector() const;
  // The region is about to be deregistered; `place` returns the source line of the call, for later diagnoses.
  void report_end_of_region(std::uint32_t context, std::uint32_t handle, std::function<std::string()> place);

  // Bytes of simulator memory of an idle queue pair, without its rings.
  static std::size_t queue_pair_bytes();

  // Time of the next scheduled event for a program, management datagram for a program, or write to a record
  // that programs read; kNever: none is scheduled. DMA is not included (visit_touches_before()). Any other
  // activity of the adapter needs at least one PCI Express latency before a program can notice it.
  // Completions that programs have polled ahead of the engine's time count from the time at which they became
  // visible.
  Instant next_effect() const;
  // Visits the DMA transfers under way that access program memory before `limit`, or whose access is unknown,
  // in no particular order. `bytes` is scratch space for the ranges.
  using TouchVisitor = std::function<void(Instant when, host::Touch touch, const std::vector<host::TouchedBytes>& bytes)>;
  void visit_touches_before(Instant limit, std::vector<host::TouchedBytes>& bytes, const TouchVisitor& visit) const;

  void receive(fabric::PortNumber in, ib::PacketPtr packet, fabric::ArrivalTimes times) override;
  // All contexts get an event (IBA 11.6.3.3, 11.6.3.4); queue pairs run into timeouts.
  void link_changed(fabric::PortNumber port, bool up) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace verbatim::hca
