// Commands of the verbs library: those about descriptors are answered here. The others go to the adapter,
// with the program's context number replaced by the adapter's.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/ib/types.h"
#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/kernel/kernel.h"
#include "sim/supervisor/spec/kernel_time.h"
#include "sim/supervisor/tasks/parking.h"
#include "verbs_shim/protocol/commands.h"

namespace verbatim::supervisor {

namespace {

using protocol::CommandHeader;
using protocol::CommandType;

template <class Command>
bool load(std::span<const std::byte> mailbox, Command& command) {
  if (mailbox.size() != sizeof command) return false;
  std::memcpy(&command, mailbox.data(), sizeof command);
  return true;
}

template <class Command>
Answer finish(std::span<std::byte> mailbox, Command& command, int status) {
  command.header.status = status;
  std::memcpy(mailbox.data(), &command, sizeof command);
  return {0};
}

Answer fail(std::span<std::byte> mailbox, int status) {
  CommandHeader header;
  std::memcpy(&header, mailbox.data(), sizeof header);
  header.status = status;
  std::memcpy(mailbox.data(), &header, sizeof header);
  return {0};
}

// Commands that a forked copy of the process that opened the device may use: none that involves memory of
// either.
bool is_without_memory(CommandType type) {
  switch (type) {
    case CommandType::kQueryDevice:
    case CommandType::kQueryPort:
    case CommandType::kQueryGid:
    case CommandType::kQueryPkey:
    case CommandType::kAllocPd:
    case CommandType::kDeallocPd:
    case CommandType::kAllocDm:
    case CommandType::kFreeDm:
      return true;
    default:
      return false;
  }
}

// Commands that resolve a peer's address to a link layer address.
bool asks_for_neighbour(CommandType type) { return type == CommandType::kCreateAh || type == CommandType::kModifyQp; }

// Commands that require CAP_NET_RAW (capabilities(7)).
bool needs_raw_packets(std::span<const std::byte> mailbox, CommandType type) {
  if (type == CommandType::kCreateFlow) return true;
  protocol::CreateQp create;
  return type == CommandType::kCreateQp && load(mailbox, create) &&
         create.type == static_cast<std::uint32_t>(ib::QpType::kRawPacket);
}

}  // namespace

Kernel::Outcome Kernel::command(Thread& thread) {
  note_caller(thread);
  Process& process = thread.process();
  const std::span<std::byte> shared = process.region().mailbox(thread.slot());
  const std::int64_t size = thread.call().arguments[0];
  if (size < static_cast<std::int64_t>(sizeof(CommandHeader)) ||
      size > static_cast<std::int64_t>(shared.size())) {
    return Answer{-EINVAL};
  }
  std::vector<std::byte> mailbox(shared.begin(), shared.begin() + size);
  if (thread.retried()) return await_neighbour(thread, mailbox);
  CommandHeader header;
  std::memcpy(&header, mailbox.data(), sizeof header);
  Answer answer{0};
  auto& contexts = process.contexts();
  switch (header.type) {
    case CommandType::kListDevices:
      answer = list_devices(process, mailbox);
      break;
    case CommandType::kReportRefusal:
      answer = report_refusal(process, mailbox);
      break;
    case CommandType::kOpenDevice:
      answer = open_device(process, mailbox);
      break;
    case CommandType::kImportDevice:
      answer = import_device(process, mailbox);
      break;
    default: {
      if (header.size != static_cast<std::uint32_t>(size) || header.context == 0 ||
          header.context > contexts.size() || !contexts[header.context - 1]->open()) {
        answer = fail(mailbox, EINVAL);
        break;
      }
      if (header.type == CommandType::kCloseDevice) {
        answer = close_device(process, mailbox, header.context);
        break;
      }
      if (contexts[header.context - 1]->owner() != process.pid() && !is_without_memory(header.type)) {
        answer = fail(mailbox, EINVAL);
        break;
      }
      if (header.type == CommandType::kCreateChannel) {
        answer = contexts[header.context - 1]->hca().has_failed() ? fail(mailbox, EIO) : create_channel(process, mailbox);
        break;
      }
      if (needs_raw_packets(mailbox, header.type) && !thread.credentials.may(kCapNetRaw)) {
        answer = fail(mailbox, EPERM);
        break;
      }
      DeviceContext& context = *contexts[header.context - 1];
      if (header.type == CommandType::kCreateCq) {
        protocol::CreateCq create;
        if (!load(mailbox, create)) {
          answer = fail(mailbox, EINVAL);
          break;
        }
        create.channel = 0;
        if (create.channel_fd >= 0) {
          const auto file = std::dynamic_pointer_cast<CompletionChannelFile>(process.file(create.channel_fd));
          if (file == nullptr) {
            answer = fail(mailbox, EINVAL);
            break;
          }
          create.channel = context.channel_number(file);
        }
        std::memcpy(mailbox.data(), &create, sizeof create);
      }
      auto* in_place = reinterpret_cast<CommandHeader*>(mailbox.data());
      in_place->context = context.handle();
      checks_.before_command(thread, context, mailbox, now());
      context.hca().execute(mailbox);
      checks_.after_command(thread, context, mailbox);
      in_place->context = header.context;
      if (in_place->status == ETIMEDOUT && asks_for_neighbour(header.type)) return await_neighbour(thread, mailbox);
      break;
    }
  }
  std::copy(mailbox.begin(), mailbox.end(), shared.begin());
  return answer;
}

// The adapter has reported at once that no host has the address, and has changed nothing. Linux fails after
// neighbour discovery has timed out, uninterruptible by signals (rdma_addr_find_l2_eth_by_grh).
Kernel::Outcome Kernel::await_neighbour(Thread& thread, std::span<std::byte> mailbox) {
  constexpr std::int64_t kNeighbourDiscoveryNs = 1'000'000'000;
  const bool begins = !thread.retried();
  thread.stop_waiting();
  if (begins || now() < thread.deadline()) {
    const Instant deadline = begins ? add_ns(now(), kNeighbourDiscoveryNs) : thread.deadline();
    return wait_for(thread, {}, deadline, "neighbour discovery");
  }
  thread.finish_call();
  const Answer answer = fail(mailbox, ETIMEDOUT);
  std::ranges::copy(mailbox, thread.process().region().mailbox(thread.slot()).begin());
  return answer;
}

Answer Kernel::list_devices(Process& process, std::span<std::byte> mailbox) {
  protocol::ListDevices list;
  if (!load(mailbox, list)) return fail(mailbox, EINVAL);
  const auto& devices = process.host().devices;
  list.count =
      static_cast<std::uint32_t>(std::min<std::size_t>(devices.size(), protocol::ListDevices::kMaxDevices));
  for (std::uint32_t i = 0; i < list.count; ++i) {
    auto& entry = list.devices[i];
    entry = {};
    devices[i]->device_name().copy(entry.name, sizeof entry.name - 1);
    entry.node_guid = devices[i]->address().node_guid;
    entry.port_count = 1;
    entry.vendor_id = devices[i]->profile().vendor_id;
  }
  return finish(mailbox, list, 0);
}

Answer Kernel::report_refusal(Process& process, std::span<std::byte> mailbox) {
  protocol::ReportRefusal refusal;
  if (!load(mailbox, refusal)) return fail(mailbox, EINVAL);
  const std::string_view name(refusal.function, strnlen(refusal.function, sizeof refusal.function));
  if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != name.npos) return fail(mailbox, EINVAL);
  warn(process, fmt::format("{} is refused (EOPNOTSUPP): the adapters of a simulation have the name of mlx5 adapters and "
                            "not the interface below verbs; mlx5dv_is_supported says so", name));
  return finish(mailbox, refusal, 0);
}

Answer Kernel::open_device(Process& process, std::span<std::byte> mailbox) {
  protocol::OpenDevice open;
  if (!load(mailbox, open)) return fail(mailbox, EINVAL);
  const auto& devices = process.host().devices;
  if (open.header.context >= devices.size()) return fail(mailbox, ENODEV);
  hca::Hca& hca = *devices[open.header.context];
  if (hca.has_failed()) return fail(mailbox, EIO);
  table_.note_use_of_adapter(process.host_index());
  const auto file = std::make_shared<DeviceFile>(hca.device_name());
  file->opening = std::make_shared<DeviceOpening>(hca);
  file->opening->set_file(file);
  const auto context = use_device(process, file->opening);
  open.cmd_fd = process.install(file);
  open.async_fd = process.install(context->async_file());
  open.completion_vectors = 1;
  if (open.cmd_fd < 0 || open.async_fd < 0) {
    if (open.cmd_fd >= 0) process.close(open.cmd_fd);
    return fail(mailbox, EMFILE);
  }
  process.contexts().push_back(context);
  open.context = static_cast<std::uint32_t>(process.contexts().size());
  finish(mailbox, open, 0);
  return {0, protocol::Action::kReserveTwoFds, {open.cmd_fd, open.async_fd}};
}

std::shared_ptr<DeviceContext> Kernel::use_device(Process& process, std::shared_ptr<DeviceOpening> opening) {
  process.outlives_its_end = true;  // packets in flight may still address its memory
  hca::ProgramPort port;
  port.process = process.pid();
  port.memory = &process.memory();
  // Each adapter of the host allocates from its own part of the arena.
  const auto& devices = process.host().devices;
  constexpr std::uint64_t kPartAlignment = 1 << 21;
  const std::uint64_t part = process.region().arena().size() / devices.size() / kPartAlignment * kPartAlignment;
  const auto number = static_cast<std::uint64_t>(std::ranges::find(devices, &opening->hca()) - devices.begin());
  port.arena_offset = number * part;
  port.arena = process.region().arena().subspan(port.arena_offset, part);
  port.region = process.shared_region();
  return std::make_shared<DeviceContext>(
      std::move(opening), port, [this, &process](const std::string& warning) { warn(process, warning); },
      [&process, number = process.contexts().size() + 1](std::uint32_t cq_number) {
        for (auto& thread : process.threads()) {
          const Parked* parked = thread->parked();
          if (parked == nullptr || parked->kind != Parked::Kind::kPoll) continue;
          if (parked->polls(static_cast<std::uint32_t>(number), cq_number)) thread->unpark();
        }
      });
}

Answer Kernel::import_device(Process& process, std::span<std::byte> mailbox) {
  protocol::ImportDevice import;
  if (!load(mailbox, import)) return fail(mailbox, EINVAL);
  const auto file = std::dynamic_pointer_cast<DeviceFile>(process.file(import.cmd_fd));
  if (file == nullptr) return fail(mailbox, process.file(import.cmd_fd) == nullptr ? EBADF : EINVAL);
  if (file->opening == nullptr) return fail(mailbox, EINVAL);
  if (file->opening->hca().has_failed()) return fail(mailbox, EIO);
  const auto context = use_device(process, file->opening);
  import.async_fd = process.install(context->async_file());
  if (import.async_fd < 0) return fail(mailbox, EMFILE);
  import.completion_vectors = 1;
  const auto& devices = process.host().devices;
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    if (devices[i] == &context->hca()) import.device = i;
  }
  process.contexts().push_back(context);
  import.context = static_cast<std::uint32_t>(process.contexts().size());
  finish(mailbox, import, 0);
  return {0, protocol::Action::kReserveFd, {import.async_fd, 0}};
}

Answer Kernel::close_device(Process& process, std::span<std::byte> mailbox, std::uint32_t context) {
  DeviceContext& opened = *process.contexts()[context - 1];
  if (opened.owner() == process.pid()) {
    if (const auto opening = opened.close(); opening != nullptr) opening->close_if_last(process.descriptor_table());
  }
  return fail(mailbox, 0);
}

Answer Kernel::create_channel(Process& process, std::span<std::byte> mailbox) {
  protocol::CreateChannel create;
  if (!load(mailbox, create)) return fail(mailbox, EINVAL);
  create.fd = process.install(std::make_shared<CompletionChannelFile>("completion channel"));
  if (create.fd < 0) return fail(mailbox, EMFILE);
  finish(mailbox, create, 0);
  return {0, protocol::Action::kReserveFd, {create.fd, 0}};
}

}  // namespace verbatim::supervisor
