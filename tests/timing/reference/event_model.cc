// Runs a case with sim/fabric.
#include <algorithm>
#include <memory>

#include "sim/core/trace.h"
#include "sim/fabric/switch.h"
#include "sim/ib/ecn.h"
#include "tests/fabric/windows.h"
#include "tests/timing/reference/link_params.h"

namespace verbatim::timing {
namespace {

fabric::ArbitrationTables tables_of(const DeviceCase& device) {
  fabric::ArbitrationTables tables;
  tables.high_limit = device.high_limit;
  tables.high.clear();
  tables.low.clear();
  for (const Weight& w : device.high) tables.high.push_back({w.lane, w.weight});
  for (const Weight& w : device.low) tables.low.push_back({w.lane, w.weight});
  return tables;
}

std::vector<fabric::LevelMapping> lanes_of(const DeviceCase& device) {
  std::vector<fabric::LevelMapping> lanes;
  for (std::uint32_t level = 0; level < 16; ++level) lanes.push_back({level, device.lane_of_level[level]});
  return lanes;
}

fabric::SharedMemoryParams memory_of(const DeviceCase& device) {
  const MemoryCase& memory = device.memory;
  fabric::SharedMemoryParams params;
  params.bytes = memory.bytes;
  params.cell_bytes = memory.cell_bytes;
  params.reserved_bytes = memory.reserved_bytes;
  params.lossless_alpha_log2 = memory.lossless_alpha;
  params.lossy_alpha_log2 = memory.lossy_alpha;
  params.output_alpha_log2 = memory.output_alpha;
  params.resume_offset_bytes = memory.resume_offset_bytes;
  return params;
}

std::shared_ptr<const fabric::MarkingParams> marking_of(const DeviceCase& device) {
  auto params = std::make_shared<fabric::MarkingParams>();
  params->where = device.marks_at_enqueue ? fabric::MarkingParams::Where::kEnqueue : fabric::MarkingParams::Where::kDequeue;
  for (std::size_t lane = 0; lane < device.marks.size(); ++lane) {
    params->curves[lane] = {device.marks[lane].least, device.marks[lane].most, device.marks[lane].ppm};
  }
  return params;
}

struct Log final : TraceSink {
  std::vector<Passing> passings;
  void on_record(const TraceRecord& record, std::span<const std::byte>) override {
    const auto first = static_cast<std::uint32_t>(record.values[0]), second = static_cast<std::uint32_t>(record.values[1]),
               number = static_cast<std::uint32_t>(record.values[2]), detail = static_cast<std::uint32_t>(record.values[3]);
    const auto add = [&](Moment moment, std::uint32_t packet, std::uint32_t with) {
      passings.push_back({record.component, record.time_ps, moment, packet, with});
    };
    switch (record.event) {
      case TraceEvent::kPacketTransmitted: return add(Moment::kStart, number, 0);
      case TraceEvent::kPacketReceived: return add(Moment::kHead, number, 0);
      case TraceEvent::kPacketDropped: return add(Moment::kDrop, number, detail);
      case TraceEvent::kPacketMarked: return add(Moment::kMark, number, detail);
      case TraceEvent::kPauseFrame: return add(Moment::kPause, first, second);
      default: return;
    }
  }
};

struct Adapter final : fabric::PacketSink {
  Adapter(const FabricCase& fabric, std::uint32_t device, Engine& engine, Tracer& tracer, Log& log)
      : fabric_case(fabric),
        device(device),
        engine(engine),
        log(log),
        port(engine, tracer, ComponentId{fabric.first_port(device)}, fabric::PortNumber{1},
             params_of(fabric.devices[device]), *this),
        timer(Timer::of<&Adapter::send>(engine, port.id(), EventClass::kStage, this)) {
    for (std::uint32_t i = 0; i < fabric.packets.size(); ++i) {
      if (fabric.packets[i].from == device) outgoing.push_back(i);
    }
    schedule();
  }

  static fabric::PortParams params_of(const DeviceCase& device) {
    fabric::PortParams params;
    params.virtual_lanes = device.lanes;
    params.input_buffer_bytes = device.buffer_bytes;
    params.vl15_buffer_bytes = device.vl15_buffer_bytes;
    params.output_queue_bytes = 1u << 30;
    params.arbitration = tables_of(device);
    params.sl_to_vl = lanes_of(device);
    return params;
  }

  void schedule() {
    if (next < outgoing.size()) timer.schedule_at(instant_from_ps(fabric_case.packets[outgoing[next]].send_ps));
  }

  void send() {
    for (; next < outgoing.size(); ++next) {
      const PacketCase& wanted = fabric_case.packets[outgoing[next]];
      if (wanted.send_ps != to_ps(engine.now())) break;
      auto packet = std::make_unique<ib::Packet>();
      packet->lrh.destination = ib::Lid{static_cast<std::uint16_t>(wanted.to)};
      packet->lrh.service_level = ib::ServiceLevel{static_cast<std::uint8_t>(wanted.level)};
      packet->lrh.lane = wanted.management ? fabric::kManagementLane : port.lane_of(packet->lrh.service_level);
      packet->bth.opcode = ib::make_opcode(ib::Transport::kRc, ib::Operation::kSendMiddle);
      packet->bth.psn = ib::Psn{outgoing[next]};
      packet->payload.length = wanted.wire_bytes - (wanted.is_roce ? kRoceOverheadBytes : kInfiniBandOverheadBytes);
      if (wanted.is_roce) {
        packet->ethernet.emplace().destination = ib::MacAddress{wanted.to};
        const auto dscp = static_cast<std::uint8_t>(8 * wanted.level);
        packet->grh.emplace().traffic_class = ib::with_ecn(static_cast<std::uint8_t>(dscp << ib::kDscpShift),
                                                           wanted.takes_marks ? ib::Ecn::kCapable0 : ib::Ecn::kNotCapable);
      }
      CHECK(packet->wire_bytes() == wanted.wire_bytes);
      port.send(std::move(packet));
    }
    schedule();
  }

  void receive(fabric::PortNumber, ib::PacketPtr packet, fabric::ArrivalTimes times) override {
    const std::uint32_t number = packet->bth.psn.value;
    if (!port.admit(*packet)) {
      const auto reason = static_cast<std::uint32_t>(fabric::full_buffer_reason(packet->lrh.lane));
      log.passings.push_back({port.id().value, to_ps(times.head), Moment::kDrop, number, reason});
      return;
    }
    log.passings.push_back({port.id().value, to_ps(times.tail), Moment::kTail, number});
    port.release(packet->lrh.lane, packet->wire_bytes(),
                 times.tail + Duration(fabric_case.packets[number].keep_ps));
  }

  const FabricCase& fabric_case;
  const std::uint32_t device;
  Engine& engine;
  Log& log;
  fabric::Port port;
  Timer timer;
  std::vector<std::uint32_t> outgoing;
  std::size_t next = 0;
};

}  // namespace

fabric::LinkParams link_params_of(const LinkCase& link) {
  fabric::LinkParams params{ByteTime{link.rate.ps, link.rate.per_bytes}, Duration(link.propagation_ps)};
  params.bytes_before = link.bytes_before;
  params.bytes_after = link.bytes_after;
  params.header_bytes = link.header_bytes;
  params.credit_update_bytes = link.credit_bytes;
  params.credit_update_interval = Duration(link.credit_interval_ps);
  params.credit_refresh_interval = Duration(link.refresh_interval_ps);
  if (link.control == Control::kCredits) return params;
  params.flow_control = link.control == Control::kNone ? fabric::FlowControlKind::kNone : fabric::FlowControlKind::kPause;
  params.lossless_lanes = static_cast<std::uint8_t>(link.lossless_lanes);
  params.pause_quanta = static_cast<std::uint16_t>(link.quanta);
  params.pause_response = Duration(link.response_ps);
  params.headroom_bytes = link.headroom_bytes;
  return params;
}

std::vector<Passing> run_event_model(const FabricCase& fabric_case, bool in_windows) {
  Engine engine;
  Tracer tracer(engine);
  Log log;
  tracer.add(log);
  const auto count = static_cast<std::uint32_t>(fabric_case.devices.size());
  const std::uint32_t ports = fabric_case.first_port(count);
  std::vector<std::unique_ptr<Adapter>> adapters(count);
  std::vector<std::unique_ptr<fabric::Switch>> switches(count);
  for (std::uint32_t d = 0; d < count; ++d) {
    const DeviceCase& device = fabric_case.devices[d];
    if (!device.is_switch) {
      adapters[d] = std::make_unique<Adapter>(fabric_case, d, engine, tracer, log);
      continue;
    }
    fabric::SwitchProfile profile;
    profile.core_clock_hz = device.clock_hz;
    profile.cut_through_cycles = device.cut_through_cycles;
    profile.lookup_interval_cycles = device.lookup_interval_cycles;
    profile.virtual_lanes = device.lanes;
    profile.input_buffer_bytes = device.buffer_bytes;
    profile.vl15_buffer_bytes = device.vl15_buffer_bytes;
    profile.crossbar_speedup = device.crossbar_speedup;
    profile.head_lifetime = Duration(device.head_lifetime_ps);
    profile.stall_count = device.stall_count;
    profile.lifetime = Duration(device.lifetime_ps);
    profile.arbitration = tables_of(device);
    profile.sl_to_vl = lanes_of(device);
    profile.shared_memory = memory_of(device);
    std::vector<ComponentId> ids;
    for (std::uint32_t p = 0; p < device.ports; ++p) ids.push_back(ComponentId{fabric_case.first_port(d) + p});
    switches[d] = std::make_unique<fabric::Switch>(engine, tracer, ComponentId{ports + d}, profile, ids);
    std::vector<fabric::PortNumber> table;
    for (const std::uint32_t output : device.output) table.push_back(fabric::PortNumber{static_cast<std::uint8_t>(output)});
    switches[d]->set_forwarding_table(table);
    if (device.marks.empty()) continue;
    for (std::uint32_t p = 0; p < device.ports; ++p) {
      switches[d]->port(fabric::PortNumber{static_cast<std::uint8_t>(p + 1)})
          .set_marking(marking_of(device), Rng(device.mark_seed, mark_stream(fabric_case.first_port(d) + p)));
    }
  }
  const auto port = [&](std::uint32_t device, std::uint32_t number) -> fabric::Port& {
    return adapters[device] ? adapters[device]->port
                            : switches[device]->port(fabric::PortNumber{static_cast<std::uint8_t>(number)});
  };
  fabric::Windows windows(engine, in_windows);
  for (const LinkCase& link : fabric_case.links) {
    windows.connect(port(link.device[0], link.port[0]), port(link.device[1], link.port[1]), link_params_of(link));
  }
  windows.run();
  std::sort(log.passings.begin(), log.passings.end());
  return log.passings;
}

}  // namespace verbatim::timing
