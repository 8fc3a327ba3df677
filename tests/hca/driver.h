// Plays the shim's part for adapters of the model: creates objects by commands, writes work requests into
// rings, rings doorbells and reads completions, like the program of a simulated host, but without
// processes.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/choice.h"
#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "sim/fabric/port.h"
#include "sim/fabric/switch.h"
#include "sim/hca/hca.h"
#include "sim/host/buffer_memory.h"
#include "sim/ib/types.h"
#include "tests/hca/filter.h"
#include "tests/hca/observers.h"

namespace verbatim::test {

using protocol::WqeOpcode;

inline hca::HcaProfile test_profile() {
  hca::HcaProfile profile;
  profile.name = "test";
  profile.doorbell = {4, 1};
  profile.wqe_decode = {10, 2};
  profile.packetize = {8, 2};
  profile.receive_check = {12, 2};
  profile.acknowledge = {6, 1};
  profile.completion = {5, 2};
  return profile;
}

// EDR 4x, a cable of two metres.
inline fabric::LinkParams test_link() {
  fabric::LinkParams link;
  link.byte_time = ByteTime{80, 1};
  link.propagation = Duration{9'200};
  return link;
}

struct WorldOptions {
  hca::HcaProfile profile = test_profile();
  std::optional<hca::HcaProfile> server_profile;  // empty: as the client
  fabric::LinkParams link = test_link();
  bool with_switch = false;
  bool record = true;
  bool connected = true;
  Choices* choices = nullptr;  // null: the defaults
  bool roce = false;  // the GID of LID n ends with n, and so does its MAC address
  std::uint16_t vlan = 0;  // on Ethernet, for all addresses; 0: none
  std::uint32_t interface_mtu = 0;  // 0: larger than any packet
  std::vector<std::vector<std::uint16_t>> pkeys;  // of client and server; empty: the default partition
};

struct PathOptions {
  std::uint32_t mtu = 5;
  std::uint8_t timeout = 14, retry_cnt = 7, rnr_retry = 7, min_rnr_timer = 12;
  std::uint32_t access = ib::kRemoteWrite | ib::kRemoteRead | ib::kRemoteAtomic;
  std::uint32_t sq_psn = 1000, rq_psn = 1000;
  std::uint8_t max_rd_atomic = 16, max_dest_rd_atomic = 16;
  std::uint32_t qkey = 0x11111111;
  std::uint16_t pkey_index = 0;
  bool is_global = false;
  std::uint8_t service_level = 0, traffic_class = 0;
};

struct PairOptions {
  WorldOptions world;
  PathOptions path;
  std::uint64_t buffer_bytes = 1 << 20;
  std::uint64_t arena_bytes = 4 << 20;
  std::uint32_t cqe = 256;
  bool with_channel = false;
  protocol::QpCapabilities capabilities{64, 64, 4, 4, 64};
  ib::QpType type = ib::QpType::kRc;
};

// Two adapters ("client" LID 1, "server" LID 2), joined by a cable or by a switch.
struct World {
  explicit World(const WorldOptions& options = {}) : options(options), components(component_names()) {
    if (options.record) tracer.add(trace);
    tracer.add(diagnoses);
    client = make("client", 1);
    server = make("server", 2);
    const fabric::PortNumber one{1};
    client_port = std::make_unique<fabric::Port>(engine, tracer, components.id("client/p1"), one,
                                                 port_params(client->profile()), to_client);
    server_port = std::make_unique<fabric::Port>(engine, tracer, components.id("server/p1"), one,
                                                 port_params(server->profile()), to_server);
    to_client.hca = client.get();
    to_client.port = client_port.get();
    to_server.hca = server.get();
    to_server.port = server_port.get();
    client->attach(*client_port);
    server->attach(*server_port);
    if (!options.connected) return;
    if (options.with_switch) {
      fabric::SwitchProfile profile;
      fabric_switch = std::make_unique<fabric::Switch>(
          engine, tracer, components.id("switch"), profile,
          std::vector{components.id("switch/p1"), components.id("switch/p2")});
      connect(*client_port, fabric_switch->port(fabric::PortNumber{1}), options.link);
      connect(*server_port, fabric_switch->port(fabric::PortNumber{2}), options.link);
      fabric_switch->set_forwarding_table(
          {fabric::Switch::kNoRoute, fabric::PortNumber{1}, fabric::PortNumber{2}});
      fabric_switch->set_multicast_ports({fabric::PortNumber{1}, fabric::PortNumber{2}});
    } else {
      connect(*client_port, *server_port, options.link);
    }
  }

  static fabric::PortParams port_params(const hca::HcaProfile& profile) {
    fabric::PortParams params;
    params.input_buffer_bytes = profile.receive_buffer_bytes;
    params.virtual_lanes = profile.virtual_lanes;
    params.sl_to_vl = profile.sl_to_vl;
    return params;
  }
  static std::vector<std::string> component_names() {
    return {"client/hca", "client/p1", "server/hca", "server/p1", "switch", "switch/p1", "switch/p2"};
  }

  std::unique_ptr<hca::Hca> make(const std::string& name, std::uint16_t lid) {
    hca::PortAddress address;
    address.lid = ib::Lid{lid};
    address.sm_lid = ib::Lid{1};
    address.gids.emplace_back().raw[15] = static_cast<std::uint8_t>(lid);
    address.node_guid = lid;
    if (!options.pkeys.empty()) address.pkeys = options.pkeys[lid - 1];
    if (options.roce) {
      address.roce = true;
      address.mac = ib::MacAddress{lid};
      address.neighbours = &neighbours;
      address.priorities = fabric::PriorityMap(options.profile.trust, options.profile.dscp_to_priority);
      address.interface_mtu = options.interface_mtu;
      if (options.vlan != 0) address.vlan_entries = {{0, options.vlan, 0}};
    }
    Choices& chosen = options.choices != nullptr ? *options.choices : choices;
    const bool is_client = lid == 1 || !options.server_profile;
    return std::make_unique<hca::Hca>(engine, tracer, chosen, components.id(name + "/hca"), "mlx5_0",
                                      is_client ? options.profile : *options.server_profile, address);
  }

  std::int64_t now_ps() const { return to_ps(engine.now()); }
  void run() {
    engine.run();
    tracer.finish();
  }
  void run_for(Duration duration) { engine.run_until(engine.now() + duration); }

  static hca::Neighbours two_neighbours() {
    ib::Gid one, two;
    one.raw[15] = 1;
    two.raw[15] = 2;
    return hca::Neighbours({{one, ib::MacAddress{1}}, {two, ib::MacAddress{2}}});
  }

  const WorldOptions options;
  const hca::Neighbours neighbours = two_neighbours();
  Engine engine;
  Tracer tracer{engine};
  DefaultChoices choices;
  ComponentTable components;
  Recorder trace;
  DiagnosisList diagnoses;
  Filter to_client, to_server;
  std::unique_ptr<hca::Hca> client, server;
  std::unique_ptr<fabric::Port> client_port, server_port;
  std::unique_ptr<fabric::Switch> fabric_switch;
};

struct Cq {
  std::uint32_t handle = 0, number = 0, entries = 0;
  std::uint64_t ring = 0, record = 0;
  std::uint32_t consumer = 0;
};

struct Qp {
  protocol::CreateQp made{};
  std::uint32_t send_producer = 0, recv_producer = 0;
};

struct Srq {
  protocol::CreateSrq made{};
  std::uint32_t producer = 0;
};

struct Mr {
  std::uint32_t handle = 0, lkey = 0, rkey = 0;
};

struct SendRequest {
  std::uint64_t wr_id = 0;
  WqeOpcode opcode = WqeOpcode::kSend;
  std::uint8_t flags = protocol::kWqeSignaled;
  std::vector<protocol::Sge> sges;
  std::vector<std::byte> inline_data;
  std::uint32_t immediate = 0;
  std::uint64_t remote_va = 0;
  std::uint32_t rkey = 0;
  std::uint64_t compare_add = 0;
  std::uint64_t swap = 0;
  // For datagrams.
  std::uint32_t address_handle = 0, remote_qpn = 0, remote_qkey = 0;
  std::uint32_t remote_srqn = 0;  // XRC
};

// A simulated program with one context on one adapter.
class Program final : public hca::EventListener {
 public:
  static constexpr std::uint64_t kBuffer = 0x10000;  // address of every program's buffer

  Program(World& world, hca::Hca& hca, std::uint64_t buffer_bytes = 1 << 20,
          std::uint64_t arena_bytes = 4 << 20, std::uint32_t process = 100)
      : world_(world), hca_(hca), arena_(arena_bytes / sizeof(Line)) {
    memory.map(kBuffer, buffer_bytes);
    context = hca.open({process, &memory, arena(), this});
    protocol::AllocPd alloc{};
    if (command(alloc) == 0) pd = alloc.handle;
  }

  // A program that has imported the context and the protection domain of `exporter`.
  Program(const Program& exporter, std::uint32_t process, std::uint64_t buffer_bytes = 1 << 20,
          std::uint64_t arena_bytes = 4 << 20)
      : pd(exporter.pd), world_(exporter.world_), hca_(exporter.hca_), arena_(arena_bytes / sizeof(Line)) {
    memory.map(kBuffer, buffer_bytes);
    context = hca_.share(exporter.context, {process, &memory, arena(), this});
  }

  template <class Command>
  int command(Command& command, protocol::CommandType type = Command::kType) {
    command.header = {type, sizeof(Command), -1, context};
    hca_.execute(std::as_writable_bytes(std::span(&command, 1)));
    return command.header.status;
  }
  int destroy(protocol::CommandType type, std::uint32_t handle) {
    protocol::DestroyObject object{};
    object.handle = handle;
    const int status = command(object, type);
    last_destroyed = object;
    return status;
  }

  Mr reg_mr(std::uint64_t start, std::uint64_t length, std::uint32_t access, int* status = nullptr) {
    protocol::RegMr reg{};
    reg.start = reg.iova = start;
    reg.length = length;
    reg.pd = pd;
    reg.access = access;
    const int result = command(reg);
    if (status != nullptr) *status = result;
    return {reg.handle, reg.lkey, reg.rkey};
  }

  Cq create_cq(std::uint32_t cqe, bool with_channel = false) {
    protocol::CreateCq create{};
    create.cookie = 0xc0 + cqe;
    create.cqe = cqe;
    create.channel_fd = with_channel ? 5 : -1;
    create.channel = 7;
    if (command(create) != 0) return {};
    return {create.handle, create.number, create.ring_entries, create.ring_offset, create.record_offset, 0};
  }

  int try_create_qp(Qp& qp, const Cq& send, const Cq& recv, protocol::QpCapabilities capabilities,
                    ib::QpType type = ib::QpType::kRc) {
    qp.made.cookie = 0x9000;
    qp.made.pd = pd;
    qp.made.send_cq = send.handle;
    qp.made.recv_cq = recv.handle;
    qp.made.type = static_cast<std::uint32_t>(type);
    qp.made.capabilities = capabilities;
    return command(qp.made);
  }
  Qp create_qp(const Cq& send, const Cq& recv, protocol::QpCapabilities capabilities = {64, 64, 4, 4, 64},
               ib::QpType type = ib::QpType::kRc, std::uint32_t srq = 0) {
    Qp qp;
    qp.made.srq = srq;
    if (try_create_qp(qp, send, recv, capabilities, type) != 0) qp.made.number = 0;
    return qp;
  }
  std::uint32_t open_xrcd(std::uint64_t inode, int* status = nullptr, std::uint32_t flags = 0100) {
    protocol::OpenXrcd open{};
    open.inode = inode;
    open.flags = flags;
    const int result = command(open);
    if (status != nullptr) *status = result;
    return open.handle;
  }
  // In an XRC domain if one is given.
  Srq create_srq(std::uint32_t max_wr, std::uint32_t max_sge = 4, std::uint32_t xrcd = 0,
                 std::uint32_t cq = 0) {
    Srq srq;
    srq.made.srq_type = xrcd != 0 ? 1 : 0;
    srq.made.xrcd = xrcd;
    srq.made.cq = cq;
    srq.made.cookie = 0x5000;
    srq.made.pd = pd;
    srq.made.max_wr = max_wr;
    srq.made.max_sge = max_sge;
    if (command(srq.made) != 0) srq.made.handle = 0;
    return srq;
  }
  // With tag matching.
  Srq create_tag_srq(std::uint32_t max_wr, const Cq& cq, std::uint32_t max_num_tags, std::uint32_t max_ops) {
    Srq srq;
    srq.made.srq_type = 2;
    srq.made.cq = cq.handle;
    srq.made.cookie = 0x5000;
    srq.made.pd = pd;
    srq.made.max_wr = max_wr;
    srq.made.max_sge = 1;
    srq.made.max_num_tags = max_num_tags;
    srq.made.max_ops = max_ops;
    if (command(srq.made) != 0) srq.made.handle = 0;
    return srq;
  }
  int set_srq_limit(const Srq& srq, std::uint32_t limit) {
    protocol::SrqAttributes attributes{};
    attributes.handle = srq.made.handle;
    attributes.mask = 2;  // IBV_SRQ_LIMIT
    attributes.srq_limit = limit;
    return command(attributes, protocol::CommandType::kModifySrq);
  }
  protocol::SrqAttributes query(const Srq& srq) {
    protocol::SrqAttributes attributes{};
    attributes.handle = srq.made.handle;
    command(attributes, protocol::CommandType::kQuerySrq);
    return attributes;
  }
  void post_recv(Srq& srq, std::uint64_t wr_id, const std::vector<protocol::Sge>& sges) {
    write_recv(at(srq.made.recv_offset) +
                   std::size_t{srq.producer & (srq.made.recv_entries - 1)} * srq.made.recv_stride,
               wr_id, sges);
    ++srq.producer;
    reinterpret_cast<protocol::SharedReceiveQueueRecord*>(at(srq.made.record_offset))
        ->producer.store(srq.producer);
  }
  std::uint32_t create_ah(std::uint16_t lid, bool is_global = false, std::uint8_t service_level = 0) {
    protocol::CreateAh create{};
    create.pd = pd;
    create.address.dlid = lid;
    create.address.port = 1;
    create.address.service_level = service_level;
    create.address.is_global = is_global ? 1 : 0;
    create.address.dgid[15] = static_cast<std::uint8_t>(lid);
    create.address.hop_limit = 7;
    create.address.traffic_class = 0x12;
    create.address.flow_label = 0x34567;
    return command(create) == 0 ? create.handle : 0;
  }

  int modify(const Qp& qp, std::uint32_t mask, const protocol::QpAttributes& attributes) {
    protocol::ModifyQp modify{};
    modify.handle = qp.made.handle;
    modify.mask = mask;
    modify.attributes = attributes;
    return command(modify);
  }
  int to_state(const Qp& qp, ib::QpState state) {
    protocol::QpAttributes attributes{};
    attributes.qp_state = static_cast<std::uint32_t>(state);
    return modify(qp, ib::kQpState, attributes);
  }
  int to_init(const Qp& qp, const PathOptions& path) {
    protocol::QpAttributes attributes{};
    attributes.qp_state = static_cast<std::uint32_t>(ib::QpState::kInit);
    attributes.port_num = 1;
    attributes.qp_access_flags = path.access;
    attributes.qkey = path.qkey;
    attributes.pkey_index = path.pkey_index;
    if (is_datagram(qp)) {
      return modify(qp, ib::kQpState | ib::kQpPkeyIndex | ib::kQpPort | ib::kQpQkey, attributes);
    }
    return modify(qp, ib::kQpState | ib::kQpPkeyIndex | ib::kQpPort | ib::kQpAccessFlags, attributes);
  }
  int to_rtr(const Qp& qp, std::uint16_t peer_lid, std::uint32_t peer_qpn, const PathOptions& path) {
    protocol::QpAttributes attributes{};
    attributes.qp_state = static_cast<std::uint32_t>(ib::QpState::kRtr);
    attributes.path.dlid = peer_lid;
    attributes.path.port = 1;
    attributes.path.service_level = path.service_level;
    attributes.path.traffic_class = path.traffic_class;
    attributes.path.is_global = path.is_global ? 1 : 0;
    if (path.is_global) attributes.path.dgid[15] = static_cast<std::uint8_t>(peer_lid);
    attributes.path_mtu = path.mtu;
    attributes.dest_qp_num = peer_qpn;
    attributes.rq_psn = path.rq_psn;
    attributes.max_dest_rd_atomic = path.max_dest_rd_atomic;
    attributes.min_rnr_timer = path.min_rnr_timer;
    if (is_datagram(qp)) return modify(qp, ib::kQpState, attributes);
    if (!is_reliable(qp)) {
      return modify(qp, ib::kQpState | ib::kQpAv | ib::kQpPathMtu | ib::kQpDestQpn | ib::kQpRqPsn,
                    attributes);
    }
    return modify(qp,
                  ib::kQpState | ib::kQpAv | ib::kQpPathMtu | ib::kQpDestQpn | ib::kQpRqPsn |
                      ib::kQpMaxDestRdAtomic | ib::kQpMinRnrTimer,
                  attributes);
  }
  int to_rts(const Qp& qp, const PathOptions& path) {
    protocol::QpAttributes attributes{};
    attributes.qp_state = static_cast<std::uint32_t>(ib::QpState::kRts);
    attributes.sq_psn = path.sq_psn;
    attributes.timeout = path.timeout;
    attributes.retry_cnt = path.retry_cnt;
    attributes.rnr_retry = path.rnr_retry;
    attributes.max_rd_atomic = path.max_rd_atomic;
    if (!is_reliable(qp)) return modify(qp, ib::kQpState | ib::kQpSqPsn, attributes);
    return modify(qp,
                  ib::kQpState | ib::kQpSqPsn | ib::kQpTimeout | ib::kQpRetryCount | ib::kQpRnrRetry |
                      ib::kQpMaxRdAtomic,
                  attributes);
  }
  static bool is_datagram(const Qp& qp) { return static_cast<ib::QpType>(qp.made.type) == ib::QpType::kUd; }
  static bool is_reliable(const Qp& qp) {
    return !is_datagram(qp) && static_cast<ib::QpType>(qp.made.type) != ib::QpType::kUc;
  }
  protocol::QueryQp query(const Qp& qp) {
    protocol::QueryQp query{};
    query.handle = qp.made.handle;
    command(query);
    return query;
  }
  ib::QpState state(const Qp& qp) { return static_cast<ib::QpState>(query(qp).attributes.qp_state); }

  // Writes one request into the send ring without ringing the doorbell.
  void write_send(Qp& qp, const SendRequest& request) {
    std::byte* entry = at(qp.made.send_offset) +
                       std::size_t{qp.send_producer & (qp.made.send_entries - 1)} * qp.made.send_stride;
    protocol::SendWqe wqe{};
    wqe.wr_id = request.wr_id;
    wqe.opcode = request.opcode;
    wqe.flags = request.flags;
    wqe.immediate = request.immediate;
    wqe.remote_va = request.remote_va;
    wqe.rkey = request.rkey;
    wqe.compare_add = request.compare_add;
    wqe.swap = request.swap;
    wqe.address_handle = request.address_handle;
    wqe.remote_qpn = request.remote_qpn;
    wqe.remote_qkey = request.remote_qkey;
    wqe.remote_srqn = request.remote_srqn;
    wqe.sge_count = static_cast<std::uint8_t>(request.sges.size());
    if ((request.flags & protocol::kWqeInline) != 0) {
      wqe.inline_length = static_cast<std::uint32_t>(request.inline_data.size());
      if (wqe.inline_length > 0)
        std::memcpy(entry + sizeof(wqe), request.inline_data.data(), wqe.inline_length);
    } else if (!request.sges.empty()) {
      std::memcpy(entry + sizeof(wqe), request.sges.data(), request.sges.size() * sizeof(protocol::Sge));
    }
    std::memcpy(entry, &wqe, sizeof(wqe));
    ++qp.send_producer;
    reinterpret_cast<protocol::QueuePairRecord*>(at(qp.made.record_offset))
        ->send_producer.store(qp.send_producer);
  }
  void ring(const Qp& qp) {
    hca_.ring_doorbell(context, protocol::DoorbellKind::kSendQueue, qp.made.number, qp.send_producer);
  }
  void post_send(Qp& qp, const SendRequest& request) {
    write_send(qp, request);
    ring(qp);
  }
  void post_recv(Qp& qp, std::uint64_t wr_id, const std::vector<protocol::Sge>& sges) {
    std::byte* entry = at(qp.made.recv_offset) +
                       std::size_t{qp.recv_producer & (qp.made.recv_entries - 1)} * qp.made.recv_stride;
    write_recv(entry, wr_id, sges);
    ++qp.recv_producer;
    auto* record = reinterpret_cast<protocol::QueuePairRecord*>(at(qp.made.record_offset));
    record->recv_producer.store(qp.recv_producer);
    if (record->recv_doorbell_wanted.load() != 0) {
      hca_.ring_doorbell(context, protocol::DoorbellKind::kReceiveQueue, qp.made.number, qp.recv_producer);
    }
  }

  void write_recv(std::byte* entry, std::uint64_t wr_id, const std::vector<protocol::Sge>& sges) {
    protocol::RecvWqe wqe{wr_id, static_cast<std::uint8_t>(sges.size()),
                          static_cast<std::uint64_t>(to_ps(world_.engine.now())) & protocol::RecvWqe::kPostedMask};
    std::memcpy(entry, &wqe, sizeof(wqe));
    if (!sges.empty()) std::memcpy(entry + sizeof(wqe), sges.data(), sges.size() * sizeof(protocol::Sge));
  }

  void arm(const Cq& cq, bool solicited_only = false) {
    hca_.ring_doorbell(context, protocol::DoorbellKind::kCompletionQueueArm, cq.number,
                       solicited_only ? protocol::kArmSolicited : protocol::kArmAny);
  }
  // The next completion, if it is visible at the current time.
  std::optional<protocol::Cqe> poll(Cq& cq) {
    const auto* entry =
        reinterpret_cast<const protocol::Cqe*>(at(cq.ring)) + (cq.consumer & (cq.entries - 1));
    if (entry->sequence != cq.consumer / cq.entries + 1 || entry->visible_at_ps > world_.now_ps())
      return std::nullopt;
    const protocol::Cqe copy = *entry;
    ++cq.consumer;
    reinterpret_cast<protocol::CompletionQueueRecord*>(at(cq.record))->consumer.store(cq.consumer);
    return copy;
  }
  std::vector<protocol::Cqe> drain(Cq& cq) {
    std::vector<protocol::Cqe> all;
    while (const auto entry = poll(cq)) all.push_back(*entry);
    return all;
  }

  std::byte* at(std::uint64_t offset) { return reinterpret_cast<std::byte*>(arena_.data()) + offset; }
  std::span<std::byte> arena() { return std::as_writable_bytes(std::span(arena_)); }

  void on_completion_event(std::uint32_t channel, const protocol::CompletionEvent& event) override {
    completion_events.push_back({channel, event.cookie, world_.now_ps()});
  }
  void on_async_event(std::uint32_t, const protocol::AsyncEvent& event) override {
    async_events.push_back(event);
  }
  void on_completion_written(std::uint32_t, std::uint32_t) override {}
  void on_dma_fault(std::uint32_t, std::uint64_t va, std::uint64_t length) override {
    dma_faults.push_back({va, length});
  }

  struct CompletionEventSeen {
    std::uint32_t channel;
    std::uint64_t cookie;
    std::int64_t time_ps;
  };

  host::BufferMemory memory;
  std::uint32_t context = 0, pd = 0;
  std::vector<CompletionEventSeen> completion_events;
  std::vector<protocol::AsyncEvent> async_events;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> dma_faults;
  protocol::DestroyObject last_destroyed{};

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  World& world_;
  hca::Hca& hca_;
  std::vector<Line> arena_;
};

// A program on each side with one connected queue pair, one CQ per direction and a registered buffer.
struct Pair {
  struct Side {
    Side(World& world, hca::Hca& hca, const PairOptions& options)
        : program(world, hca, options.buffer_bytes, options.arena_bytes),
          mr(program.reg_mr(Program::kBuffer, options.buffer_bytes,
                            ib::kLocalWrite | ib::kRemoteWrite | ib::kRemoteRead | ib::kRemoteAtomic)),
          send_cq(program.create_cq(options.cqe, options.with_channel)),
          recv_cq(program.create_cq(options.cqe, options.with_channel)),
          qp(program.create_qp(send_cq, recv_cq, options.capabilities, options.type)) {}

    protocol::Sge sge(std::uint64_t offset, std::uint32_t length) const {
      return {Program::kBuffer + offset, length, mr.lkey};
    }
    void fill(std::uint64_t offset, std::uint32_t length, std::uint8_t seed) {
      const auto bytes = program.memory.at(Program::kBuffer + offset, length);
      for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(seed + i * 7 + i / 251);
    }
    bool equals(std::uint64_t offset, std::uint32_t length, std::uint8_t seed) {
      const auto bytes = program.memory.at(Program::kBuffer + offset, length);
      for (std::size_t i = 0; i < length; ++i) {
        if (bytes[i] != static_cast<std::byte>(seed + i * 7 + i / 251)) return false;
      }
      return true;
    }

    Program program;
    Mr mr;
    Cq send_cq, recv_cq;
    Qp qp;
  };

  explicit Pair(const PairOptions& given = {}, bool connect_now = true)
      : options(given), world(given.world), a(world, *world.client, given), b(world, *world.server, given) {
    if (connect_now) connect_both();
  }
  void connect_both() {
    ready = a.program.to_init(a.qp, options.path) == 0 && b.program.to_init(b.qp, options.path) == 0 &&
            a.program.to_rtr(a.qp, 2, b.qp.made.number, options.path) == 0 &&
            b.program.to_rtr(b.qp, 1, a.qp.made.number, options.path) == 0 &&
            a.program.to_rts(a.qp, options.path) == 0 && b.program.to_rts(b.qp, options.path) == 0;
  }

  const PairOptions options;
  World world;
  Side a, b;
  bool ready = false;
};

}  // namespace verbatim::test
