// Context that all parts of an adapter share: clock, trace, profile and addresses. A part that uses another
// part gets a reference to it at construction (datapath/adapter.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/core/choice.h"
#include "sim/core/engine.h"
#include "sim/core/trace.h"
#include "sim/hca/hca.h"
#include "sim/hca/key_table.h"
#include "sim/ib/late_receive.h"

namespace verbatim::hca {

// Names in trails: fetches of table entries that are not in the adapter's caches, and other waits.
inline constexpr char kIcrc[] = "ICRC";
inline constexpr char kContextMiss[] = "queue pair context: fetch";
inline constexpr char kProtectionMiss[] = "memory protection entry: fetch";
inline constexpr char kTranslationMiss[] = "address translation: fetch";
inline constexpr char kEarlierPackets[] = "queue pair: earlier packets wait";

// An adapter has one port.
inline constexpr std::uint32_t kPortNumber = 1;

struct AdapterBase {
  AdapterBase(Engine& engine, Tracer& tracer, Choices& choices, ComponentId id, const HcaProfile& profile,
              const PortAddress& address)
      : engine(engine),
        tracer(tracer),
        choices(choices),
        id(id),
        profile(profile),
        address(address),
        clock(profile.core_clock_hz) {}

  // Whether a choice makes a quirk appear now; always false if the profile does not have the quirk.
  bool quirk_fires(Quirk quirk, std::string_view site) {
    return (profile.quirks & bit_of(quirk)) != 0 && choices.choose(site, id, 2) != 0;
  }

  // Cache key of the protection entry of a memory key.
  static std::uint64_t protection_key(std::uint32_t key) { return KeyTable::index_of(key); }
  // Cache key of the translation of the page at `address` of the region with this memory key.
  std::uint64_t translation_key(std::uint32_t key, std::uint64_t address) const {
    constexpr int kPageBits = 40;
    const std::uint64_t page = address / profile.translation_page_bytes;
    return std::uint64_t{KeyTable::index_of(key)} << kPageBits | (page & ((1ull << kPageBits) - 1));
  }

  Engine& engine;
  Tracer& tracer;
  Choices& choices;
  const ComponentId id;
  const HcaProfile profile;
  PortAddress address;  // the subnet manager may change it
  const ClockDomain clock;
  bool port_is_up = true;
  bool has_failed = false;  // permanently
  ib::LateReceiveJudge* late_receive_judge = nullptr;  // null: nobody asks for late receives
};

}  // namespace verbatim::hca
