#include "sim/supervisor/kernel/rdma_cm_file.h"

#include <arpa/inet.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_cm.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <type_traits>

#include "sim/ib/types.h"
#include "sim/management/path_record.h"
#include "sim/supervisor/tasks/process.h"
#include "sim/supervisor/kernel/rdma_cm_abi.h"

namespace verbatim::supervisor {

namespace {

using cm::Address;
using rdma_cm_abi::address_from;
using rdma_cm_abi::address_handle_of;
using rdma_cm_abi::parameters_from;
using rdma_cm_abi::store_address;

constexpr std::uint32_t kCommunicationEstablished = 4;  // IBV_EVENT_COMM_EST

// Commands of newer kernels. RESOLVE_IB_SERVICE (23) is refused like an unknown one.
constexpr std::uint32_t kWriteCmEvent = 24;
struct WriteCmEvent {  // rdma_ucm_write_cm_event, as far as it is read
  std::uint32_t id, reserved, event, status;
  std::uint64_t argument;
};

// `least`: size of the structure in older versions of the ABI.
template <class Struct>
bool load(std::span<const std::byte> in, Struct& to, std::size_t least = sizeof(Struct)) {
  if (in.size() < least) return false;
  std::memcpy(&to, in.data(), std::min(in.size(), sizeof to));
  return true;
}

// Stores as much of a response as the program has room for.
template <class Response>
IoResult store(Process& process, std::uint64_t address, const Response& response, std::size_t room, std::size_t least) {
  if (room < least) return -ENOSPC;
  const auto bytes = std::as_bytes(std::span(&response, 1)).first(std::min(room, sizeof response));
  return process.memory().put(address, bytes) ? 0 : -EFAULT;
}

}  // namespace

RdmaCmFile::Context* RdmaCmFile::find(std::uint32_t number) {
  const auto found = contexts_.find(number);
  return found == contexts_.end() ? nullptr : &found->second;
}

template <class Struct, class Execute>
IoResult RdmaCmFile::with_id(const Command& command, Execute execute) {
  Struct given;
  if (!load(command.in, given)) return -EINVAL;
  Context* const context = find(given.id);
  return context == nullptr ? IoResult(-ENOENT) : execute(*context, given);
}

IoResult RdmaCmFile::create_id(const Command& command) {
  rdma_ucm_create_id create;
  if (!load(command.in, create)) return -EINVAL;
  if (command.room < sizeof(rdma_ucm_create_id_resp)) return -ENOSPC;
  const auto space = static_cast<cm::PortSpace>(create.ps);
  std::uint8_t type = create.qp_type;
  switch (space) {
    case cm::PortSpace::kTcp:
      type = static_cast<std::uint8_t>(ib::QpType::kRc);
      break;
    case cm::PortSpace::kUdp:
    case cm::PortSpace::kIpoib:
      type = static_cast<std::uint8_t>(ib::QpType::kUd);
      break;
    case cm::PortSpace::kIb:
      break;
    default:
      return -EINVAL;
  }
  const std::uint32_t number = take_number();
  Context& context = contexts_[number];
  context.id = cm_.create(space, type, this);
  context.user_id = create.uid;
  return store(command.process, create.response, rdma_ucm_create_id_resp{number}, command.room, sizeof(rdma_ucm_create_id_resp));
}

// Drops unread events of an identifier that is destroyed or migrated; returns their number.
std::uint32_t RdmaCmFile::forget_events_of(std::uint32_t number) {
  return static_cast<std::uint32_t>(std::erase_if(events_, [&](const PendingEvent& one) { return one.context == number; }));
}

void RdmaCmFile::forget_groups(std::optional<std::uint32_t> context) {
  std::erase_if(groups_, [&](const auto& one) {
    const bool goes = !context || one.second.context == *context;
    if (goes) numbers_.give_back(one.first);
    return goes;
  });
}

IoResult RdmaCmFile::destroy_id(const Command& command) {
  rdma_ucm_destroy_id destroy;
  if (!load(command.in, destroy)) return -EINVAL;
  const auto found = contexts_.find(destroy.id);
  if (found == contexts_.end()) return -ENOENT;
  const rdma_ucm_destroy_id_resp response{found->second.events_reported};
  destroyer_ = command.process.calling_thread();
  events_of_destroyed_ = response.events_reported;
  forget_events_of(destroy.id);
  forget_groups(destroy.id);
  contexts_.erase(found);
  numbers_.give_back(destroy.id);
  return store(command.process, destroy.response, response, command.room, sizeof response);
}

// rdma_ucm_bind_ip and rdma_ucm_bind.
template <class Bind>
IoResult RdmaCmFile::bind(const Command& command) {
  Bind bind;
  if (!load(command.in, bind)) return -EINVAL;
  if constexpr (std::is_same_v<Bind, rdma_ucm_bind>) {
    if (bind.reserved != 0) return -EINVAL;
  }
  const Address address = address_from(bind.addr);
  if (address.family == cm::Family::kNone) return -EINVAL;
  Context* context = find(bind.id);
  return context == nullptr ? -ENOENT : context->id->bind(address);
}

// rdma_ucm_resolve_ip and rdma_ucm_resolve_addr.
template <class Resolve>
IoResult RdmaCmFile::resolve_address(const Command& command) {
  Resolve resolve;
  if (!load(command.in, resolve)) return -EINVAL;
  Address from;
  if constexpr (std::is_same_v<Resolve, rdma_ucm_resolve_ip>) {
    from = address_from(resolve.src_addr);
    if (resolve.src_addr.sin6_family != 0 && from.family == cm::Family::kNone) return -EINVAL;
  } else {
    if (resolve.reserved != 0) return -EINVAL;
    if (resolve.src_size != 0) from = address_from(resolve.src_addr);
  }
  const Address to = address_from(resolve.dst_addr);
  if (to.family == cm::Family::kNone) return -EINVAL;
  Context* context = find(resolve.id);
  return context == nullptr ? -ENOENT : context->id->resolve_address(from, to, resolve.timeout_ms);
}

IoResult RdmaCmFile::query_route(const Command& command) {
  rdma_ucm_query query;
  if (!load(command.in, query)) return -EINVAL;
  const Context* context = find(query.id);
  if (context == nullptr) return -ENOENT;
  const cm::RdmaId& id = *context->id;
  rdma_ucm_query_route_resp response{};
  store_address(id.source(), std::as_writable_bytes(std::span(&response.src_addr, 1)));
  store_address(id.destination(), std::as_writable_bytes(std::span(&response.dst_addr, 1)));
  if (id.has_device()) {
    response.node_guid = htobe64(id.port().node_guid);
    response.ibdev_index = static_cast<std::uint32_t>(id.device());
    response.port_num = 1;
  }
  if (const auto& path = id.path()) {
    response.num_paths = 1;
    ib_user_path_rec& to = response.ib_route[0];
    std::memcpy(to.dgid, path->dgid.raw, sizeof to.dgid);
    std::memcpy(to.sgid, path->sgid.raw, sizeof to.sgid);
    to.dlid = htons(path->dlid.value);
    to.slid = htons(path->slid.value);
    to.flow_label = htonl(path->flow_label);
    to.reversible = 1;
    to.mtu = path->mtu;
    to.pkey = htons(path->pkey);
    to.hop_limit = path->hop_limit;
    to.traffic_class = path->traffic_class;
    to.sl = path->service_level;
    to.mtu_selector = to.rate_selector = to.packet_life_time_selector = 2;
    to.rate = path->rate;
    to.packet_life_time = path->packet_life_time;
  }
  const std::size_t least = offsetof(rdma_ucm_query_route_resp, ibdev_index);
  return store(command.process, query.response, response, command.room, least);
}

IoResult RdmaCmFile::query(const Command& command) {
  return with_id<rdma_ucm_query>(command, [&](const Context& context, const auto& query) -> IoResult {
    switch (query.option) {
      case RDMA_USER_CM_QUERY_ADDR:
        return query_address(command, query.response, context, false);
      case RDMA_USER_CM_QUERY_GID:
        return query_address(command, query.response, context, true);
      case RDMA_USER_CM_QUERY_PATH:
        return query_path(command, query.response, context);
      default:
        return -ENOSYS;
    }
  });
}

IoResult RdmaCmFile::query_address(const Command& command, std::uint64_t response_at, const Context& context, bool gids) {
  const cm::RdmaId& id = *context.id;
  rdma_ucm_query_addr_resp response{};
  if (id.has_device()) {
    response.node_guid = htobe64(id.port().node_guid);
    response.ibdev_index = static_cast<std::uint32_t>(id.device());
    response.port_num = 1;
    response.pkey = htons(id.pkey());
  }
  Address from = id.source(), to = id.destination();
  if (gids) {
    for (Address* one : {&from, &to}) {
      const std::uint16_t port = one->port;
      const bool is_ip = one->family != cm::Family::kIb;
      one->family = cm::Family::kIb;
      one->pkey = id.pkey();
      one->ip = !id.has_device() ? ib::Gid{} : one == &from ? id.source_gid() : id.destination_gid();
      if (is_ip) one->service_id = std::uint64_t{static_cast<std::uint16_t>(id.space())} << 16 | port;
      if (is_ip) one->service_mask = one == &from || port != 0 ? ~0ull : 0;
    }
  }
  response.src_size = static_cast<std::uint16_t>(store_address(from, std::as_writable_bytes(std::span(&response.src_addr, 1))));
  response.dst_size = static_cast<std::uint16_t>(store_address(to, std::as_writable_bytes(std::span(&response.dst_addr, 1))));
  const std::size_t least = offsetof(rdma_ucm_query_addr_resp, ibdev_index);
  return store(command.process, response_at, response, command.room, least);
}

IoResult RdmaCmFile::query_path(const Command& command, std::uint64_t response_at, const Context& context) {
  struct {  // rdma_ucm_query_path_resp, which ends with an array of unknown length
    std::uint32_t num_paths, reserved;
    ib_path_rec_data data;
  } response{};
  constexpr std::size_t kHead = offsetof(rdma_ucm_query_path_resp, path_data);
  static_assert(offsetof(decltype(response), data) == kHead);
  const auto& path = context.id->path();
  if (command.room < kHead) return -ENOSPC;
  if (path) {
    response.num_paths = 1;
    response.data.flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
    const auto bytes = management::record_of(*path);
    static_assert(sizeof response.data.path_rec == bytes.size());
    std::memcpy(response.data.path_rec, bytes.data(), bytes.size());
  }
  const std::size_t room = path ? command.room : std::min<std::size_t>(command.room, kHead);
  return store(command.process, response_at, response, room, kHead);
}

IoResult RdmaCmFile::connect(const Command& command) {
  rdma_ucm_connect connect{};
  if (!load(command.in, connect, offsetof(rdma_ucm_connect, ece)) || connect.conn_param.valid == 0) return -EINVAL;
  Context* context = find(connect.id);
  return context == nullptr ? -ENOENT : context->id->connect(parameters_from(connect.conn_param, connect.ece));
}

IoResult RdmaCmFile::accept(const Command& command) {
  rdma_ucm_accept accept{};
  if (!load(command.in, accept, offsetof(rdma_ucm_accept, ece))) return -EINVAL;
  Context* context = find(accept.id);
  if (context == nullptr) return -ENOENT;
  if (accept.conn_param.valid == 0) return context->id->accept(std::nullopt);
  const int error = context->id->accept(parameters_from(accept.conn_param, accept.ece));
  if (error == 0) context->user_id = accept.uid;
  return error;
}

IoResult RdmaCmFile::reject(const Command& command) {
  return with_id<rdma_ucm_reject>(command, [](Context& context, const auto& reject) {
    const auto bytes = std::as_bytes(std::span(reject.private_data)).first(reject.private_data_len);
    return context.id->reject(reject.reason, {bytes.begin(), bytes.end()});
  });
}

IoResult RdmaCmFile::init_qp_attributes(const Command& command) {
  rdma_ucm_init_qp_attr init;
  if (!load(command.in, init)) return -EINVAL;
  if (command.room < sizeof(ib_uverbs_qp_attr)) return -ENOSPC;
  const Context* context = find(init.id);
  if (context == nullptr) return -ENOENT;
  cm::QpSetup setup;
  if (const int error = context->id->qp_setup(init.qp_state, setup); error != 0) return error;
  ib_uverbs_qp_attr to{};
  to.qp_attr_mask = setup.mask;
  to.qp_state = init.qp_state;
  to.path_mtu = setup.negotiated.mtu;
  to.qkey = setup.qkey;
  to.rq_psn = setup.negotiated.receive_psn;
  to.sq_psn = setup.negotiated.send_psn;
  to.dest_qp_num = setup.negotiated.remote_qpn;
  to.qp_access_flags = setup.access_flags;
  to.ah_attr = address_handle_of(setup.path, setup.sgid_index);
  to.pkey_index = setup.pkey_index;
  to.max_rd_atomic = setup.negotiated.initiator_depth;
  to.max_dest_rd_atomic = setup.negotiated.responder_resources;
  to.port_num = 1;
  to.timeout = setup.negotiated.ack_timeout;
  to.retry_cnt = setup.negotiated.retry_count;
  to.rnr_retry = setup.negotiated.rnr_retry_count;
  return store(command.process, init.response, to, command.room, sizeof to);
}

IoResult RdmaCmFile::get_event(const Command& command) {
  rdma_ucm_get_event get;
  if (!load(command.in, get)) return -EINVAL;
  constexpr std::size_t kLeast = offsetof(rdma_ucm_event_resp, reserved);
  if (command.room < kLeast) return -ENOSPC;
  if (events_.empty()) return std::nullopt;
  PendingEvent& pending = events_.front();
  Context& context = contexts_.at(pending.context);
  const cm::Event& event = pending.event;
  rdma_ucm_event_resp response{};
  response.uid = context.user_id;
  response.id = pending.context;
  response.event = static_cast<std::uint32_t>(event.type);
  response.status = static_cast<std::uint32_t>(event.status);
  const cm::ConnectionParameters& from = event.parameters;
  const std::size_t length = std::min<std::size_t>(from.private_data.size(), 255);
  const bool is_datagram = context.id->space() == cm::PortSpace::kUdp || context.id->space() == cm::PortSpace::kIpoib;
  if (event.type == cm::EventType::kUser || event.type == cm::EventType::kInternal) {
    std::memcpy(&response.param, &pending.argument, sizeof pending.argument);
  } else if (is_datagram) {
    rdma_ucm_ud_param& to = response.param.ud;
    to.qp_num = from.qpn;
    to.qkey = from.qkey;
    if (event.datagram_path) to.ah_attr = address_handle_of(*event.datagram_path, context.id->gid_index());
    std::copy_n(from.private_data.begin(), length, reinterpret_cast<std::byte*>(to.private_data));
    to.private_data_len = static_cast<std::uint8_t>(length);
  } else {
    rdma_ucm_conn_param& to = response.param.conn;
    to.qp_num = from.qpn;
    std::copy_n(from.private_data.begin(), length, reinterpret_cast<std::byte*>(to.private_data));
    to.private_data_len = static_cast<std::uint8_t>(length);
    to.srq = from.srq;
    to.responder_resources = from.responder_resources;
    to.initiator_depth = from.initiator_depth;
    to.flow_control = from.flow_control;
    to.retry_count = from.retry_count;
    to.rnr_retry_count = from.rnr_retry_count;
  }
  response.ece = {from.ece_vendor, from.ece_options};
  const bool is_request = event.request != nullptr;
  if (is_request) response.id = take_number();
  const bool of_group = event.type == cm::EventType::kMulticastJoin || event.type == cm::EventType::kMulticastError;
  if (of_group) {
    response.uid = groups_.at(event.group).user_id;
    response.id = event.group;
  }
  const IoResult stored = store(command.process, get.response, response, command.room, kLeast);
  if (*stored < 0) {
    if (is_request) numbers_.undo(response.id);
    return stored;
  }
  if (is_request) {
    pending.event.request->set_sink(this);
    context.id->note_request_taken();
    contexts_[response.id].id = std::move(pending.event.request);
  }
  if (of_group) ++groups_.at(event.group).events_reported;
  ++context.events_reported;
  events_.pop_front();
  return 0;
}

// Sets the first path record that serves both directions (Linux' ucma_set_ib_path).
IoResult RdmaCmFile::set_path(cm::RdmaId& id, std::span<const std::byte> given) {
  constexpr std::uint32_t kWanted = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
  if (given.size() % sizeof(ib_path_rec_data) != 0) return -EINVAL;
  for (; !given.empty(); given = given.subspan(sizeof(ib_path_rec_data))) {
    ib_path_rec_data path;
    std::memcpy(&path, given.data(), sizeof path);
    if (path.flags != kWanted) continue;
    if (!id.has_device()) return -EINVAL;
    return id.set_path(management::path_of(std::as_bytes(std::span(path.path_rec)).first<64>()));
  }
  return -EINVAL;
}

IoResult RdmaCmFile::set_option(const Command& command) {
  rdma_ucm_set_option set;
  if (!load(command.in, set)) return -EINVAL;
  constexpr std::uint32_t kMostBytes = 1 << 16;
  if (set.optlen > kMostBytes) return -EINVAL;
  Context* context = find(set.id);
  if (context == nullptr) return -ENOENT;
  std::vector<std::byte> value(set.optlen);
  if (!value.empty() && !command.process.memory().read(set.optval, value)) return -EFAULT;
  const auto number = [&](auto to) {
    std::memcpy(&to, value.data(), sizeof to);
    return to;
  };
  cm::RdmaId& id = *context->id;
  if (set.level == RDMA_OPTION_IB) return set.optname == RDMA_OPTION_IB_PATH ? set_path(id, value) : IoResult(-ENOSYS);
  if (set.level != RDMA_OPTION_ID) return -ENOSYS;
  const std::size_t wanted = set.optname == RDMA_OPTION_ID_TOS || set.optname == RDMA_OPTION_ID_ACK_TIMEOUT ? 1 : sizeof(int);
  switch (set.optname) {
    case RDMA_OPTION_ID_TOS:
      return value.size() != wanted ? -EINVAL : id.set_type_of_service(number(std::uint8_t{}));
    case RDMA_OPTION_ID_REUSEADDR:
      return value.size() != wanted ? -EINVAL : id.set_reuse(number(int{}) != 0);
    case RDMA_OPTION_ID_AFONLY:
      return value.size() != wanted ? -EINVAL : id.set_v6_only(number(int{}) != 0);
    case RDMA_OPTION_ID_ACK_TIMEOUT:
      return value.size() != wanted ? -EINVAL : id.set_ack_timeout(number(std::uint8_t{}));
    default:
      return -ENOSYS;
  }
}

// Moves an identifier with its unread events from another opening of the device to this one.
IoResult RdmaCmFile::migrate(const Command& command) {
  rdma_ucm_migrate_id migrate;
  if (!load(command.in, migrate)) return -EINVAL;
  if (command.room < sizeof(rdma_ucm_migrate_resp)) return -ENOSPC;
  const VirtualFilePtr file = command.process.files().at(static_cast<std::int32_t>(migrate.fd));
  RdmaCmFile* const from = file != nullptr ? file->as_rdma_cm() : nullptr;
  if (from == nullptr) return -EINVAL;
  Context* context = from->find(migrate.id);
  if (context == nullptr) return -ENOENT;
  const rdma_ucm_migrate_resp response{context->events_reported};
  if (from != this) {
    context->id->set_sink(this);
    contexts_[migrate.id] = std::move(*context);
    from->contexts_.erase(migrate.id);
    for (auto group = from->groups_.begin(); group != from->groups_.end();) {
      const auto next = std::next(group);
      if (group->second.context == migrate.id) groups_.insert(from->groups_.extract(group));
      group = next;
    }
    for (PendingEvent& one : from->events_) {
      if (one.context == migrate.id) events_.push_back(std::move(one));
    }
    from->forget_events_of(migrate.id);
    if (!events_.empty()) notify();
  }
  return store(command.process, migrate.response, response, command.room, sizeof response);
}

// rdma_ucm_join_ip_mcast and rdma_ucm_join_mcast.
template <class Join>
IoResult RdmaCmFile::join(const Command& command) {
  Join join;
  if (!load(command.in, join)) return -EINVAL;
  if constexpr (std::is_same_v<Join, rdma_ucm_join_mcast>) {
    if (join.join_flags >= RDMA_MC_JOIN_FLAG_RESERVED) return -EINVAL;
  }
  const Address address = address_from(join.addr);
  if (command.room < sizeof(rdma_ucm_create_id_resp)) return -ENOSPC;
  if (address.family == cm::Family::kNone) return -EINVAL;
  Context* context = find(join.id);
  if (context == nullptr) return -ENOENT;
  const std::uint32_t group = take_number();
  if (const int error = context->id->join(group, address); error != 0) {
    numbers_.undo(group);
    return error;
  }
  groups_[group] = {join.id, join.uid, 0};
  return store(command.process, join.response, rdma_ucm_create_id_resp{group}, command.room, sizeof(rdma_ucm_create_id_resp));
}

IoResult RdmaCmFile::leave(const Command& command) {
  rdma_ucm_destroy_id leave;
  if (!load(command.in, leave)) return -EINVAL;
  const auto found = groups_.find(leave.id);
  if (found == groups_.end()) return -ENOENT;
  const rdma_ucm_destroy_id_resp response{found->second.events_reported};
  if (Context* context = find(found->second.context)) context->id->leave(leave.id);
  std::erase_if(events_, [&](const PendingEvent& one) {
    const bool of_group = one.event.type == cm::EventType::kMulticastJoin || one.event.type == cm::EventType::kMulticastError;
    return of_group && one.event.group == leave.id;
  });
  groups_.erase(found);
  numbers_.give_back(leave.id);
  return store(command.process, leave.response, response, command.room, sizeof response);
}

// Queues an event that the program has made itself: rdma_write_cm_event() of librdmacm, and its rdma_resolve_addrinfo().
IoResult RdmaCmFile::write_event(const Command& command) {
  return with_id<WriteCmEvent>(command, [&](Context&, const auto& write) -> IoResult {
    const auto type = static_cast<cm::EventType>(write.event);
    if (type != cm::EventType::kUser && type != cm::EventType::kInternal) return -EINVAL;
    events_.push_back({write.id, {.type = type, .status = static_cast<std::int32_t>(write.status)}, write.argument});
    notify();
    return 0;
  });
}

IoResult RdmaCmFile::command(Process& process, std::span<const std::byte> bytes) {
  rdma_ucm_cmd_hdr header;
  if (!load(bytes, header)) return -EINVAL;
  if (header.in > bytes.size() - sizeof header) return -EINVAL;
  const Command command{process, bytes.subspan(sizeof header, header.in), header.out};
  if (destroyer_ == process.calling_thread()) destroyer_ = 0;
  const IoResult result = [&]() -> IoResult {
    switch (header.cmd) {
      case RDMA_USER_CM_CMD_CREATE_ID:
        return create_id(command);
      case RDMA_USER_CM_CMD_DESTROY_ID:
        return destroy_id(command);
      case RDMA_USER_CM_CMD_BIND_IP:
        return bind<rdma_ucm_bind_ip>(command);
      case RDMA_USER_CM_CMD_BIND:
        return bind<rdma_ucm_bind>(command);
      case RDMA_USER_CM_CMD_RESOLVE_IP:
        return resolve_address<rdma_ucm_resolve_ip>(command);
      case RDMA_USER_CM_CMD_RESOLVE_ADDR:
        return resolve_address<rdma_ucm_resolve_addr>(command);
      case RDMA_USER_CM_CMD_RESOLVE_ROUTE:
        return with_id<rdma_ucm_resolve_route>(command, [](Context& context, const auto& resolve) {
          return context.id->resolve_route(resolve.timeout_ms);
        });
      case RDMA_USER_CM_CMD_QUERY_ROUTE:
        return query_route(command);
      case RDMA_USER_CM_CMD_QUERY:
        return query(command);
      case RDMA_USER_CM_CMD_CONNECT:
        return connect(command);
      case RDMA_USER_CM_CMD_LISTEN:
        return with_id<rdma_ucm_listen>(
            command, [](Context& context, const auto& listen) { return context.id->listen(listen.backlog); });
      case RDMA_USER_CM_CMD_ACCEPT:
        return accept(command);
      case RDMA_USER_CM_CMD_REJECT:
        return reject(command);
      case RDMA_USER_CM_CMD_DISCONNECT:
        return with_id<rdma_ucm_disconnect>(
            command, [](Context& context, const auto&) { return context.id->disconnect(); });
      case RDMA_USER_CM_CMD_INIT_QP_ATTR:
        return init_qp_attributes(command);
      case RDMA_USER_CM_CMD_GET_EVENT:
        return get_event(command);
      case RDMA_USER_CM_CMD_SET_OPTION:
        return set_option(command);
      case RDMA_USER_CM_CMD_NOTIFY:
        return with_id<rdma_ucm_notify>(command, [](Context& context, const auto& notification) {  // rdma_notify(3)
          return notification.event == kCommunicationEstablished ? context.id->notify_established() : 0;
        });
      case RDMA_USER_CM_CMD_MIGRATE_ID:
        return migrate(command);
      case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
        return join<rdma_ucm_join_ip_mcast>(command);
      case RDMA_USER_CM_CMD_JOIN_MCAST:
        return join<rdma_ucm_join_mcast>(command);
      case RDMA_USER_CM_CMD_LEAVE_MCAST:
        return leave(command);
      case kWriteCmEvent:
        return write_event(command);
      case RDMA_USER_CM_CMD_GET_OPTION:
        return -ENOSYS;  // as in Linux, which never implemented it
      default:
        return -EINVAL;
    }
  }();
  if (!result || *result < 0) return result;
  return static_cast<std::int64_t>(bytes.size());
}

void RdmaCmFile::on_event(cm::RdmaId& id, cm::Event&& event) {
  for (auto& [number, context] : contexts_) {
    if (context.id.get() != &id) continue;
    // An identifier that the program has not accepted yet gets no events: its accept will fail.
    if (context.user_id == 0 && event.request == nullptr) return;
    events_.push_back({number, std::move(event)});
    notify();
    return;
  }
}

void RdmaCmFile::on_last_close() {
  events_.clear();
  forget_groups(std::nullopt);
  for (const auto& [number, context] : contexts_) numbers_.give_back(number);
  contexts_.clear();
}

}  // namespace verbatim::supervisor
