#include "sim/config/profile_rows.h"
#include "sim/config/spec.h"
#include "sim/config/tables.h"
#include "sim/hca/congestion/controllers.h"
#include "verbs_shim/protocol/commands.h"

namespace verbatim::config {

namespace {

using fabric::SwitchProfile;
using protocol::CallCosts;

const Object& arbitration_entry_table() {
  using E = fabric::ArbitrationEntry;
  static const Object table = make_object<E>(
      "an arbitration entry", "one turn of a lane",
      {bind<&E::lane>({.key = "lane", .kind = Kind::kInteger, .required = true, .doc = "data lane", .max = 14}),
       bind<&E::weight>({.key = "weight",
                         .kind = Kind::kInteger,
                         .required = true,
                         .doc = "data that it may send in this turn, in units of 64 bytes; 0: no turn",
                         .max = 255})});
  return table;
}

const Object& shared_memory_table() {
  static const Object table = [] {
    using M = fabric::SharedMemoryParams;
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 32;
    const auto alpha = []<auto Member>(std::string_view key, std::string_view doc) {
      return bind<Member>({.key = key,
                           .kind = Kind::kInteger,
                           .doc = doc,
                           .min = fabric::SharedBuffer::kLeastAlpha,
                           .max = fabric::SharedBuffer::kMostAlpha});
    };
    Object object = make_object<M>(
        "shared memory", "memory that all ports share on links without credits: reserves, headrooms, and a pool with dynamic thresholds",
        {source_row(), size<&M::bytes>("size", "all of it; 0: each port and lane has its input_buffer", 0, kMostBytes),
         size<&M::cell_bytes>("cell", "a packet takes whole cells", 1, 4096),
         size<&M::reserved_bytes>("reserved", "for each lane of a port", 0, kMostBytes / 1024),
         alpha.template operator()<&M::lossless_alpha_log2>(
             "lossless_alpha_log2",
             "a lossless lane of a port may have 2 to this power, times what is free of the pool, before it is paused (dynamic_th)"),
         alpha.template operator()<&M::lossy_alpha_log2>("lossy_alpha_log2", "the same of a lossy lane, which drops then"),
         alpha.template operator()<&M::output_alpha_log2>("output_alpha_log2",
                                                          "the same of what waits in an output's lane, for a lossy packet that joins it"),
         size<&M::resume_offset_bytes>("resume_offset", "so much below its threshold a paused lane is resumed", 0, kMostBytes / 1024)});
    object.annotated = true;
    return object;
  }();
  return table;
}

const Object& marking_table() {
  static const Object table = [] {
    using M = fabric::MarkingProfile;
    using Q = fabric::MarkedQueues;
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 32;
    static const Object queues = make_object<Q>(
        "marked queues", "output queues that mark by one curve",
        {source_row(),
         bind<&Q::priorities>(
             {.key = "priorities", .kind = Kind::kText, .doc = "such as \"3\", \"3,4\" or \"0-7\"; with fewer lanes than 8, lanes"}),
         bind<&Q::least_bytes>({.key = "kmin", .kind = Kind::kSize, .required = true, .doc = "up to so much no packet is marked", .max = kMostBytes}),
         bind<&Q::most_bytes>({.key = "kmax", .kind = Kind::kSize, .required = true, .doc = "above so much every packet is", .max = kMostBytes}),
         count<&Q::probability_percent>("pmax_percent", "percentage of packets marked at kmax; between kmin and kmax in proportion", 1, 100),
         bind<&Q::at_rate>({.key = "at_rate",
                            .kind = Kind::kLinkRate,
                            .doc = "the thresholds apply to a port of this rate, and in proportion to other rates; left out: of all ports"})});
    Object object = make_object<M>(
        "marking", "marks of congestion for packets whose senders understand them (ECN), by what waits in an output queue at that instant",
        {source_row(),
         bind<&M::where>({.key = "where",
                          .kind = Kind::kText,
                          .doc = "dequeue: when a packet starts, by what it leaves behind; enqueue: when it joins, by what is there",
                          .choices = {"dequeue", "enqueue"}}),
         bind_objects<&M::queues>({.key = "queues", .kind = Kind::kObjects, .doc = "without any, nothing is marked"}, queues)});
    object.annotated = true;
    return object;
  }();
  return table;
}

const Object& watchdog_table() {
  static const Object table = [] {
    using W = fabric::WatchdogProfile;
    const auto time = []<auto Member>(std::string_view key, std::string_view doc) {
      return bind<Member>({.key = key, .kind = Kind::kDuration, .doc = doc, .min = 1'000, .max = 1'000 * kSecondPs});
    };
    Object object = make_object<W>(
        "a PFC watchdog", "looks for a priority of an output that the far end pauses without end (SONiC's pfcwd)",
        {source_row(),
         bind<&W::action>({.key = "action",
                           .kind = Kind::kText,
                           .doc = "in such a storm. drop: packets in the queue and arriving ones are dropped until the storm is over; "
                                  "forward: they leave as if there were no pause; alert: it is recorded; off: no watchdog",
                           .choices = {"off", "drop", "forward", "alert"}}),
         time.template operator()<&W::detection>("detection_time",
                                                 "a storm: a queue was not empty, nothing left it, and it was paused, for so long. SONiC: 200 ms for "
                                                 "up to 32 ports, as much more for each 32 further ones; it polls, here a storm is found at once"),
         time.template operator()<&W::restoration>("restoration_time", "the storm is over: there was no pause for so long; SONiC: as detection_time")});
    object.annotated = true;
    return object;
  }();
  return table;
}

const Object& call_costs_table() {
  static const Object table = [] {
    using C = CallCosts;
    const auto cost = []<auto Member>(std::string_view key, std::string_view doc) {
      return bind<Member>(
          {.key = key, .kind = Kind::kDuration, .required = true, .doc = doc, .min = 0, .max = kSecondPs});
    };
    Object object = make_object<C>(
        "call costs", "processor time of calls",
        {source_row(),
         cost.operator()<&C::post_send_ps>("post_send", "ibv_post_send or wr_complete, per call"),
         cost.operator()<&C::post_send_wqe_ps>("post_send_wqe", "and per work request in it"),
         cost.operator()<&C::post_recv_ps>("post_recv", "ibv_post_recv, per call"),
         cost.operator()<&C::post_recv_wqe_ps>("post_recv_wqe", "and per work request in it"),
         cost.operator()<&C::doorbell_ps>("doorbell", "MMIO write of the doorbell, on the processor's side"),
         cost.operator()<&C::inline_line_ps>("inline_line",
                                             "per started 64 bytes of inline data copied into a WQE"),
         cost.operator()<&C::poll_empty_ps>("poll_empty", "ibv_poll_cq that finds nothing"),
         cost.operator()<&C::poll_cqe_ps>("poll_cqe", "per work completion that ibv_poll_cq returns"),
         cost.operator()<&C::arm_cq_ps>("arm_cq", "ibv_req_notify_cq"),
         cost.operator()<&C::system_call_ps>("system_call", "a system call without a cost of its own"),
         cost.operator()<&C::clock_read_ps>("clock_read", "the first of a row of clock reads"),
         cost.operator()<&C::timestamp_counter_ps>("timestamp_counter", "rdtsc"),
         duration<&C::event_wake_up_ps>("event_wake_up",
                                        "from a completion or asynchronous event being readable to the thread running "
                                        "program that sleeps for it, in a read, poll, select or epoll_wait")});
    // Each of these calls must take time, or a loop that waits by calling it would stay at one instant for
    // ever.
    for (Field& field : object.fields) {
      if (field.key == "poll_empty" || field.key == "system_call" || field.key == "clock_read" ||
          field.key == "timestamp_counter") {
        field.min = 1'000;
      }
    }
    object.annotated = true;
    return object;
  }();
  return table;
}

}  // namespace

const Object& level_mapping_table() {
  using L = fabric::LevelMapping;
  static const Object table = make_object<L>(
      "a service level's lane", "lane by which packets of a service level leave (IBA 7.6.6)",
      {bind<&L::level>({.key = "level", .kind = Kind::kInteger, .required = true, .doc = "service level", .max = 15}),
       bind<&L::lane>({.key = "lane",
                       .kind = Kind::kInteger,
                       .required = true,
                       .doc = "data lane, modulo those that both ends of the link have; 15: such packets are dropped",
                       .max = 15})});
  return table;
}

Field sl_to_vl_row(Field field) {
  field.key = "sl_to_vl";
  field.kind = Kind::kObjects;
  field.doc = "lanes of service levels, on Ethernet of priorities; those left out have 0, 1, 2, … 14, 7, as OpenSM sets them";
  return field;
}

const Object& dscp_mapping_table() {
  using D = fabric::DscpMapping;
  static const Object table = make_object<D>(
      "a DSCP mapping", "priority of packets by the DSCP of their IP header",
      {source_row(),
       bind<&D::dscp>({.key = "dscp", .kind = Kind::kText, .required = true, .doc = "a value, 0 to 63, or a range such as \"24-31\""}),
       bind<&D::priority>({.key = "priority", .kind = Kind::kInteger, .required = true, .doc = "priority", .max = 7})});
  return table;
}

Field dscp_to_priority_row(Field field) {
  field.key = "dscp_to_priority";
  field.kind = Kind::kObjects;
  field.doc = "on Ethernet, with trust dscp: priorities of DSCP values; those left out have DSCP / 8";
  return field;
}

const Object& arbitration_table() {
  static const Object table = [] {
    using A = fabric::ArbitrationTables;
    Object object = make_object<A>(
        "lane arbitration",
        "order in which lanes send (IBA 7.6.9); without entries: high 0:4, low 1:4, 2:4, … 14:4, as OpenSM sets them",
        {source_row(),
         count<&A::high_limit>("high_limit",
                               "bytes of the high priority table before the low one has an opportunity, in units of "
                               "4096; 0: one packet, 255: no limit",
                               0, 255),
         bind_objects<&A::high>({.key = "high", .kind = Kind::kObjects, .doc = "high priority table"},
                                arbitration_entry_table()),
         bind_objects<&A::low>({.key = "low", .kind = Kind::kObjects, .doc = "low priority table"},
                               arbitration_entry_table()),
         bind<&A::strict>({.key = "strict",
                           .kind = Kind::kText,
                           .doc = "on Ethernet: lanes that go before all others, the highest first; such as \"6\" or \"5-7\""}),
         bind_objects<&A::shares>({.key = "shares",
                                   .kind = Kind::kObjects,
                                   .doc = "on Ethernet, with or without strict, in place of both tables: the line is shared in proportion "
                                          "to these weights by the lanes that are not strict (deficit round robin)"},
                                  arbitration_entry_table())});
    object.annotated = true;
    return object;
  }();
  return table;
}

const Object& switch_profile_table() {
  static const Object table = [] {
    using P = SwitchProfile;
    Object object = make_object<P>(
        "a switch profile", "Timing and capacities of a switch",
        {schema_row(), profile_row("switch"),
         bind<&P::name>({.key = "name", .kind = Kind::kText, .required = true, .doc = "name of the model"}),
         description_row(), source_row(), clock<&P::core_clock_hz>("core_clock", "clock of the crossbar"),
         count<&P::cut_through_cycles>("cut_through_cycles", "header in to first byte out on an idle output",
                                       0, 1'000'000),
         count<&P::lookup_interval_cycles>("lookup_interval_cycles",
                                           "an input looks up one packet per so many cycles", 1, 1'000'000),
         count<&P::ports_max>("ports_max",
                              "ports of the device; a switch with more in a topology gets a warning; 0: not known", 0, 254),
         fastest_link<&P::link_byte_time_min>(),
         count<&P::virtual_lanes>("virtual_lanes", "data lanes of every port", 1, 15),
         size<&P::input_buffer_bytes>("input_buffer", "per port and lane", fabric::kLeastInputBufferBytes,
                                      kMostBufferBytes),
         size<&P::vl15_buffer_bytes>("vl15_buffer",
                                     "per port, for VL15, which has no flow control: packets that do not fit are dropped; 0: all fit",
                                     0, 1 << 20),
         count<&P::crossbar_speedup>("crossbar_speedup",
                                     "packets that leave one input at a time; 0: any number", 0, 255),
         duration<&P::head_lifetime>("head_lifetime",
                                     "a packet so long at the head of an output's lane is dropped (HOQLife); 0 s: never",
                                     10 * kSecondPs),
         duration<&P::leaf_head_lifetime>("leaf_head_lifetime", "the same at ports with an adapter", 10 * kSecondPs),
         count<&P::stall_count>("stall_count",
                                "so many such drops in a row, and the lane drops everything for 8 lifetimes; 0: never",
                                0, 7),
         duration<&P::lifetime>("lifetime",
                                "a packet so long in the switch is dropped when it is the first of its lane "
                                "(SwitchLifeTime); 0 s: never",
                                10 * kSecondPs),
         bind_object<&P::shared_memory>(
             {.key = "shared_memory", .kind = Kind::kObject, .doc = "buffer shared by links without credits"}, shared_memory_table()),
         bind_object<&P::marking>({.key = "marking", .kind = Kind::kObject, .doc = "ECN marking of packets that leave by a port"}, marking_table()),
         bind_object<&P::watchdog>({.key = "pfc_watchdog", .kind = Kind::kObject, .doc = "watchdog of every output whose link has pauses"}, watchdog_table()),
         bind_object<&P::arbitration>(
             {.key = "arbitration", .kind = Kind::kObject, .doc = "lane arbitration of every port"},
             arbitration_table()),
         bind_objects<&P::sl_to_vl>(sl_to_vl_row({}), level_mapping_table()),
         trust_row<&P::trust>("on Ethernet, what the priority of a packet, and so the lane by which it leaves, is made of: pcp: the priority of its "
                              "VLAN tag, without one 0; dscp: the DSCP of its IP header, of a frame that is not IP 0"),
         bind_objects<&P::dscp_to_priority>(dscp_to_priority_row({}), dscp_mapping_table()),
         duration<&P::withdrawal_delay>("withdrawal_delay",
                                        "on Ethernet: from a link's failure to when its port leaves the groups of equally good outputs, and "
                                        "from its repair to when the port is in them again",
                                        1'000'000 * kSecondPs)});
    object.annotated = true;
    return object;
  }();
  return table;
}

const Object& cpu_profile_table() {
  static const Object table = [] {
    using P = CpuProfile;
    Object object = make_object<P>(
        "a processor profile", "What calls cost a host's processor; computation between calls costs nothing",
        {schema_row(), profile_row("cpu"),
         bind<&P::name>({.key = "name", .kind = Kind::kText, .required = true, .doc = "name of the model"}),
         description_row(), source_row(),
         clock<&P::timestamp_counter_hz>("timestamp_counter_clock", "rate of rdtsc"),
         bind<&P::instruction_set>({.key = "instruction_set",
                                    .kind = Kind::kText,
                                    .doc = "level of the x86-64 psABI that CPUID shows to programs, whatever machine "
                                           "they run on",
                                    .choices = {"x86-64-v2", "x86-64-v3"}}),
         bind_object<&P::costs>(
             {.key = "call_costs", .kind = Kind::kObject, .required = true, .doc = "processor time of calls"},
             call_costs_table())});
    object.annotated = true;
    return object;
  }();
  return table;
}

}  // namespace verbatim::config
