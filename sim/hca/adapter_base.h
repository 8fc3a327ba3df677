// The part of an adapter that each of its parts knows: clock, trace, profile and addresses. A part that needs a sibling gets a
// reference to it when it is made (datapath/adapter.h).
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

// Names in trails: time until a table entry that the adapter's caches lack has been read, and other waits.
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

  // Whether a quirk shows this time. Always false when the profile does not give the adapter this quirk.
  bool quirk_fires(Quirk quirk, std::string_view site) {
    return (profile.quirks & bit_of(quirk)) != 0 && choices.choose(site, id, 2) != 0;
  }

  // The key of a memory region's protection entry in the cache of these.
  static std::uint64_t protection_key(std::uint32_t key) { return KeyTable::index_of(key); }
  // The key, in the cache of translations, of the page at `address` of the region with this key.
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
  PortAddress address;  // the subnet manager may change some of it
  const ClockDomain clock;
  bool port_is_up = true;
  bool has_failed = false;  // for good
  ib::LateReceiveJudge* late_receive_judge = nullptr;  // null: nobody asks for late receives
};

}  // namespace verbatim::hca
