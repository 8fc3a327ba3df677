// Commands of the verbs library: those about descriptors are answered here. The others go to the adapter,
// with the program's context number replaced by the adapter's.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/ib/types.h"
#include "sim/supervisor/files/device_files.h"
#include "sim/supervisor/kernel/checks.h"
#include "sim/supervisor/kernel/device_commands.h"
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

// The adapter has reported at once that no host has the address, and has changed nothing. Linux fails after
// neighbour discovery has timed out, uninterruptible by signals (rdma_addr_find_l2_eth_by_grh).
CallOutcome await_neighbour(CallContext& call, std::span<std::byte> mailbox) {
  constexpr std::int64_t kNeighbourDiscoveryNs = 1'000'000'000;
  const bool begins = !call.is_retry();
  call.thread.stop_waiting();
  if (begins || call.now() < call.deadline()) {
    const Instant deadline = begins ? add_ns(call.now(), kNeighbourDiscoveryNs) : call.deadline();
    return call.wait_for({}, deadline, "neighbour discovery");
  }
  call.thread.finish_call();
  const Answer answer = fail(mailbox, ETIMEDOUT);
  std::ranges::copy(mailbox, call.process.region().mailbox(call.thread.slot()).begin());
  return answer;
}

Answer list_devices(CallContext& call, std::span<std::byte> mailbox) {
  protocol::ListDevices list;
  if (!load(mailbox, list)) return fail(mailbox, EINVAL);
  const auto& devices = call.process.host().devices;
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

Answer report_refusal(CallContext& call, std::span<std::byte> mailbox) {
  protocol::ReportRefusal refusal;
  if (!load(mailbox, refusal)) return fail(mailbox, EINVAL);
  const std::string_view name(refusal.function, strnlen(refusal.function, sizeof refusal.function));
  if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != name.npos) return fail(mailbox, EINVAL);
  call.warn(fmt::format(
      "{} is refused (EOPNOTSUPP): the adapters of a simulation have the name of mlx5 adapters and "
      "not the interface below verbs; mlx5dv_is_supported says so",
      name));
  return finish(mailbox, refusal, 0);
}

std::shared_ptr<DeviceContext> use_device(CallContext& call, std::shared_ptr<DeviceOpening> opening) {
  Process& process = call.process;
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
      std::move(opening), port,
      [&services = call.services, &process](const std::string& warning) {
        services.report(process, warning, false);
      },
      [&process, number = process.devices().next_number()](std::uint32_t cq_number) {
        for (auto& thread : process.threads()) {
          const Parked* parked = thread->parking.loop();
          if (parked == nullptr || parked->kind != Parked::Kind::kPoll) continue;
          if (parked->polls(number, cq_number)) thread->unpark();
        }
      });
}

Answer open_device(CallContext& call, std::span<std::byte> mailbox) {
  protocol::OpenDevice open;
  if (!load(mailbox, open)) return fail(mailbox, EINVAL);
  const auto& devices = call.process.host().devices;
  if (open.header.context >= devices.size()) return fail(mailbox, ENODEV);
  hca::Hca& hca = *devices[open.header.context];
  if (hca.has_failed()) return fail(mailbox, EIO);
  call.table.note_use_of_adapter(call.process.host_index());
  const auto file = std::make_shared<DeviceFile>(hca.device_name());
  file->opening = std::make_shared<DeviceOpening>(hca);
  file->opening->set_file(file);
  const auto context = use_device(call, file->opening);
  open.cmd_fd = call.process.files().install(file);
  open.async_fd = call.process.files().install(context->async_file());
  open.completion_vectors = 1;
  if (open.cmd_fd < 0 || open.async_fd < 0) {
    if (open.cmd_fd >= 0) call.process.files().close(open.cmd_fd);
    return fail(mailbox, EMFILE);
  }
  open.context = call.process.devices().add(context);
  finish(mailbox, open, 0);
  return {0, protocol::Action::kReserveTwoFds, {open.cmd_fd, open.async_fd}};
}

Answer import_device(CallContext& call, std::span<std::byte> mailbox) {
  protocol::ImportDevice import;
  if (!load(mailbox, import)) return fail(mailbox, EINVAL);
  const auto file = call.file_of_kind<DeviceFile>(import.cmd_fd);
  if (file == nullptr) return fail(mailbox, call.process.files().at(import.cmd_fd) == nullptr ? EBADF : EINVAL);
  if (file->opening == nullptr) return fail(mailbox, EINVAL);
  if (file->opening->hca().has_failed()) return fail(mailbox, EIO);
  const auto context = use_device(call, file->opening);
  import.async_fd = call.process.files().install(context->async_file());
  if (import.async_fd < 0) return fail(mailbox, EMFILE);
  import.completion_vectors = 1;
  const auto& devices = call.process.host().devices;
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    if (devices[i] == &context->hca()) import.device = i;
  }
  import.context = call.process.devices().add(context);
  finish(mailbox, import, 0);
  return {0, protocol::Action::kReserveFd, {import.async_fd, 0}};
}

Answer close_device(CallContext& call, std::span<std::byte> mailbox, DeviceContext& opened) {
  if (opened.owner() == call.process.pid()) {
    if (const auto opening = opened.close(); opening != nullptr)
      opening->close_if_last(call.process.files().table());
  }
  return fail(mailbox, 0);
}

Answer create_channel(CallContext& call, std::span<std::byte> mailbox) {
  protocol::CreateChannel create;
  if (!load(mailbox, create)) return fail(mailbox, EINVAL);
  create.fd = call.process.files().install(std::make_shared<CompletionChannelFile>("completion channel"));
  if (create.fd < 0) return fail(mailbox, EMFILE);
  finish(mailbox, create, 0);
  return {0, protocol::Action::kReserveFd, {create.fd, 0}};
}

// Time of a copy to or from device memory, which involves no kernel: stores are combined into cache lines and
// posted one after another; each load of a word waits for its completion.
std::optional<Duration> copy_cost(Thread& thread, const hca::HcaProfile& profile) {
  protocol::CopyDm copy;
  const std::span<const std::byte> mailbox = thread.process().region().mailbox(thread.slot());
  std::memcpy(&copy, mailbox.data(), sizeof copy);
  if (copy.header.type != protocol::CommandType::kCopyDm || copy.length > profile.max_dm_size)
    return std::nullopt;
  const protocol::CallCosts& costs = thread.process().host().costs;
  constexpr std::int64_t kLine = 64, kWord = 4;
  const auto length = static_cast<std::int64_t>(copy.length);
  if (copy.to_device != 0)
    return Duration(costs.doorbell_ps + (length + kLine - 1) / kLine * costs.inline_line_ps);
  return 2 * profile.pcie.one_way_latency * (length / kWord);
}

// The device that a command addresses: that of its context, or the one to open; the first device if it names
// none.
const hca::Hca* device_of_command(Thread& thread) {
  Process& process = thread.process();
  const auto& devices = process.host().devices;
  if (devices.empty()) return nullptr;
  protocol::CommandHeader header;
  std::memcpy(&header, process.region().mailbox(thread.slot()).data(), sizeof header);
  if (header.type == protocol::CommandType::kOpenDevice)
    return header.context < devices.size() ? devices[header.context] : devices.front();
  DeviceContext* const context = process.devices().find(header.context);
  return context != nullptr && context->is_open() ? &context->hca() : devices.front();
}

}  // namespace

CallOutcome execute_command(CallContext& call) {
  Process& process = call.process;
  const std::span<std::byte> shared = process.region().mailbox(call.thread.slot());
  const std::int64_t size = call.arguments[0];
  if (size < static_cast<std::int64_t>(sizeof(CommandHeader)) ||
      size > static_cast<std::int64_t>(shared.size())) {
    return Answer{-EINVAL};
  }
  std::vector<std::byte> mailbox(shared.begin(), shared.begin() + size);
  if (call.is_retry()) return await_neighbour(call, mailbox);
  CommandHeader header;
  std::memcpy(&header, mailbox.data(), sizeof header);
  Answer answer{0};
  switch (header.type) {
    case CommandType::kListDevices:
      answer = list_devices(call, mailbox);
      break;
    case CommandType::kReportRefusal:
      answer = report_refusal(call, mailbox);
      break;
    case CommandType::kOpenDevice:
      answer = open_device(call, mailbox);
      break;
    case CommandType::kImportDevice:
      answer = import_device(call, mailbox);
      break;
    default: {
      DeviceContext* const named = process.devices().find(header.context);
      if (header.size != static_cast<std::uint32_t>(size) || named == nullptr || !named->is_open()) {
        answer = fail(mailbox, EINVAL);
        break;
      }
      if (header.type == CommandType::kCloseDevice) {
        answer = close_device(call, mailbox, *named);
        break;
      }
      DeviceContext& context = *named;
      if (context.owner() != process.pid() && !is_without_memory(header.type)) {
        answer = fail(mailbox, EINVAL);
        break;
      }
      if (header.type == CommandType::kCreateChannel) {
        answer = context.hca().has_failed() ? fail(mailbox, EIO) : create_channel(call, mailbox);
        break;
      }
      if (needs_raw_packets(mailbox, header.type) && !call.thread.credentials.may(kCapNetRaw)) {
        answer = fail(mailbox, EPERM);
        break;
      }
      if (header.type == CommandType::kCreateCq) {
        protocol::CreateCq create;
        if (!load(mailbox, create)) {
          answer = fail(mailbox, EINVAL);
          break;
        }
        create.channel = 0;
        if (create.channel_fd >= 0) {
          const auto file = call.file_of_kind<CompletionChannelFile>(create.channel_fd);
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
      call.services.checks.before_command(call.thread, context, mailbox, call.now());
      context.hca().execute(mailbox);
      call.services.checks.after_command(call.thread, context, mailbox);
      in_place->context = header.context;
      if (in_place->status == ETIMEDOUT && asks_for_neighbour(header.type))
        return await_neighbour(call, mailbox);
      break;
    }
  }
  std::copy(mailbox.begin(), mailbox.end(), shared.begin());
  return answer;
}

Duration cost_of_command(Thread& thread) {
  const hca::Hca* const device = device_of_command(thread);
  if (device == nullptr) return Duration(thread.process().host().costs.system_call_ps);
  return copy_cost(thread, device->profile()).value_or(device->profile().command_latency);
}

}  // namespace verbatim::supervisor
