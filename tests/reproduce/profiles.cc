#include "tests/reproduce/profiles.h"

namespace verbatim::reproduce {

Json ns3_adapter() {
  const Json no_time = {{"latency_cycles", 0}, {"interval_cycles", 1}};
  Json changes = {{"name", "ns3"},
                  {"core_clock", "10 GHz"},
                  {"pcie", {{"one_way_latency", "0 ns"}, {"memory_read_latency", "0 ns"}, {"memory_write_latency", "0 ns"}}},
                  {"ack_every_packets", 1},
                  {"output_queue", "1 B"},
                  {"congestion_control",
                   {{"controller", "dcqcn-ns3"},
                    {"min_time_between_cnps", "0 us"},
                    {"cnp_scope", "queue-pair"},
                    {"cnp_dscp", 24},
                    {"rpg_time_reset", nullptr},
                    {"rpg_byte_reset", nullptr},
                    {"rpg_threshold", nullptr},
                    {"rpg_ai_rate", nullptr},
                    {"rpg_hai_rate", nullptr},
                    {"rpg_max_rate", nullptr},
                    {"rpg_min_rate", nullptr},
                    {"rpg_gd", nullptr},
                    {"rpg_min_dec_fac", nullptr},
                    {"dce_tcp_g", nullptr},
                    {"dce_tcp_rtt", nullptr},
                    {"initial_alpha_value", nullptr},
                    {"rate_to_set_on_first_cnp", nullptr},
                    {"rate_reduce_monitor_period", nullptr},
                    {"clamp_tgt_rate", nullptr}}}};
  for (const char* stage : {"doorbell", "wqe_decode", "packetize", "icrc", "receive_check", "acknowledge", "completion"})
    changes[stage] = no_time;
  return changed_profile("edr_roce_light", changes);
}

Json paper_adapter(const std::string& controller) {
  Json profile = ns3_adapter();
  Json whole = changed_profile("edr_roce_light", {{"name", "paper"}});
  whole["congestion_control"] = profile["congestion_control"];
  for (const auto& [key, value] : {std::pair<std::string, Json>("controller", controller),
                                   std::pair<std::string, Json>("ecn_capable", controller != "none"),
                                   std::pair<std::string, Json>("min_time_between_cnps", "50 us"),
                                   std::pair<std::string, Json>("cnp_dscp", 48)})
    whole["congestion_control"][key]["value"] = value;
  return whole;
}

Json paper_switch() {
  const Json curve = {
      {"priorities", "0-7"}, {"kmin", "5000 B"}, {"kmax", "200000 B"}, {"pmax_percent", 1}, {"source", "tests/reproduce"}};
  return changed_profile("hpcc_switch", {{"name", "paper"},
                                         {"shared_memory", {{"size", "12000000 B"}, {"lossless_alpha_log2", 0}}},
                                         {"marking", {{"queues", Json::array({curve})}}}});
}

Json lossless_3() { return {{"pfc", {{"lossless_priorities", "3"}}}}; }

Json microsecond_cable() {
  Json cable = lossless_3();
  cable["length"] = "200 m";
  cable["delay_per_length"] = "5 ns/m";
  return cable;
}

}  // namespace verbatim::reproduce
