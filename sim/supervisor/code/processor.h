// The one processor that programs see, whatever machine the simulator runs on: what CPUID answers, what the kernel says
// about it in the auxiliary vector and in /proc/cpuinfo. A fixed level of the x86-64 psABI, so that libraries choose the
// same code everywhere; it has what it needs to have random numbers by instruction and a constant time stamp counter,
// which the simulator answers itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verbs_shim/protocol/patches.h"

namespace verbatim::code {

enum class InstructionSet { kX86_64V2, kX86_64V3 };

std::string name_of(InstructionSet set);

// CPUID, ending with the entry that matches everything.
std::vector<protocol::CpuidEntry> cpuid_table(InstructionSet set, std::uint64_t timestamp_counter_hz);

// AT_HWCAP: CPUID leaf 1, EDX.
std::uint32_t hardware_capabilities();

// XCR0, as XGETBV tells it; 0: the set has no XGETBV.
std::uint32_t extended_control(InstructionSet set);

// The line of /proc/cpuinfo, names as Linux writes them.
std::string flags_line(InstructionSet set);

// In the order of CPUID leaf 4; those of family 6, model 106. The last is the "cache size" of /proc/cpuinfo.
struct Cache {
  const char* type;  // as /sys/devices/system/cpu/cpu0/cache/index*/type
  unsigned level;
  unsigned kilobytes;
  unsigned ways;
};
inline constexpr unsigned kCacheLine = 64;
inline constexpr Cache kCaches[] = {
    {"Data", 1, 48, 12}, {"Instruction", 1, 32, 8}, {"Unified", 2, 1280, 20}, {"Unified", 3, 32768, 16}};

// Features of the set that this machine's processor lacks; programs could not run on it.
std::vector<std::string> lacking_here(InstructionSet set);

}  // namespace verbatim::code
