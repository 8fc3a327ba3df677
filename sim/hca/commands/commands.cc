// Dispatch of commands, and the objects that have no queues. Everything in a mailbox is copied once; the
// handlers work on the copy. Refusals follow facts/verbs_semantics.md.
#include <cerrno>
#include <cstring>
#include <type_traits>

#include "sim/hca/commands/hca_impl.h"
#include "sim/ib/lid_ranges.h"

namespace verbatim::hca {

using protocol::CommandType;

namespace {

constexpr std::uint32_t kLinkLayerInfiniBand = 1, kLinkLayerEthernet = 2;
constexpr std::uint32_t kPortStateDown = 1, kPortStateActive = 4;
constexpr std::uint8_t kGrhRequired = 1;     // IBV_QPF_GRH_REQUIRED
// ibv_port_cap_flags: what the model does. The subnet manager's own port says so.
constexpr std::uint32_t kPortSm = 1u << 1, kPortTrap = 1u << 3, kPortAutoMigration = 1u << 5, kPortServiceLevelMap = 1u << 6;
constexpr std::uint32_t kPortExtendedSpeeds = 1u << 14, kPortCommunicationManagement = 1u << 16;
constexpr std::uint32_t kPortClientReregistration = 1u << 25, kPortIpBasedGids = 1u << 26;
constexpr std::uint32_t kOfInfiniBand = kPortTrap | kPortAutoMigration | kPortServiceLevelMap | kPortClientReregistration;
constexpr std::uint32_t kFdr = 16;  // the first of the extended speeds
constexpr std::uint8_t kPhysStatePolling = 2, kPhysStateLinkUp = 5;
constexpr std::uint64_t kPageSizes = 0xfffffffffffff000ull;
constexpr std::uint64_t kTimestampMask = 0xffffffffffffffffull;

// ibv_device_cap_flags: what the model does.
constexpr std::uint64_t kAutoPathMigration = 1u << 4;  // on InfiniBand
constexpr std::uint64_t kRcRnrNakGeneration = 1u << 12;
constexpr std::uint64_t kPortActiveEvent = 1u << 10;
constexpr std::uint64_t kSysImageGuid = 1u << 11;
constexpr std::uint64_t kMemoryWindow = 1u << 17;
constexpr std::uint64_t kXrc = 1u << 20;
constexpr std::uint64_t kMemoryManagementExtensions = 1u << 21;
constexpr std::uint64_t kMemoryWindowType2B = 1u << 24;

constexpr std::uint64_t kManagedFlowSteering = 1u << 29;
constexpr std::uint64_t kRawScatterFrameCheck = 1ull << 34;
constexpr std::uint64_t kPciWriteEndPadding = 1ull << 36;
constexpr std::uint64_t kAtomicWrite = 1ull << 40;

// ibv_raw_packet_caps: CVLAN stripping, scattering of the FCS, delayed drops.
constexpr std::uint32_t kRawPacketCaps = 1 << 0 | 1 << 1 | 1 << 3;

// ibv_odp_general_caps and ibv_odp_transport_cap_bits. XRC and shared queues: IBV_ODP_SUPPORT_SRQ_RECV.
constexpr std::uint32_t kOdpSupport = 1, kOdpSupportImplicit = 2;
constexpr std::uint32_t kOdpSend = 1, kOdpReceive = 2, kOdpWrite = 4, kOdpRead = 8, kOdpAtomic = 16, kOdpSharedReceive = 32;
constexpr std::uint32_t kOdpReliable = kOdpSend | kOdpWrite | kOdpRead | kOdpAtomic | kOdpSharedReceive;
constexpr std::uint32_t kOdpUnreliable = kOdpSend | kOdpReceive | kOdpSharedReceive;

// ibv_atomic_cap: atomic against everything this adapter does, not against the CPU.
constexpr std::uint32_t kAtomicHca = 1;

bool names_port(std::uint32_t port) { return port == kPortNumber; }

}  // namespace

template <class Command, class Handler>
int Hca::Impl::answer(std::span<std::byte> mailbox, Handler handler) {
  if (mailbox.size() < sizeof(Command)) return EINVAL;
  Command command;
  std::memcpy(&command, mailbox.data(), sizeof(command));
  if (command.header.size != sizeof(Command)) return EINVAL;
  Context* context = find_context(command.header.context);
  if (context == nullptr) return refuse(EINVAL, "the device is not open, or this program has closed it");
  const int status = handler(*context, command);
  std::memcpy(mailbox.data() + sizeof(command.header),
              reinterpret_cast<const std::byte*>(&command) + sizeof(command.header),
              sizeof(command) - sizeof(command.header));
  return status;
}

void Hca::Impl::execute(std::span<std::byte> mailbox) {
  protocol::CommandHeader header;
  if (mailbox.size() < sizeof(header)) return;
  std::memcpy(&header, mailbox.data(), sizeof(header));
  // A command may destroy an object that held payload or completions still use.
  adapter.payloads.release_for(find_context(header.context));
  adapter.completions.release_held();
  adapter.diagnoses.begin_command();
  // Commands of the kernel itself (process 0) succeed: it has cached the answers since the device was added.
  const Context* const asking = adapter.has_failed ? find_context(header.context) : nullptr;
  const bool is_programs = asking == nullptr || asking->program.process != 0;
  header.status = adapter.has_failed && is_programs && header.type != CommandType::kCloseDevice
                      ? refuse(EIO, "the adapter has failed; the program can only close it")
                  : lacks_memory(header) ? refuse(ENOMEM, "there is no memory: this failure was drawn by --spec-failing-calls")
                                         : dispatch(header, mailbox);
  std::memcpy(mailbox.data(), &header, sizeof(header));
  adapter.tracer.record(adapter.id, TraceEvent::kCommand, static_cast<std::uint64_t>(header.type),
                        header.context, static_cast<std::uint64_t>(header.status));
  if (header.status == 0 && !adapter.tracer.wants_facts()) return;
  const Context* context = find_context(header.context);
  const std::uint32_t process = context != nullptr ? context->program.process : 0;
  if (header.status == 0) return adapter.tracer.report_command(adapter.id, process, mailbox);
  adapter.diagnoses.end_command(header.type, process, header.status);
}

// Whether a command that makes the kernel allocate memory for a program fails by a free choice. Commands of
// the kernel itself do not.
bool Hca::Impl::lacks_memory(const protocol::CommandHeader& header) {
  switch (header.type) {
    case CommandType::kAllocPd:
    case CommandType::kRegMr:
    case CommandType::kAllocMw:
    case CommandType::kCreateCq:
    case CommandType::kResizeCq:
    case CommandType::kCreateQp:
    case CommandType::kCreateSrq:
    case CommandType::kCreateWq:
    case CommandType::kCreateAh:
      break;
    default:
      return false;
  }
  const Context* const asking = failing_calls != nullptr ? find_context(header.context) : nullptr;
  return asking != nullptr && asking->program.process != 0 && failing_calls->choose(freedom::kNoMemory, adapter.id, host);
}

int Hca::Impl::dispatch(protocol::CommandHeader& header, std::span<std::byte> mailbox) {
  const auto run = [&]<class Command>(int (Impl::*method)(Context&, Command&)) {
    return answer<Command>(
        mailbox, [&](Context& context, Command& command) {
          const int status = (this->*method)(context, command);
          if constexpr (std::is_same_v<Command, protocol::DestroyObject>) {
            if (status == 0) context.objects.handles.give_back(command.handle);
          }
          return status;
        });
  };
  switch (header.type) {
    case CommandType::kCloseDevice:
      if (find_context(header.context) == nullptr) return EINVAL;
      close(header.context);
      return 0;
    case CommandType::kQueryDevice:
      return run(&Impl::query_device);
    case CommandType::kQueryPort:
      return run(&Impl::query_port);
    case CommandType::kQueryGid:
      return run(&Impl::query_gid);
    case CommandType::kQueryPkey:
      return run(&Impl::query_pkey);
    case CommandType::kAllocPd:
      return run(&Impl::alloc_pd);
    case CommandType::kDeallocPd:
      return run(&Impl::dealloc_pd);
    case CommandType::kRegMr:
      return run(&Impl::reg_mr);
    case CommandType::kReregMr:
      return run(&Impl::rereg_mr);
    case CommandType::kDeregMr:
      return run(&Impl::dereg_mr);
    case CommandType::kAllocDm:
      return run(&Impl::alloc_dm);
    case CommandType::kFreeDm:
      return run(&Impl::free_dm);
    case CommandType::kCopyDm:
      return run(&Impl::copy_dm);
    case CommandType::kRegDmMr:
      return run(&Impl::reg_dm_mr);
    case CommandType::kAllocNullMr:
      return run(&Impl::alloc_null_mr);
    case CommandType::kImportObject:
      return run(&Impl::import_object);
    case CommandType::kAdviseMr:
      return run(&Impl::advise_mr);
    case CommandType::kAllocMw:
      return run(&Impl::alloc_mw);
    case CommandType::kDeallocMw:
      return run(&Impl::dealloc_mw);
    case CommandType::kCreateCq:
      return run(&Impl::create_cq);
    case CommandType::kModifyCq:
      return run(&Impl::modify_cq);
    case CommandType::kResizeCq:
      return run(&Impl::resize_cq);
    case CommandType::kDestroyCq:
      return run(&Impl::destroy_cq);
    case CommandType::kCreateQp:
      return run(&Impl::create_qp);
    case CommandType::kModifyQp:
      return run(&Impl::modify_qp);
    case CommandType::kQueryQp:
      return run(&Impl::query_qp);
    case CommandType::kDestroyQp:
      return run(&Impl::destroy_qp);
    case CommandType::kCreateSrq:
      return run(&Impl::create_srq);
    case CommandType::kModifySrq:
      return run(&Impl::modify_srq);
    case CommandType::kQuerySrq:
      return run(&Impl::query_srq);
    case CommandType::kDestroySrq:
      return run(&Impl::destroy_srq);
    case CommandType::kAttachMulticast:
      return run(&Impl::attach_multicast);
    case CommandType::kDetachMulticast:
      return run(&Impl::detach_multicast);
    case CommandType::kOpenXrcd:
      return run(&Impl::open_xrcd);
    case CommandType::kCloseXrcd:
      return run(&Impl::close_xrcd);
    case CommandType::kOpenQp:
      return run(&Impl::open_qp);
    case CommandType::kCreateFlow:
      return run(&Impl::create_flow);
    case CommandType::kDestroyFlow:
      return run(&Impl::destroy_flow);
    case CommandType::kCreateCounters:
      return run(&Impl::create_counters);
    case CommandType::kDestroyCounters:
      return run(&Impl::destroy_counters);
    case CommandType::kAttachCounter:
      return run(&Impl::attach_counter);
    case CommandType::kReadCounters:
      return run(&Impl::read_counters);
    case CommandType::kCreateWq:
      return run(&Impl::create_wq);
    case CommandType::kModifyWq:
      return run(&Impl::modify_wq);
    case CommandType::kDestroyWq:
      return run(&Impl::destroy_wq);
    case CommandType::kCreateRwqTable:
      return run(&Impl::create_rwq_table);
    case CommandType::kDestroyRwqTable:
      return run(&Impl::destroy_rwq_table);
    case CommandType::kCreateAh:
      return run(&Impl::create_ah);
    case CommandType::kDestroyAh:
      return run(&Impl::destroy_ah);
    default:
      return EOPNOTSUPP;
  }
}

int Hca::Impl::query_device(Context&, protocol::QueryDevice& command) {
  const HcaProfile& profile = adapter.profile;
  protocol::DeviceAttributes& to = command.attributes;
  to = {};
  const std::size_t name = std::min(profile.firmware_version.size(), sizeof(to.firmware_version) - 1);
  std::memcpy(to.firmware_version, profile.firmware_version.data(), name);
  to.node_guid = adapter.address.node_guid;
  to.sys_image_guid = adapter.address.node_guid;
  to.max_mr_size = profile.max_mr_size;
  to.page_size_cap = kPageSizes;
  to.device_cap_flags = kRcRnrNakGeneration | kPortActiveEvent | kSysImageGuid | kMemoryWindow | kXrc |
                         kMemoryManagementExtensions | kMemoryWindowType2B | kAtomicWrite;
  to.completion_timestamp_mask = kTimestampMask;
  to.hca_core_clock_khz = profile.core_clock_hz / 1000;
  to.vendor_id = profile.vendor_id;
  to.vendor_part_id = profile.vendor_part_id;
  to.hw_ver = profile.hw_version;
  to.max_qp = profile.max_qp;
  to.max_qp_wr = profile.max_qp_wr;
  to.max_sge = profile.max_sge;
  to.max_sge_rd = profile.max_sge_rd;
  to.max_cq = profile.max_cq;
  to.max_cqe = profile.max_cqe;
  to.max_mr = profile.max_mr;
  to.max_mw = profile.max_mw;
  to.max_pd = profile.max_pd;
  to.max_qp_rd_atom = profile.max_qp_rd_atom;
  to.max_res_rd_atom = profile.max_qp_rd_atom * profile.max_qp;
  to.max_qp_init_rd_atom = profile.max_qp_init_rd_atom;
  to.atomic_cap = kAtomicHca;
  to.max_mcast_grp = MulticastTable::kGroupsMax;
  to.max_mcast_qp_attach = MulticastTable::kMembersMax;
  to.max_ah = profile.max_ah;
  to.max_srq = profile.max_srq;
  to.max_srq_wr = profile.max_srq_wr;
  to.max_srq_sge = profile.max_srq_sge;
  to.max_inline_data = profile.max_inline_data;
  if (profile.max_num_tags > 0) {
    to.max_rendezvous_header = TagList::kMaxRendezvousBytes;
    to.max_num_tags = profile.max_num_tags;
    to.max_tag_operations = profile.max_tag_operations;
    to.max_tag_sge = profile.max_tag_sge;
  }
  to.max_dm_size = profile.max_dm_size;
  to.odp_general = kOdpSupport | kOdpSupportImplicit;
  to.odp_rc = kOdpReliable | kOdpReceive;
  to.odp_uc = to.odp_ud = kOdpUnreliable;
  to.odp_uc |= kOdpWrite;
  to.odp_xrc = kOdpReliable;
  if (!adapter.address.roce) to.device_cap_flags |= kAutoPathMigration;
  if (adapter.address.roce) {
    to.device_cap_flags |= kManagedFlowSteering | kRawScatterFrameCheck | kPciWriteEndPadding;
    to.raw_packet_caps = kRawPacketCaps;
    to.max_wq = profile.max_wq;
    to.rss_qpts = 1u << static_cast<std::uint32_t>(ib::QpType::kRawPacket);
    to.max_rwq_tables = profile.max_rwq_tables;
    to.max_rwq_table_size = profile.max_rwq_table_size;
    to.hash_functions = kToeplitz;
    to.hash_fields = kHashFields;
  }
  to.max_pkeys = static_cast<std::uint16_t>(profile.pkey_table_length);
  to.local_ca_ack_delay = profile.local_ca_ack_delay;
  to.port_count = 1;
  return 0;
}

int Hca::Impl::query_port(Context&, protocol::QueryPort& command) {
  if (!names_port(command.port)) return refuse(EINVAL, "there is no port ", command.port, ", ports are 1 to 1");
  const HcaProfile& profile = adapter.profile;
  const PortAddress& address = adapter.address;
  const protocol::QueryPort asked = command;
  command = {};
  command.header = asked.header;
  command.port = asked.port;
  command.state = adapter.port_is_up ? static_cast<std::uint32_t>(address.state) : kPortStateDown;
  command.max_mtu = profile.max_mtu;
  command.active_mtu = address.active_mtu(profile.max_mtu);
  command.gid_table_length = static_cast<std::int32_t>(profile.gid_table_length);
  command.port_cap_flags = kPortCommunicationManagement;
  command.port_cap_flags |= address.roce ? kPortIpBasedGids : kOfInfiniBand;
  if (!address.roce && address.active_speed >= kFdr) command.port_cap_flags |= kPortExtendedSpeeds;
  const bool has_manager = address.is_subnet_manager || (address.lid == address.sm_lid && address.lid.value != 0);
  if (!address.roce && has_manager) command.port_cap_flags |= kPortSm;
  command.max_message_size = profile.max_message_bytes;
  command.pkey_table_length = static_cast<std::uint16_t>(profile.pkey_table_length);
  command.bad_pkey_counter = adapter.key_guard.violations().pkey.value();
  command.qkey_violation_counter = adapter.key_guard.violations().qkey.value();
  command.lid = address.roce ? 0 : address.lid.value;
  command.lmc = address.lmc;
  command.sm_sl = address.sm_service_level;
  command.sm_lid = address.roce ? 0 : address.sm_lid.value;
  // Lanes and the subnet manager are InfiniBand's; Ethernet demands a GRH instead.
  command.max_vl_num = address.roce ? 0 : static_cast<std::uint8_t>(profile.virtual_lanes);
  command.subnet_timeout = address.roce ? 0 : address.subnet_timeout;
  command.flags = address.roce ? kGrhRequired : 0;
  command.active_width = static_cast<std::uint8_t>(address.active_width);
  command.active_speed = address.active_speed;
  command.phys_state = adapter.port_is_up ? kPhysStateLinkUp : kPhysStatePolling;
  command.link_layer = address.roce ? kLinkLayerEthernet : kLinkLayerInfiniBand;
  return 0;
}

int Hca::Impl::query_gid(Context&, protocol::QueryGid& command) {
  if (!names_port(command.port) || command.index >= adapter.profile.gid_table_length) {
    return refuse(EINVAL, "port ", command.port, ", index ", command.index, ": there is port 1 with gid_tbl_len ",
                  adapter.profile.gid_table_length);
  }
  std::memset(command.gid, 0, sizeof(command.gid));
  const auto& gids = adapter.address.gids;
  if (command.index < gids.size()) std::memcpy(command.gid, gids[command.index].raw, sizeof(command.gid));
  command.gid_type = adapter.address.roce ? 2 : 0;
  command.netdev_index = command.index < gids.size() ? adapter.address.netdev_index : 0;
  if (const auto* entry = adapter.address.vlan_entry(command.index)) command.netdev_index = entry->netdev_index;
  return 0;
}

int Hca::Impl::query_pkey(Context&, protocol::QueryPkey& command) {
  if (!names_port(command.port) || command.index >= adapter.profile.pkey_table_length) {
    return refuse(EINVAL, "port ", command.port, ", index ", command.index, ": there is port 1 with pkey_tbl_len ",
                  adapter.profile.pkey_table_length);
  }
  command.pkey = adapter.address.pkey(command.index);
  return 0;
}

int Hca::Impl::alloc_pd(Context& context, protocol::AllocPd& command) {
  if (pd_count_ >= adapter.profile.max_pd) return refuse(ENOMEM, "all of max_pd ", adapter.profile.max_pd, " are in use");
  ++pd_count_;
  command.handle = take_handle(context);
  context.objects.pds[command.handle] = {};
  return 0;
}

int Hca::Impl::dealloc_pd(Context& context, protocol::DestroyObject& command) {
  const auto it = context.objects.pds.find(command.handle);
  if (it == context.objects.pds.end()) return no_object_to_destroy("protection domain", command.handle);
  if (it->second.users > 0) {
    return refuse(EBUSY, it->second.users, " objects of it still exist (memory, windows, queues, address handles)");
  }
  context.objects.pds.erase(it);
  --pd_count_;
  command.events_reported = command.async_events_reported = 0;
  return 0;
}

int Hca::Impl::check_mr(Context& context, std::uint64_t start, std::uint64_t length, std::uint64_t iova,
                        std::uint32_t access) const {
  constexpr std::uint32_t kKnown = ib::kLocalWrite | ib::kRemoteWrite | ib::kRemoteRead | ib::kRemoteAtomic |
                                   ib::kMwBind | ib::kZeroBased | ib::kOnDemand | ib::kHugeTlb | ib::kOptionalAccess;
  const bool is_on_demand = (access & ib::kOnDemand) != 0;
  if ((access & ~kKnown) != 0) return refuse(EINVAL, "unknown access flags ", Hex{access & ~kKnown});
  // ibv_reg_mr(3): huge pages are a promise for regions that are paged on demand.
  if ((access & ib::kHugeTlb) != 0 && !is_on_demand) {
    return refuse(EINVAL, "IBV_ACCESS_HUGETLB is for memory that is paged on demand (IBV_ACCESS_ON_DEMAND)");
  }
  // IBA 11.2.10.1 and the man page: who may write from afar may write locally.
  const bool writes_remotely = (access & (ib::kRemoteWrite | ib::kRemoteAtomic)) != 0;
  const bool writable = (access & ib::kLocalWrite) != 0;
  if (writes_remotely && !writable) {
    return refuse(EINVAL, "IBV_ACCESS_REMOTE_WRITE and IBV_ACCESS_REMOTE_ATOMIC need IBV_ACCESS_LOCAL_WRITE");
  }
  // ibv_reg_mr(3): an implicit region is the whole address space.
  if (is_on_demand && start == 0 && iova == 0 && length == SIZE_MAX) {
    return (access & ib::kHugeTlb) == 0 ? 0 : refuse(EINVAL, "an implicit region has no huge pages");
  }
  if (length > adapter.profile.max_mr_size) {
    return refuse(EINVAL, "a length of ", length, " bytes: it may be up to max_mr_size ", adapter.profile.max_mr_size);
  }
  // Linux, drivers/infiniband/core/umem.c: a region has at least one page, from the start of the page of its first
  // byte to the end of the page of its last one. A region of no bytes therefore begins within a page.
  constexpr std::uint64_t kPageBytes = 4096;
  if (length == 0 && start % kPageBytes == 0) {
    return refuse(EINVAL, "a length of 0 bytes at the start of a page: such a region has no page");
  }
  const std::uint64_t to_last = length == 0 ? 0 : length - 1;
  if (start + to_last < start || iova + to_last < iova) return refuse(EINVAL, "the range exceeds the address space");
  // ibv_reg_mr_iova(3): the first byte has the same place in its page in both.
  if ((access & ib::kZeroBased) == 0 && (start ^ iova) % kPageBytes != 0) {
    return refuse(EINVAL, "address ", Hex{start}, " and iova ", Hex{iova}, " have different offsets in their pages");
  }
  if (is_on_demand) return 0;
  if (context.program.memory->is_mapped(start, to_last + 1, writable)) return 0;
  return refuse(EFAULT, "not all of the ", length, " bytes at ", Hex{start}, " are mapped", writable ? " and writable" : "");
}

int Hca::Impl::reg_mr(Context& context, protocol::RegMr& command) {
  const auto pd = context.objects.pds.find(command.pd);
  if (pd == context.objects.pds.end()) return no_object("protection domain", command.pd);
  if ((command.access & ib::kZeroBased) != 0) command.iova = 0;
  if (const int error = check_mr(context, command.start, command.length, command.iova, command.access);
      error != 0) {
    return error;
  }
  auto region = std::make_unique<MemoryRegion>();
  region->pd = command.pd;
  region->access = command.access;
  region->start = command.start;
  region->length = command.length;
  region->iova = command.iova;
  const int error = add_mr(context, std::move(region), &command.handle, &command.lkey);
  command.rkey = command.lkey;
  return error;
}

KeyTable::Choice Hca::Impl::choose_key() {
  return static_cast<KeyTable::Choice>(adapter.choices.choose(freedom::kMemoryKey, adapter.id, freedom::kKeyChoices));
}

std::uint32_t Hca::Impl::take_handle(Context& context) {
  Ucontext& objects = context.objects;
  const auto choice = static_cast<NumberChoice>(adapter.choices.choose(freedom::kObjectHandle, adapter.id, kNumberChoices));
  return objects.handles.take([&](std::uint32_t handle) { return objects.has_handle(handle); }, choice);
}

int Hca::Impl::add_mr(Context& context, std::unique_ptr<MemoryRegion> region, std::uint32_t* handle, std::uint32_t* key) {
  if (mr_count_ >= adapter.profile.max_mr) return refuse(ENOMEM, "all of max_mr ", adapter.profile.max_mr, " are in use");
  region->context = &context;
  region->key = adapter.keys.add(*region, choose_key());
  if (region->key == 0) return refuse(ENOMEM, "all keys are in use");
  ++mr_count_;
  ++context.objects.pds.at(region->pd).users;
  *handle = take_handle(context);
  *key = region->key;
  context.objects.mrs[*handle] = std::move(region);
  return 0;
}

int Hca::Impl::rereg_mr(Context& context, protocol::ReregMr& command) {
  enum Flags : std::uint32_t { kTranslation = 1, kPd = 2, kAccess = 4 };  // ibv_rereg_mr_flags
  const auto it = context.objects.mrs.find(command.handle);
  if (it == context.objects.mrs.end()) return no_object("memory region", command.handle);
  if ((command.flags & ~(kTranslation | kPd | kAccess)) != 0) return refuse(EINVAL, "unknown flags ", Hex{command.flags});
  MemoryRegion& region = *it->second;
  if (is_on_adapter(region.start)) return refuse(EINVAL, "device memory cannot be registered again");
  if (region.windows > 0) return refuse(EBUSY, region.windows, " memory windows are bound to it");
  const bool moves = (command.flags & kTranslation) != 0;
  const std::uint64_t start = moves ? command.start : region.start;
  const std::uint64_t length = moves ? command.length : region.length;
  const std::uint32_t access = (command.flags & kAccess) != 0 ? command.access : region.access;
  const bool is_zero_based = (access & ib::kZeroBased) != 0;
  const std::uint64_t iova = is_zero_based ? 0 : moves ? command.iova : region.iova;
  const std::uint32_t pd = (command.flags & kPd) != 0 ? command.pd : region.pd;
  if (!context.objects.pds.contains(pd)) return no_object("protection domain", pd);
  // Bytes that it did not have before are the caller's.
  Context& owner = moves ? context : *region.context;
  if (const int error = check_mr(owner, start, length, iova, access); error != 0) return error;
  region.context = &owner;
  --context.objects.pds.at(region.pd).users;
  ++context.objects.pds.at(pd).users;
  region.pd = pd;
  region.access = access;
  region.start = start;
  region.length = length;
  region.iova = iova;
  command.lkey = command.rkey = region.key;
  return 0;
}

int Hca::Impl::dereg_mr(Context& context, protocol::DestroyObject& command) {
  const auto it = context.objects.mrs.find(command.handle);
  if (it == context.objects.mrs.end()) return no_object_to_destroy("memory region", command.handle);
  if (it->second->windows > 0) return refuse(EBUSY, it->second->windows, " memory windows are bound to it");  // IBA 11.2.10.5, ibv_dereg_mr(3)
  adapter.keys.remove(it->second->key);
  --context.objects.pds.at(it->second->pd).users;
  if (it->second->dm != 0) --context.objects.dms.at(it->second->dm).users;
  context.objects.mrs.erase(it);
  --mr_count_;
  command.events_reported = command.async_events_reported = 0;
  return 0;
}

int Hca::Impl::create_ah(Context& context, protocol::CreateAh& command) {
  const auto pd = context.objects.pds.find(command.pd);
  const protocol::AddressVector& path = command.address;
  if (pd == context.objects.pds.end()) return no_object("protection domain", command.pd);
  if (path.port != 1 || path.service_level > 15) {
    return refuse(EINVAL, "port_num ", path.port, ", sl ", path.service_level, ": there is port 1, and service levels are 0 to 15");
  }
  if (path.is_global != 0 && path.sgid_index >= adapter.profile.gid_table_length) {
    return refuse(EINVAL, "sgid_index ", path.sgid_index, ": gid_tbl_len is ", adapter.profile.gid_table_length);
  }
  if (const int error = adapter.check_global_path(path, true); error != 0) return error;
  const ib::Lid to{path.dlid};
  if (!adapter.address.roce && !is_unicast(to) && !is_multicast(to)) return refuse(EINVAL, "dlid ", Hex{path.dlid}, " is not a LID");
  if (ah_count_ >= adapter.profile.max_ah) return refuse(ENOMEM, "all of max_ah ", adapter.profile.max_ah, " are in use");
  ++ah_count_;
  ++pd->second.users;
  command.handle = take_handle(context);
  context.objects.ahs[command.handle] = {command.pd, path};
  return 0;
}

int Hca::Impl::destroy_ah(Context& context, protocol::DestroyObject& command) {
  const auto it = context.objects.ahs.find(command.handle);
  if (it == context.objects.ahs.end()) return no_object_to_destroy("address handle", command.handle);
  --context.objects.pds.at(it->second.pd).users;
  context.objects.ahs.erase(it);
  --ah_count_;
  command.events_reported = command.async_events_reported = 0;
  return 0;
}

}  // namespace verbatim::hca
