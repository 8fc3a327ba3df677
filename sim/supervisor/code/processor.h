// The processor that programs see on every machine: CPUID, auxiliary vector and /proc/cpuinfo. It has a fixed
// level of the x86-64 psABI, so that libraries choose the same code everywhere, plus RDRAND, RDSEED and an
// invariant time-stamp counter, which the simulator emulates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verbs_shim/protocol/patches.h"

namespace verbatim::code {

enum class InstructionSet { kX86_64V2, kX86_64V3 };

std::string name_of(InstructionSet set);

// CPUID table, ending with the entry that matches everything.
std::vector<protocol::CpuidEntry> cpuid_table(InstructionSet set, std::uint64_t timestamp_counter_hz);

// AT_HWCAP: CPUID leaf 1, EDX.
std::uint32_t hardware_capabilities();

// XCR0 as XGETBV returns it; 0: the set has no XGETBV.
std::uint32_t extended_control(InstructionSet set);

// "flags" line of /proc/cpuinfo, names as Linux writes them.
std::string flags_line(InstructionSet set);

// In the order of CPUID leaf 4; values of family 6, model 106. The last is "cache size" in /proc/cpuinfo.
struct Cache {
  const char* type;  // as in /sys/devices/system/cpu/cpu0/cache/index*/type
  unsigned level;
  unsigned kilobytes;
  unsigned ways;
};
inline constexpr unsigned kCacheLine = 64;
inline constexpr Cache kCaches[] = {
    {"Data", 1, 48, 12}, {"Instruction", 1, 32, 8}, {"Unified", 2, 1280, 20}, {"Unified", 3, 32768, 16}};

// Features of the set that this machine's processor lacks; programs could not run here.
std::vector<std::string> lacking_here(InstructionSet set);

}  // namespace verbatim::code
