// The adapter as its surroundings see it: commands and doorbells from programs on one side, packets on the
// other. Behind it: key table, queue pairs (requester and responder), completion queues, DMA. The
// caller (supervisor, or a test) owns programs and tells the adapter about them; the adapter owns every verbs
// object and reaches programs only by DMA and by the events it raises.
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
#include "sim/hca/inspection.h"
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

// Where an opened device's notifications go. Calls come at the virtual time at which the program could read
// them.
class EventListener {
 public:
  virtual ~EventListener() = default;
  virtual void on_completion_event(std::uint32_t channel, const protocol::CompletionEvent& event) = 0;
  virtual void on_async_event(std::uint32_t context, const protocol::AsyncEvent& event) = 0;
  // A queue is no more, and with it events of it that nobody has read: those that name this cookie.
  virtual void on_queue_destroyed(std::uint64_t cookie) { static_cast<void>(cookie); }
  // An entry of a completion queue has been written.
  virtual void on_completion_written(std::uint32_t context, std::uint32_t cq_number) = 0;
  // A DMA access hit bytes that are no longer mapped; once per memory region.
  virtual void on_dma_fault(std::uint32_t context, std::uint64_t va, std::uint64_t length) = 0;
};

// One program's side of the adapter. `arena` (the process region's arena) outlives the opening and may change under the
// adapter's feet at any time; the memory is used until keep_memory(), the listener until leave().
struct ProgramPort {
  std::uint32_t process = 0;  // virtual pid, for traces
  host::ProgramMemory* memory = nullptr;
  std::span<std::byte> arena;
  EventListener* listener = nullptr;
  // Where `arena` begins in the process region's arena: added to every offset in an answer, so that several
  // adapters may each have a part of it. Contexts of one process on one adapter share the part.
  std::uint64_t arena_offset = 0;
  // What the arena lies in, if somebody has to keep it.
  std::shared_ptr<const void> region;
};

// Logical states of a port (IBA 7.2.7), with the values of ibv_port_state.
enum class PortState : std::uint8_t { kDown = 1, kInit, kArmed, kActive };

inline constexpr std::uint8_t kDefaultSubnetTimeout = 18;  // OpenSM's

// What a subnet manager gives a port (IBA 14.2.5.6).
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
  bool is_subnet_manager = false;  // somebody here says so; who has the manager's LID is one, too
  std::vector<ib::Gid> gids;  // by index; at least one, and beyond them the table is empty, as it is where one is zero
  std::vector<std::uint16_t> pkeys{ib::kDefaultPkey};  // by index; beyond them the table is empty
  std::uint64_t node_guid = 0;
  std::uint32_t active_width = 2;  // ibv_port_attr encoding: 1, 2, 4, 8, 16 are 1x, 4x, 8x, 12x, 2x
  std::uint32_t active_speed = 32;
  // An Ethernet port: no LIDs, every path is global and its frames are those of RoCEv2 (IBA annex A17).
  bool roce = false;
  // 0, which is invalid, where the table is empty.
  std::uint16_t pkey(std::uint32_t index) const { return index < pkeys.size() ? pkeys[index] : 0; }
  ib::MacAddress mac;
  std::uint32_t interface_mtu = 0;  // of an Ethernet port's interface, bytes; 0: no shorter than any packet
  std::uint32_t netdev_index = 0;  // of the interface that an Ethernet port's addresses are those of
  // Of entries of the GID table that are a VLAN interface's: what leaves with one has its tag, and nothing else comes to it.
  struct VlanEntry {
    std::size_t index = 0;          // in the GID table
    std::uint16_t vlan = 0;         // 1 to 4094
    std::uint32_t netdev_index = 0;
  };
  std::vector<VlanEntry> vlan_entries;
  // nullptr: the entry with this index is not a VLAN interface's.
  const VlanEntry* vlan_entry(std::size_t index) const;
  // The VLAN of the port's own address `gid`; 0: none, also of an address that the port does not have.
  std::uint16_t vlan_of(const ib::Gid& gid) const;
  // ibv_mtu of a port whose adapter has packets of `max_mtu` at the most.
  std::uint32_t active_mtu(std::uint32_t max_mtu) const {
    return interface_mtu == 0 ? max_mtu : std::min(max_mtu, ib::mtu_within(interface_mtu));
  }
  // On Ethernet, what service level and traffic class of a path make its packets' priority.
  fabric::PriorityMap priorities;
  // Switches may give each packet of a WRITE a path of its own, and the adapter puts what comes into order.
  bool takes_any_way = false;
  // Whether the tag of a packet of RoCE, or that it has none, suits where it goes: one of the port's addresses, or a group.
  bool takes_tag_of(const ib::Packet& packet) const;
  // Whether a packet has this port's own address.
  bool is_destination_of(const ib::Packet& packet) const {
    return roce ? packet.ethernet && packet.ethernet->destination == mac : packet.lrh.destination == lid;
  }
  const Neighbours* neighbours = nullptr;  // outlives the adapter
};

class Hca final : public fabric::PacketSink, public Endpoint {
 public:
  Hca(Engine& engine, Tracer& tracer, Choices& choices, ComponentId id, std::string device_name,
      const HcaProfile& profile, const PortAddress& address, std::uint64_t root_seed);
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

  // The port packets leave by; set once, before the first event.
  void attach(fabric::Port& port);

  // Through which management datagrams are sent, and who gets those that come; set once, before the first of them.
  ib::ManagementPort& management();
  void attach(ib::ManagementAgent& agent);

  // Packets with wrong keys that have come to the port, and who is told of each from now on.
  ib::KeyViolations& key_violations();
  void attach(ib::KeyViolationListener& listener);
  // Is asked of first receives that were posted late. It outlives the adapter. Without it none is a mistake.
  void attach(ib::LateReceiveJudge& judge);

  // The subnet manager's settings: programs are told of what changes (IBA 11.6.3.3).
  void configure(const PortConfiguration& configuration);
  // What the port's capabilities tell of it (IBA 14.2.5.6, IsSM).
  void set_subnet_manager(bool is_one);

  // Programs get IBV_EVENT_DEVICE_FATAL (IBA 11.6.3.1) and lose every object; every command but closing answers EIO.
  void fail() override;
  bool has_failed() const;

  // Which verbs of programs on `host` find no memory; none without. It outlives the adapter.
  void use_failing_calls(FailingCalls& calls, ComponentId host);

  // Opens a context; handles in commands are valid within its opening. Never 0.
  std::uint32_t open(const ProgramPort& program);
  // Another context of the opening that `context` is of, which has not been closed: its handles are valid in both, and what a
  // program makes is of its own memory. Never 0.
  std::uint32_t share(std::uint32_t context, const ProgramPort& program);
  // The program of the context uses it no more; objects that it has made stay for the others of the opening.
  void leave(std::uint32_t context);
  // It is about to end, or has: the regions that it registered keep the bytes that they have now, as pinned pages do.
  void keep_memory(std::uint32_t context);
  // Ends an opening at once, as the kernel does when its last descriptor is closed: every object of all its contexts goes,
  // packets in flight are dropped on arrival, peers find out by timeout.
  void close(std::uint32_t context);

  // Executes one control-path command at the current time; `mailbox` starts with a CommandHeader and holds
  // header.size bytes. The answer is written in place. Unknown commands get EOPNOTSUPP, wrong sizes EINVAL.
  void execute(std::span<std::byte> mailbox);

  // The CPU's MMIO write leaves the processor now; nothing in it is trusted. The call that rings it has taken
  // so long, for those who want to know where the time of a message went.
  void ring_doorbell(std::uint32_t context, protocol::DoorbellKind kind, std::uint32_t number,
                     std::uint64_t value, Duration call_time = Duration(0));

  SourceEnd add_source(WorkSource& source, std::uint32_t depth) override;
  void connect_source(std::uint32_t qpn, const SourcePath& path) override;
  void post_source(std::uint32_t qpn, std::uint32_t count) override;

  // The number of the completion queue that the program knows by that handle, if nothing is in it that the program has not
  // taken; nullopt: something is, or there is no such queue of the program's own. Of a failed adapter all are empty.
  std::optional<std::uint32_t> empty_completion_queue(std::uint32_t context, std::uint32_t handle);

  // Whether the program of the context has registered a byte of that memory with it: the adapter may look there at any time.
  bool is_registered(std::uint32_t context, host::ProgramAddress start, std::uint64_t length);

  // How the queues that the program of the context has made stand.
  Inspection inspect(std::uint32_t context) const;
  // Likewise of one queue alone, that the program knows by that handle; nothing where there is none.
  Inspection inspect_one(std::uint32_t context, bool is_cq, std::uint32_t handle) const;
  // That thread of the program is about to sleep for an event of the channel, as long as it takes.
  SleptOn slept_on(std::uint32_t context, std::uint32_t channel, std::uint32_t thread) const;
  // Of queue pairs that can still use it: the region that the program knows by that handle.
  RegionUse use_of_region(std::uint32_t context, std::uint32_t handle) const;
  // Whether the queue pair with that number sends again for ever while the peer has no receive, or there is none such now.
  bool waits_for_ever(std::uint32_t qpn) const;
  // That region is about to be deregistered; `place` says where in the program that is, when somebody asks.
  void tell_end_of_region(std::uint32_t context, std::uint32_t handle, std::function<std::string()> place);

  // Memory an idle queue pair takes in the simulator, its rings aside.
  static std::size_t queue_pair_bytes();

  // When the next event for a program comes, or a record is written that a program looks at, of all that is under way; kNever:
  // none does. Other stages of the adapter, packets that come in and doorbells take one way of PCI Express at least until the CPU
  // or an access to host memory notices; what programs have taken from their queues since counts by its time (read_consumer()).
  Instant next_effect() const;
  // Transfers under way that touch memory of programs, or may do so in a way that is not known, before `limit`, in no certain
  // order; `bytes` is used for what they touch.
  using TouchVisitor = std::function<void(Instant when, host::Touch touch, const std::vector<host::TouchedBytes>& bytes)>;
  void visit_touches_before(Instant limit, std::vector<host::TouchedBytes>& bytes, const TouchVisitor& visit) const;

  void receive(fabric::PortNumber in, ib::PacketPtr packet, fabric::ArrivalTimes times) override;
  // Everyone who has opened the adapter is told (IBA 11.6.3.3, 11.6.3.4); queue pairs find out by themselves.
  void link_changed(fabric::PortNumber port, bool up) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace verbatim::hca
