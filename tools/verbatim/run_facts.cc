#include "tools/verbatim/run_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "sim/core/words.h"
#include "sim/ib/packet.h"
#include "sim/observe/microseconds.h"
#include "tools/verbatim/recording_kinds.h"
#include "verbs_shim/protocol/commands.h"

namespace verbatim::cli {

namespace {

using protocol::CommandType;

// The command, if it is complete.
template <class Command>
std::optional<Command> read(std::span<const std::byte> command) {
  if (command.size() < sizeof(Command)) return std::nullopt;
  Command read;
  std::memcpy(&read, command.data(), sizeof read);
  return read;
}

std::string region_of(const protocol::RegMr& made) {
  return fmt::format("region  handle={} va={:#x} iova={:#x} length={} lkey={:#x} rkey={:#x} access={:#x}", made.handle, made.start,
                     made.iova, made.length, made.lkey, made.rkey, made.access);
}

// The trace line of an object that the command creates or destroys; "" for other commands.
std::string fact_of(std::span<const std::byte> command) {
  const auto header = read<protocol::CommandHeader>(command);
  if (!header) return "";
  const auto ends = [&](const char* kind) {
    const auto destroyed = read<protocol::DestroyObject>(command);
    return destroyed ? fmt::format("{}-ends  handle={}", kind, destroyed->handle) : "";
  };
  switch (header->type) {
    case CommandType::kRegMr:
      if (const auto made = read<protocol::RegMr>(command)) return region_of(*made);
      return "";
    case CommandType::kDeregMr:
      return ends("region");
    case CommandType::kCreateCq:
      if (const auto made = read<protocol::CreateCq>(command))
        return fmt::format("completion-queue  handle={} number={} entries={}", made->handle, made->number, made->cqe);
      return "";
    case CommandType::kCreateQp:
      if (const auto made = read<protocol::CreateQp>(command)) {
        return fmt::format("queue-pair  handle={} number={} send={} receive={} srq={} send_cq={} recv_cq={}", made->handle,
                           made->number, made->capabilities.max_send_wr, made->capabilities.max_recv_wr, made->srq, made->send_cq,
                           made->recv_cq);
      }
      return "";
    case CommandType::kCreateSrq:
      if (const auto made = read<protocol::CreateSrq>(command))
        return fmt::format("shared-receive-queue  handle={} number={} entries={}", made->handle, made->number, made->max_wr);
      return "";
    default:
      return "";
  }
}

constexpr const char* kQueues[] = {"cq", "qp", "srq"};

}  // namespace

RunFacts::RunFacts(const ComponentTable& components, Write write)
    : components_(components), write_(std::move(write)), queues_([this](const QueueChanges::Change& change) {
        write_(join(observe::microseconds(change.time_ps), " us  ", components_.name(change.port), "  ", kOutputQueueName, "  vl=",
                    change.lane, " bytes=", change.bytes, "\n"));
      }) {}

void RunFacts::write_fabric(const config::TopologySpec& topology) {
  const std::string start = observe::microseconds(0) + " us  fabric  ";
  for (const config::HostSpec& host : topology.hosts) write_(join(start, "node  kind=host name=", host.name, "\n"));
  for (const config::SwitchSpec& one : topology.switches) write_(join(start, "node  kind=switch name=", one.name, "\n"));
  const auto end = [&](const config::Endpoint& at) { return join(topology.node_name(at), ":", at.port); };
  for (const config::LinkSpec& link : topology.links) {
    std::string rate = config::format_link_rate(link.rate);
    std::ranges::replace(rate, ' ', '_');
    write_(join(start, "link  a=", end(link.end_a), " b=", end(link.end_b), " rate=", rate, "\n"));
  }
}

void RunFacts::on_wait(const supervisor::ThreadWait& wait) {
  std::string what = wait.what;
  std::ranges::replace(what, ' ', '_');
  write_(join(observe::microseconds(wait.to_ps), " us  ", components_.name(wait.host), "  wait  pid=", wait.pid, " tid=", wait.tid,
              " since=", observe::microseconds(wait.from_ps), " what=", what.empty() ? "-" : what, "\n"));
}

void RunFacts::on_command(ComponentId adapter, std::uint32_t process, std::span<const std::byte> command, Instant now) {
  if (process == 0) return;
  const std::string fact = fact_of(command);
  if (fact.empty()) return;
  write_(join(observe::microseconds(verbatim::to_ps(now)), " us  ", components_.name(adapter), "  ", fact, " process=", process, "\n"));
}

void RunFacts::on_level(ComponentId adapter, Queue queue, std::uint32_t number, std::uint32_t level, Instant now) {
  write_(join(observe::microseconds(verbatim::to_ps(now)), " us  ", components_.name(adapter), "  level  of=", kQueues[static_cast<int>(queue)],
              " number=", number, " level=", level, "\n"));
}

void RunFacts::on_credits(ComponentId port, std::uint32_t lane, std::uint32_t blocks, std::uint32_t of, Instant now) {
  write_(join(observe::microseconds(verbatim::to_ps(now)), " us  ", components_.name(port), "  credits  vl=", lane, " blocks=", blocks,
              " of=", of, "\n"));
}

void RunFacts::on_output_queue(ComponentId port, std::uint32_t lane, std::uint64_t bytes, Instant now) {
  queues_.put({port, lane, bytes, verbatim::to_ps(now)});
}

void RunFacts::on_packet(const TraceRecord& record, const ib::Packet& packet, ComponentId) {
  const bool is_mark = record.event == TraceEvent::kPacketMarked;
  if (!is_mark && record.event != TraceEvent::kPacketDropped) return;
  const std::string start = join(observe::microseconds(record.time_ps), " us  ", components_.name(ComponentId{record.component}), "  ");
  const std::uint32_t lane = packet.lrh.lane.value;
  write_(is_mark ? join(start, kMarkName, "  vl=", lane, "\n") : join(start, kDropName, "  vl=", lane, " reason=", record.values[3], "\n"));
}

void RunFacts::on_completion(ComponentId adapter, std::uint32_t cqn, std::uint32_t qpn, bool is_receive, Instant now) {
  write_(join(observe::microseconds(verbatim::to_ps(now)), " us  ", components_.name(adapter), "  completed  cqn=", cqn, " qpn=", qpn,
              " receive=", is_receive ? 1 : 0, "\n"));
}

void RunFacts::on_placement(const TraceRecord& write, std::uint32_t qpn, bool is_response) {
  write_(fmt::format("{} us  {}  placement  process={} va={:#x} length={} qpn={} response={}\n", observe::microseconds(write.time_ps),
                     components_.name(ComponentId{write.component}), write.values[0], write.values[1], write.values[2], qpn,
                     is_response ? 1 : 0));
}

}  // namespace verbatim::cli
