// The tables of all file types; they list everything that a file may contain.
#pragma once

#include "sim/config/fields.h"

namespace verbatim::config {

// A row for human readers; the program ignores its value.
inline Field for_people(std::string_view key, std::string_view doc) { return {.key = key, .kind = Kind::kIgnored, .doc = doc}; }

const Object& hca_profile_table();     // -> hca::HcaProfile
const Object& switch_profile_table();  // -> fabric::SwitchProfile
const Object& cpu_profile_table();     // -> CpuProfile
const Object& topology_table();        // -> TopologySpec
const Object& generator_table();       // -> GeneratorSpec
const Object& scenario_table();        // -> ScenarioSpec
const Object& fault_table();           // -> FaultSpec
const Object& workload_table();        // -> WorkloadSpec
const Object& subnet_congestion_table();  // -> SubnetCongestionSpec

}  // namespace verbatim::config
