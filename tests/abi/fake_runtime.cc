#include "tests/abi/fake_runtime.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <list>
#include <memory>

#include "verbs_shim/protocol/layout.h"
#include "verbs_shim/runtime/polls.h"
#include "verbs_shim/runtime/reported_call.h"

namespace verbatim::fake {
namespace {

std::unique_ptr<World> current;

std::uint64_t carve(World& w, std::size_t bytes) {
  const std::size_t at = w.arena_used;
  w.arena_used += (bytes + 63) / 64 * 64;
  return at;
}

template <typename Command>
Command& as(protocol::CommandHeader* header) {
  return *reinterpret_cast<Command*>(header);
}

void create_cq(World& w, protocol::CreateCq& c) {
  c.ring_entries = std::bit_ceil(c.cqe);
  c.cqe = c.ring_entries;
  c.ring_offset = carve(w, std::size_t{c.ring_entries} * sizeof(protocol::Cqe));
  c.record_offset = carve(w, 64);
  c.handle = w.next_handle++;
  c.number = 0x1000 + c.handle;
  w.cqs[c.handle] = {c.handle, c.number, c.cookie, c.ring_entries, c.ring_offset, c.record_offset, 0};
}

void create_qp(World& w, protocol::CreateQp& c) {
  c.send_entries = std::bit_ceil(std::max(1u, c.capabilities.max_send_wr));
  const std::uint32_t body = std::max(c.capabilities.max_send_sge * 16, c.capabilities.max_inline_data);
  c.send_stride = 64 + (body + 63) / 64 * 64;
  c.recv_entries = std::bit_ceil(std::max(1u, c.capabilities.max_recv_wr));
  c.recv_stride = 16 + c.capabilities.max_recv_sge * 16;
  c.send_offset = carve(w, std::size_t{c.send_entries} * c.send_stride);
  c.recv_offset = carve(w, std::size_t{c.recv_entries} * c.recv_stride);
  c.record_offset = carve(w, 64);
  c.handle = w.next_handle++;
  c.number = 0x100 + c.handle;
  w.qps[c.handle] = {c.handle, c.number, c.cookie, c};
}

int answer(World& w, protocol::CommandHeader* header) {
  using protocol::CommandType;
  switch (header->type) {
    case CommandType::kListDevices: {
      auto& c = as<protocol::ListDevices>(header);
      c.count = 1;
      std::strcpy(c.devices[0].name, "fake0");
      c.devices[0].node_guid = kNodeGuid;
      c.devices[0].port_count = 1;
      return 0;
    }
    case CommandType::kOpenDevice: {
      auto& c = as<protocol::OpenDevice>(header);
      c.context = kContext;
      c.cmd_fd = 520;
      c.async_fd = 521;
      c.completion_vectors = 2;
      return 0;
    }
    case CommandType::kQueryDevice: {
      auto& a = as<protocol::QueryDevice>(header).attributes;
      std::strcpy(a.firmware_version, "20.1.2");
      a.node_guid = kNodeGuid;
      a.sys_image_guid = kNodeGuid + 1;
      a.max_mr_size = 1ull << 40;
      a.vendor_id = 0x1d0f00;
      a.max_qp = 100;
      a.hca_core_clock_khz = kCoreClockKhz;
      a.completion_timestamp_mask = ~0ull;
      a.device_cap_flags = (1ull << 36) | 1;
      a.port_count = 1;
      return 0;
    }
    case CommandType::kQueryPort: {
      auto& c = as<protocol::QueryPort>(header);
      if (c.port != 1) return EINVAL;
      c.state = 4;
      c.max_mtu = 5;
      c.active_mtu = 5;
      c.gid_table_length = 4;
      c.pkey_table_length = 1;
      c.lid = 17;
      c.sm_lid = 1;
      c.active_width = 2;
      c.active_speed = 32;
      c.phys_state = 5;
      c.link_layer = 1;
      c.flags = 0x5a;
      c.port_cap_flags2 = 0x33;
      return 0;
    }
    case CommandType::kQueryGid: {
      auto& c = as<protocol::QueryGid>(header);
      if (c.port != 1 || c.index >= 4) return EINVAL;
      std::memset(c.gid, 0, sizeof(c.gid));
      // Entries 0 and 2 are filled, 1 and 3 empty.
      if (c.index % 2 == 0) {
        c.gid[0] = 0xfe;
        c.gid[1] = 0x80;
        c.gid[15] = static_cast<std::uint8_t>(c.index + 1);
      }
      c.gid_type = c.index == 2 ? 2 : 0;
      return 0;
    }
    case CommandType::kQueryPkey: {
      auto& c = as<protocol::QueryPkey>(header);
      if (c.index > 0) return EINVAL;
      c.pkey = 0xfff1;
      return 0;
    }
    case CommandType::kAllocPd:
      as<protocol::AllocPd>(header).handle = w.next_handle++;
      return 0;
    case CommandType::kRegMr: {
      auto& c = as<protocol::RegMr>(header);
      c.handle = w.next_handle++;
      c.lkey = 0x10000 + c.handle;
      c.rkey = 0x20000 + c.handle;
      w.last_mr = c;
      return 0;
    }
    case CommandType::kAllocMw: {
      auto& c = as<protocol::AllocMw>(header);
      c.handle = w.next_handle++;
      c.rkey = 0x300ff;
      return 0;
    }
    case CommandType::kCreateChannel:
      as<protocol::CreateChannel>(header).fd = 530;
      return 0;
    case CommandType::kCreateCq:
      create_cq(w, as<protocol::CreateCq>(header));
      return 0;
    case CommandType::kCreateQp:
      create_qp(w, as<protocol::CreateQp>(header));
      return 0;
    case CommandType::kModifyQp:
      w.last_modify = as<protocol::ModifyQp>(header);
      return 0;
    case CommandType::kQueryQp:
      as<protocol::QueryQp>(header).attributes = w.qp_attributes;
      return 0;
    case CommandType::kCreateAh:
      as<protocol::CreateAh>(header).handle = w.next_handle++;
      return 0;
    case CommandType::kCloseDevice:
    case CommandType::kDeallocPd:
    case CommandType::kDeregMr:
    case CommandType::kDeallocMw:
    case CommandType::kDestroyCq:
    case CommandType::kDestroyQp:
    case CommandType::kDestroyAh:
    case CommandType::kDestroySrq:
      return 0;
    default:
      return EOPNOTSUPP;
  }
}

// Maps the region header, where the verbs library reads the epoch.
void map_region_header() {
  void* at = reinterpret_cast<void*>(protocol::kRegionAddress);
  void* got =
      mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == at) static_cast<protocol::RegionHeader*>(got)->epoch_ns = kEpochNs;
}

void pass(World& w, std::int64_t cost_ps) {
  w.spent.push_back(cost_ps);
  w.now_ps += cost_ps;
  if (w.on_time) w.on_time();
}

// Blocks are never freed to the C library: use of a released object is detected by the object's kind, as in
// the real heap.
std::list<std::vector<std::byte>>& heap() {
  static std::list<std::vector<std::byte>> blocks;
  return blocks;
}

}  // namespace

World& world() {
  if (current == nullptr) reset();
  return *current;
}

void reset() {
  map_region_header();
  current = std::make_unique<World>();
  current->arena.resize(1 << 22);
}

protocol::Cqe* World::cqe(Cq& cq, std::uint32_t number) {
  return reinterpret_cast<protocol::Cqe*>(arena.data() + cq.ring) + number % cq.entries;
}

void World::complete(Cq& cq, protocol::Cqe entry, std::int64_t visible_at_ps) {
  const std::uint32_t number = cq.producer++;
  entry.visible_at_ps = visible_at_ps;
  entry.sequence = number / cq.entries + 1;
  *cqe(cq, number) = entry;
}

const std::byte* World::send_slot(const Qp& qp, std::uint32_t number) const {
  return arena.data() + qp.made.send_offset +
         std::size_t{number % qp.made.send_entries} * qp.made.send_stride;
}

const std::byte* World::recv_slot(const Qp& qp, std::uint32_t number) const {
  return arena.data() + qp.made.recv_offset +
         std::size_t{number % qp.made.recv_entries} * qp.made.recv_stride;
}

const protocol::QueuePairRecord& World::record(const Qp& qp) const {
  return *reinterpret_cast<const protocol::QueuePairRecord*>(arena.data() + qp.made.record_offset);
}

std::uint32_t World::consumer(const Cq& cq) const {
  return reinterpret_cast<const protocol::CompletionQueueRecord*>(arena.data() + cq.record)->consumer.load();
}

}  // namespace verbatim::fake

namespace verbatim::shim {

using fake::world;

bool attached() { return world().attached; }
std::int64_t now_ps() { return world().now_ps; }
const protocol::CallCosts& costs() { return world().costs; }
std::uint32_t checks() { return ~0u; }
bool copy_program_bytes(void* to, const void* from, std::size_t size) {
  // Work requests of tests may have unmapped addresses: process_vm_readv() fails where memcpy() would crash,
  // like the real runtime's copy.
  const iovec there = {const_cast<void*>(from), size}, here = {to, size};
  return ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(size);
}
void spend(std::int64_t cost_ps) { fake::pass(world(), cost_ps); }

void spend_on_poll(std::int64_t cost_ps, std::uint32_t, std::uint32_t, std::uint64_t, std::uint32_t) { spend(cost_ps); }
void spend_on_start_poll(std::int64_t cost_ps, std::uint32_t, std::uint32_t, std::uint64_t, std::uint32_t) { spend(cost_ps); }

void ring_doorbell(std::int64_t cost_ps, protocol::DoorbellKind kind, std::uint32_t context,
                   std::uint32_t number, std::uint64_t value) {
  std::uint32_t producer = 0;
  for (const auto& [handle, qp] : world().qps) {
    if (kind == protocol::DoorbellKind::kSendQueue && qp.number == number) {
      producer = world().record(qp).send_producer.load();
    }
  }
  fake::pass(world(), cost_ps);
  world().doorbells.push_back({cost_ps, world().now_ps, kind, context, number, value, producer});
}

int command(protocol::CommandHeader* header) {
  auto& w = world();
  w.commands.push_back(header->type);
  if (w.on_command && w.on_command(header)) return header->status;
  const auto failure = w.failures.find(header->type);
  header->status = failure != w.failures.end() ? failure->second : fake::answer(w, header);
  return header->status;
}

long system_call(long number, long a0, long a1, long a2, long, long, long) {
  auto& w = world();
  return w.on_system_call ? w.on_system_call(number, a0, a1, a2) : -ENOSYS;
}

long read_cancellably(int fd, void* bytes, std::size_t size) {
  return system_call(SYS_read, fd, reinterpret_cast<long>(bytes), static_cast<long>(size), 0, 0, 0);
}

void* allocate(std::size_t size) {
  ++world().allocations;
  fake::heap().emplace_back(size + 64);
  auto address = reinterpret_cast<std::uintptr_t>(fake::heap().back().data());
  return reinterpret_cast<void*>((address + 63) & ~std::uintptr_t{63});
}

void release(void* memory) {
  if (memory != nullptr) ++world().releases;
}

void* arena(std::uint64_t offset) { return world().arena.data() + offset; }

std::uint32_t process_id() { return 1000; }
protocol::FieldUseAnswer use_of_failed(const void*, std::uint32_t, std::uint64_t) { return {}; }
// No test unmaps watched memory.
void clock_reads_follow(unsigned) {}
void watch_memory(MemoryGone) {}
void watch_stores(StoreSeen) {}
void watch_heap(MemoryGone, std::uint64_t, std::uint64_t) {}
void forget_heap() {}
void fill_frames(std::uint64_t (&frames)[protocol::kMostNoteFrames]) { std::ranges::fill(frames, 0); }

// No test traces calls.
void report_call(const protocol::ReportedCall&) {}
std::uint32_t reporting_thread() { return 0; }

}  // namespace verbatim::shim

__thread verbatim::protocol::ThreadSlot* verbatim_thread_slot = nullptr;
