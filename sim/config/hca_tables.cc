#include "sim/config/profile_rows.h"
#include "sim/config/spec.h"
#include "sim/config/tables.h"
#include "sim/hca/congestion/controllers.h"
#include "verbs_shim/protocol/commands.h"

namespace verbatim::config {

namespace {

using hca::HcaProfile;
using hca::Stage;
using host::PcieProfile;

const Object& stage_table() {
  static const Object table = [] {
    Object object = make_object<Stage>(
        "a stage", "a pipeline stage, in whole cycles of the adapter's core clock",
        {source_row(),
         count<&Stage::latency_cycles>("latency_cycles", "from entering to leaving", 0, 1'000'000),
         count<&Stage::interval_cycles>("interval_cycles", "from one entering to the next", 1, 1'000'000),
         count<&Stage::capacity>("capacity",
                                 "in the stage at the most, from entering to leaving; the next enters at the edge at "
                                 "which one leaves; 0: any number",
                                 0, 65536)});
    object.annotated = true;
    return object;
  }();
  return table;
}

const Object& pcie_table() {
  static const Object table = [] {
    using P = PcieProfile;
    Object object = make_object<P>(
        "a PCI Express connection", "between host memory and the adapter",
        {source_row(), choice_of<&P::generation>("generation", "line rate and coding", {2, 3, 4, 5}),
         choice_of<&P::lanes>("lanes", "lanes in use", {1, 2, 4, 8, 16}),
         choice_of<&P::max_payload_bytes>("max_payload_bytes",
                                          "payload of one write or completion TLP, bytes",
                                          {128, 256, 512, 1024, 2048, 4096}),
         choice_of<&P::max_read_request_bytes>("max_read_request_bytes", "bytes asked for by one read TLP",
                                               {128, 256, 512, 1024, 2048, 4096}),
         choice_of<&P::read_completion_boundary_bytes>(
             "read_completion_boundary_bytes", "RCB: completions but the last of a request end at its multiples", {64, 128}),
         count<&P::write_header_bytes>("write_header_bytes", "overhead of a memory write TLP, with framing and LCRC", 0,
                                       64),
         count<&P::read_header_bytes>("read_header_bytes", "overhead of a memory read TLP, with framing and LCRC", 1,
                                      64),
         count<&P::completion_header_bytes>("completion_header_bytes",
                                            "overhead of a completion TLP, with framing and LCRC", 0, 64),
         count<&P::outstanding_reads>("outstanding_reads", "read requests in flight at the most (tags)", 1,
                                      1024),
         count<&P::dllp_interval_bytes>(
             "dllp_interval_bytes",
             "bytes from one pair of ACK and flow control DLLPs to the next; 0: they take "
             "no time",
             0, 65536),
         duration<&P::write_combining_delay>("write_combining_delay",
                                             "until what the processor pushes to the adapter leaves its "
                                             "write-combining buffer"),
         duration<&P::one_way_latency>("one_way_latency", "adapter to root complex, or back"),
         duration<&P::memory_read_latency>("memory_read_latency",
                                           "root complex: request in to first completion out"),
         duration<&P::memory_write_latency>("memory_write_latency",
                                            "root complex: last byte in to visible to the processor")});
    object.annotated = true;
    return object;
  }();
  return table;
}

const Object& wqe_layout_table() {
  static const Object table = [] {
    using L = hca::WqeLayout;
    Object object = make_object<L>(
        "a layout of work requests",
        "bytes read to fetch one: a header, but of a receive none, then 16 bytes per scatter entry or the inline data, "
        "in whole lines",
        {source_row(),
         count<&L::line_bytes>("line_bytes", "bytes of a line of a send request; 0: the whole ring entry is read", 0, 4096),
         count<&L::header_bytes>("header_bytes", "header of a connection's requests, bytes", 1, 4096),
         count<&L::datagram_header_bytes>("datagram_header_bytes", "header of datagram requests, bytes", 1, 4096),
         count<&L::receive_line_bytes>("receive_line_bytes", "bytes of a line of a receive; 0: the whole ring entry is read",
                                       0, 4096)});
    object.annotated = true;
    return object;
  }();
  return table;
}

const Object& atomics_table() {
  static const Object table = [] {
    using A = hca::AtomicProfile;
    Object object = make_object<A>(
        "atomics", "how many atomic requests are executed at a time",
        {source_row(),
         count<&A::locks>("locks", "locks of memory locations: an atomic takes number (address mod locks)", 1, 1 << 20),
         count<&A::in_flight>("in_flight",
                              "most atomics in progress at a time; those that wait for a lock let others pass; 0: any "
                              "number, and atomics behind one that waits also wait",
                              0, 65536)});
    object.annotated = true;
    return object;
  }();
  return table;
}

const Object& cache_table() {
  static const Object table = [] {
    using C = hca::CacheProfile;
    Object object = make_object<C>(
        "a cache", "entries of tables in host memory; the least recently used entry goes first",
        {source_row(), count<&C::entries>("entries", "entries; 0: everything is always there", 0, 1 << 24),
         count<&C::entry_bytes>("entry_bytes", "read over PCI Express on a miss", 1, 4096),
         count<&C::miss_slots>("miss_slots", "misses being read at a time, at the most", 1, 1024)});
    object.annotated = true;
    return object;
  }();
  return table;
}

const Object& interrupt_table() {
  static const Object table = [] {
    using I = hca::InterruptProfile;
    Object object = make_object<I>(
        "interrupts", "write that wakes a program, after the completion queue entry and before event_latency",
        {source_row(),
         count<&I::event_bytes>("event_bytes", "an event queue entry; 0: neither it nor the message is modelled", 0,
                                4096),
         count<&I::message_bytes>("message_bytes", "an MSI-X message", 1, 64)});
    object.annotated = true;
    return object;
  }();
  return table;
}

const Object& ack_timer_table() {
  static const Object table = [] {
    using A = hca::AckTimerProfile;
    Object object = make_object<A>(
        "a transport timer", "rounding of the transport timer by firmware, beyond the specification",
        {source_row(),
         count<&A::least_exponent>(
             "least_exponent",
             "with one, the interval is 2 x 4.096 us x 2^max(timeout, this), and the first one, of adaptive "
             "retransmissions, is shorter and takes one retry for them; 0: the interval of the specification",
             0, 31),
         duration<&A::first_shorter>("first_shorter", "the first interval, while timeout <= least_exponent"),
         duration<&A::first_shorter_above>("first_shorter_above", "the first interval, beyond"),
         flag<&A::first_expiry_is_idle>(
             "first_expiry_is_idle",
             "without least_exponent: the first expiry after progress only starts the "
             "count, as of a timer that runs freely")});
    object.annotated = true;
    return object;
  }();
  return table;
}

const Object& loss_recovery_table() {
  static const Object table = [] {
    using L = hca::LossRecoveryProfile;
    Object object = make_object<L>(
        "recovery from losses", "delays beside the stages that every packet passes, and the packets that are sent again",
        {source_row(),
         duration<&L::nak_generation>("nak_generation", "request behind a gap checked to its NAK entering the acknowledge stage"),
         duration<&L::nak_reaction>("nak_reaction", "such a NAK checked to packets being made again"),
         duration<&L::read_nak_generation>("read_nak_generation",
                                           "READ response behind a gap checked to what is missing being asked for again"),
         duration<&L::read_nak_reaction>("read_nak_reaction",
                                         "READ request for what was answered before checked to its answer being made"),
         flag<&L::selective_repeat>("selective_repeat",
                                    "requests and responses behind a gap are kept, and only those that are missing are sent again; both "
                                    "ends of a connection need it for requests, the end that reads for responses; else everything from "
                                    "the first missing one on is sent again"),
         count<&L::log_tx_psn_window>("log_tx_psn_window",
                                      "with selective_repeat: 2 to this power PSNs of requests are outstanding at the most; and so far a "
                                      "request or response may be ahead of one that is missing, to be kept",
                                      3, 12),
         duration<&L::gap_time>("gap_time",
                                "with load_balancing by packet: requests behind a gap are kept, and one that has been missing for so long is asked "
                                "for again; 0 s: the adapter takes packets in order alone")});
    object.annotated = true;
    return object;
  }();
  return table;
}

// Rows of the reaction point. A value that is left out is the controller's default.
template <auto Member>
Field reaction(Field field) {
  field.store = [](void* object, const Value& value) {
    detail::assign(static_cast<hca::CongestionControl*>(object)->reaction_point.*Member, value);
  };
  return field;
}

const Object& congestion_control_table() {
  static const Object table = [] {
    using C = hca::CongestionControl;
    using P = hca::ReactionPoint;
    constexpr std::int64_t kNanosecond = 1'000, kMost = 131'071'000 * kNanosecond, kMbps = 1'000'000;
    constexpr std::int64_t kFastest = 1'000'000 * kMbps;
    const auto period = []<auto Member>(std::string_view key, std::string_view doc) {
      return reaction<Member>({.key = key, .kind = Kind::kDuration, .doc = doc, .min = kNanosecond, .max = kMost});
    };
    const auto rate = []<auto Member>(std::string_view key, std::string_view doc, std::int64_t min) {
      return reaction<Member>({.key = key, .kind = Kind::kRate, .doc = doc, .min = min, .max = kFastest});
    };
    const auto number = []<auto Member>(std::string_view key, std::string_view doc, std::int64_t min, std::int64_t max) {
      return reaction<Member>({.key = key, .kind = Kind::kInteger, .doc = doc, .min = min, .max = max});
    };
    const auto clamp = []<auto Member>(std::string_view key, std::string_view doc) {
      Field field = reaction<Member>({.key = key, .kind = Kind::kBoolean, .doc = doc});
      field.load = [](const void* object) -> Value { return static_cast<const C*>(object)->reaction_point.*Member; };
      return field;
    };
    std::vector<std::string_view> controllers;
    for (const hca::ControllerRow& row : hca::controller_rows()) controllers.push_back(row.name);
    Object object = make_object<C>(
        "congestion control",
        "congestion control of an Ethernet port: which packets carry ECN, which marks are answered by notifications (CNP), and how the rate of a queue "
        "pair follows those; parameters of the rate that are left out are the controller's own",
        {source_row(),
         bind<&C::controller>({.key = "controller",
                               .kind = Kind::kText,
                               .doc = "algorithm that sets the rate of each connection: dcqcn-nv as adapters document it, dcqcn-paper of SIGCOMM 2015, "
                                      "dcqcn-ns3 of HPCC's simulator; timely and swift by round trips; hpcc by telemetry of switches",
                               .choices = controllers}),
         flag<&C::ecn_capable>("ecn_capable", "requests and READ responses of connections carry ECT(0), so that switches mark them"),
         duration<&C::min_time_between_cnps>("min_time_between_cnps", "marks within this time of a notification are not answered"),
         bind<&C::cnp_scope>({.key = "cnp_scope",
                              .kind = Kind::kText,
                              .doc = "scope of min_time_between_cnps: all notifications of the port, those to one address, or those of one queue pair",
                              .choices = {std::begin(hca::kCnpScopeNames), std::end(hca::kCnpScopeNames)}}),
         size<&C::cnp_receive_buffer_bytes>("cnp_receive_buffer",
                                            "packets that find so much in the adapter's receive buffer, themselves included, are answered "
                                            "as marked ones; 0 B: none",
                                            0, kMostBufferBytes),
         count<&C::cnp_dscp>("cnp_dscp", "DSCP of notifications", 0, 63),
         count<&C::cnp_802p_prio>("cnp_802p_prio", "service level of notifications, which is the priority in a VLAN tag", 0, 7),
         period.operator()<&P::rpg_time_reset>("rpg_time_reset", "between increases by the timer"),
         number.operator()<&P::rpg_byte_reset>("rpg_byte_reset", "between increases by bytes sent, in units of 64 bytes; 0: there are none",
                                               0, 1 << 24),
         number.operator()<&P::rpg_threshold>("rpg_threshold", "increases before fast recovery ends", 1, 31),
         rate.operator()<&P::rpg_ai_rate>("rpg_ai_rate", "step of the additive increase", kMbps),
         rate.operator()<&P::rpg_hai_rate>("rpg_hai_rate", "step of the hyper increase", kMbps),
         rate.operator()<&P::rpg_max_rate>("rpg_max_rate", "a queue pair that reaches it is not limited; 0 bps: the rate of the line", 0),
         rate.operator()<&P::rpg_min_rate>("rpg_min_rate", "no cut goes below", kMbps),
         number.operator()<&P::rpg_gd>("rpg_gd", "a cut takes rate x alpha / 2^this, with alpha in 1/1024: 11 is alpha / 2", 10, 11),
         number.operator()<&P::rpg_min_dec_fac>("rpg_min_dec_fac", "a cut leaves at least so many percent", 0, 100),
         number.operator()<&P::dce_tcp_g>("dce_tcp_g", "alpha keeps so many 1024ths of itself at an update", 0, 1023),
         period.operator()<&P::dce_tcp_rtt>("dce_tcp_rtt", "between updates of alpha"),
         number.operator()<&P::initial_alpha_value>("initial_alpha_value", "alpha at the first notification, in 1/1024", 1, 1023),
         rate.operator()<&P::rate_to_set_on_first_cnp>("rate_to_set_on_first_cnp",
                                                       "rate from the first notification on; 0 bps: that of the line", 0),
         period.operator()<&P::rate_reduce_monitor_period>("rate_reduce_monitor_period", "between cuts"),
         period.operator()<&P::base_round_trip>("base_round_trip", "round trip of a full packet without queueing, for hpcc and swift"),
         clamp.operator()<&P::clamp_tgt_rate>("clamp_tgt_rate", "each cut sets the target of the recovery to the rate before it"),
         clamp.operator()<&P::clamp_tgt_rate_after_time_inc>("clamp_tgt_rate_after_time_inc",
                                                             "so does a cut that follows an increase by the timer")});
    object.annotated = true;
    return object;
  }();
  return table;
}

template <auto Member>
Field stage(std::string_view key, std::string_view doc) {
  return bind_object<Member>({.key = key, .kind = Kind::kObject, .doc = doc}, stage_table());
}

}  // namespace

const Object& hca_profile_table() {
  static const Object table = [] {
    using P = HcaProfile;
    constexpr std::int64_t kMany = 1 << 24;
    Object object = make_object<P>(
        "an adapter profile", "Timing, capacities and attributes of an adapter (HCA)",
        {schema_row(),
         profile_row("hca"),
         bind<&P::name>({.key = "name", .kind = Kind::kText, .required = true, .doc = "name of the model"}),
         description_row(),
         source_row(),
         bind<&P::firmware_version>(
             {.key = "firmware_version", .kind = Kind::kText, .doc = "as ibv_devinfo shows it"}),
         count<&P::vendor_id>("vendor_id", "IEEE OUI of the maker", 0, 0xffffff),
         count<&P::vendor_part_id>("vendor_part_id", "PCI device id; some programs change their path on it",
                                   0, 0xffff),
         count<&P::hw_version>("hw_version", "hardware revision", 0, 0xffff),
         bind<&P::endpoint>({.key = "endpoint",
                             .kind = Kind::kText,
                             .doc = "full: all of an adapter; light: flows alone, and no programs: each step of a message takes "
                                    "the time of an idle adapter of this profile, and a host takes kilobytes of memory",
                             .choices = {"full", "light"}}),
         clock<&P::core_clock_hz>("core_clock", "clock of the adapter's stages"),
         bind_object<&P::pcie>({.key = "pcie", .kind = Kind::kObject, .doc = "connection to host memory"},
                               pcie_table()),
         stage<&P::doorbell>("doorbell", "doorbell arrived to WQE fetch issued"),
         stage<&P::wqe_decode>("wqe_decode", "WQE arrived to payload gather issued; one per WQE"),
         stage<&P::packetize>("packetize", "payload arrived to packet handed to the port; one per packet"),
         stage<&P::icrc>("icrc",
                         "ICRC of packets of the fabric, behind packetize or acknowledge and ahead of receive_check, a "
                         "unit each; without latency, and at an interval of 1, it takes no time"),
         stage<&P::receive_check>("receive_check", "packet in to checks done; one per packet"),
         stage<&P::acknowledge>("acknowledge", "checks done to acknowledgement handed to the port; one each"),
         stage<&P::completion>("completion", "acknowledged or received to CQE write issued; one per CQE"),
         size<&P::gather_buffer_bytes>("gather_buffer", "payload gathered ahead of the port, per lane", 4096, 1 << 30),
         size<&P::output_queue_bytes>("output_queue", "the port takes no more packets of a lane while as much waits in it", 1, 1 << 30),
         size<&P::receive_buffer_bytes>("receive_buffer",
                                        "input buffer of the port per lane, granted as credits",
                                        fabric::kLeastInputBufferBytes, kMostBufferBytes),
         size<&P::vl15_buffer_bytes>("vl15_buffer",
                                     "input buffer of the port for VL15, which has no flow control: packets that do not fit are dropped; 0: all fit",
                                     0, 1 << 20),
         count<&P::wqe_prefetch>("wqe_prefetch", "send WQEs fetched by one DMA read at the most", 1, 256),
         count<&P::processing_units>("processing_units",
                                     "units that decode WQEs, each of one queue pair at a time, at the interval of "
                                     "wqe_decode; 0: one for all queue pairs",
                                     0, 256),
         bind_object<&P::wqe_layout>(
             {.key = "wqe_layout", .kind = Kind::kObject, .doc = "bytes read to fetch a WQE"},
             wqe_layout_table()),
         count<&P::packet_bus_bytes>("packet_bus_bytes",
                                     "a packet occupies the packetize stage for one cycle per started so many bytes, "
                                     "or longer; 0: as wide as any packet",
                                     0, 8192),
         bind_object<&P::atomics>({.key = "atomics", .kind = Kind::kObject, .doc = "execution of atomic requests"},
                                  atomics_table()),
         bind_object<&P::context_cache>(
             {.key = "context_cache", .kind = Kind::kObject, .doc = "contexts of queue pairs in the adapter"},
             cache_table()),
         bind_object<&P::protection_cache>(
             {.key = "protection_cache",
              .kind = Kind::kObject,
              .doc = "memory protection entries (MPT) in the adapter, one per memory key"},
             cache_table()),
         bind_object<&P::translation_cache>(
             {.key = "translation_cache",
              .kind = Kind::kObject,
              .doc = "translations of memory regions' pages in the adapter"},
             cache_table()),
         size<&P::translation_page_bytes>("translation_page", "bytes that one translation covers", 4096, 1 << 30),
         bind_object<&P::interrupt>({.key = "interrupt", .kind = Kind::kObject, .doc = "event queue and MSI-X"},
                                    interrupt_table()),
         fastest_link<&P::link_byte_time_min>(),
         count<&P::virtual_lanes>("virtual_lanes", "data lanes of the port", 1, 15),
         bind_object<&P::arbitration>(
             {.key = "arbitration", .kind = Kind::kObject, .doc = "lane arbitration of the port"},
             arbitration_table()),
         bind_objects<&P::sl_to_vl>(sl_to_vl_row({}), level_mapping_table()),
         trust_row<&P::trust>("on Ethernet, what the priority of a packet, and so its lane and the priority of its VLAN tag, is made of: pcp: the "
                              "service level of its path; dscp: the DSCP in the traffic class of its path"),
         bind_objects<&P::dscp_to_priority>(dscp_to_priority_row({}), dscp_mapping_table()),
         duration<&P::event_latency>("event_latency",
                                     "CQE, or interrupt message, written to completion event readable"),
         duration<&P::command_latency>("command_latency",
                                       "a control-path verb, processor time of the caller"),
         count<&P::ack_every_packets>("ack_every_packets",
                                      "AckReq also on every n-th packet inside a message; 0: only at its end",
                                      0, kMany),
         flag<&P::end_to_end_credits>(
             "end_to_end_credits",
             "acknowledgements grant credits for the posted receives, and SENDs wait for them"),
         flag<&P::coalesce_acknowledgements>(
             "coalesce_acknowledgements",
             "an acknowledgement is left out when a later one of its queue pair already waits behind it"),
         flag<&P::reuse_qp_numbers>(
             "reuse_qp_numbers",
             "the number of a destroyed queue pair is given to the next one; otherwise it is used again after all others"),
         count<&P::blueflame_bytes>(
             "blueflame_bytes",
             "greatest work request, of one with inline data, that the processor pushes behind "
             "its doorbell: the header of wqe_layout and the data; 0: none",
             0, 4096),
         flag<&P::receive_completion_after_payload>("receive_completion_after_payload",
                                                    "the completion stage takes the entry of a receive when "
                                                    "the payload has left for the host, else at once"),
         bind_object<&P::ack_timer>(
             {.key = "ack_timer", .kind = Kind::kObject, .doc = "rounding of the transport timer by firmware"},
             ack_timer_table()),
         bind_object<&P::loss_recovery>(
             {.key = "loss_recovery", .kind = Kind::kObject, .doc = "recovery from lost packets"}, loss_recovery_table()),
         bind_object<&P::congestion_control>(
             {.key = "congestion_control", .kind = Kind::kObject, .doc = "ECN, notifications and rates on Ethernet"},
             congestion_control_table()),
         count<&P::local_ca_ack_delay>("local_ca_ack_delay", "attribute: 4.096 us times 2 to this power", 0,
                                       31),
         count<&P::max_qp>("max_qp", "attribute", 1, kMany - 2),
         count<&P::max_qp_wr>("max_qp_wr", "attribute", 1, 1 << 20),
         count<&P::max_sge>("max_sge", "attribute", 1, 255),
         count<&P::max_sge_rd>("max_sge_rd", "attribute", 1, 255),
         count<&P::max_cq>("max_cq", "attribute", 1, kMany),
         count<&P::max_cqe>("max_cqe", "attribute", 1, kMany),
         count<&P::max_mr>("max_mr", "attribute", 1, kMany),
         count<&P::max_mw>("max_mw", "attribute", 0, kMany),
         count<&P::max_pd>("max_pd", "attribute", 1, kMany),
         count<&P::max_inline_data>("max_inline_data", "attribute, bytes", 0, 4096),
         count<&P::max_qp_rd_atom>("max_qp_rd_atom", "attribute", 0, 255),
         count<&P::max_qp_init_rd_atom>("max_qp_init_rd_atom", "attribute", 0, 255),
         count<&P::max_ah>("max_ah", "attribute", 0, kMany),
         count<&P::max_srq>("max_srq", "attribute", 0, kMany),
         count<&P::max_srq_wr>("max_srq_wr", "attribute", 0, 1 << 20),
         count<&P::max_srq_sge>("max_srq_sge", "attribute", 0, 255),
         count<&P::max_num_tags>("max_num_tags", "tags of shared receive queues with tag matching (ibv_tm_caps)", 0, 1 << 16),
         count<&P::max_tag_operations>("max_tag_operations", "likewise, max_ops", 1, 1 << 16),
         count<&P::max_tag_sge>("max_tag_sge", "likewise, max_sge", 1, 255),
         count<&P::max_flow>("max_flow", "flow rules on Ethernet at the most", 0, kMany),
         count<&P::max_counters>("max_counters", "sets of flow counters at the most", 0, kMany),
         count<&P::max_wq>("max_wq", "attribute: receive work queues (max_wq_type_rq)", 0, kMany - 2),
         count<&P::max_rwq_tables>("max_rwq_tables", "attribute: indirection tables (max_rwq_indirection_tables)", 0, kMany),
         count<&P::max_rwq_table_size>("max_rwq_table_size", "attribute: queues in one (max_rwq_indirection_table_size)", 1,
                                       protocol::CreateRwqTable::kMostQueues),
         duration<&P::delay_drop_timeout>("delay_drop_timeout",
                                          "how long a frame waits for a receive at a work queue that delays drops"),
         count<&P::cache_line_bytes>("cache_line_bytes", "cache line of the host, to which padded writes are filled up", 16, 256),
         size<&P::max_dm_size>("max_dm_size", "attribute", 0, 1 << 30),
         size<&P::max_mr_size>("max_mr_size", "attribute", 4096, 1ll << 47),
         size<&P::max_message_bytes>("max_message", "longest message", 4096, 1ll << 31),
         count<&P::max_mtu>("max_mtu", "ibv_mtu: 1 to 5 are 256 to 4096 bytes", 1, 5),
         count<&P::gid_table_length>("gid_table_length", "attribute", 1, 255),
         count<&P::pkey_table_length>("pkey_table_length", "attribute", 1, 128)});
    object.annotated = true;
    return object;
  }();
  return table;
}

}  // namespace verbatim::config
