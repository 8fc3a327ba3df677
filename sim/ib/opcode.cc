#include "sim/ib/opcode.h"

namespace verbatim::ib {

namespace {

// Headers that follow the BTH, and position of the packet in its message; bits.
enum Trait : std::uint32_t {
  kFirst = 1 << 0,
  kLast = 1 << 1,
  kOnly = kFirst | kLast,
  kPayload = 1 << 2,
  kRequest = 1 << 3,
  kReth = 1 << 4,
  kAeth = 1 << 5,
  kAtomicEth = 1 << 6,
  kAtomicAckEth = 1 << 7,
  kImmediate = 1 << 8,
  kInvalidate = 1 << 9,
};

struct OperationRow {
  Operation operation;
  std::string_view name;
  std::uint32_t traits;
};

// IBA 9.2.1, table 38; operations in the order of their codes.
constexpr OperationRow kOperations[] = {
    {Operation::kSendFirst, "Send First", kFirst | kPayload | kRequest},
    {Operation::kSendMiddle, "Send Middle", kPayload | kRequest},
    {Operation::kSendLast, "Send Last", kLast | kPayload | kRequest},
    {Operation::kSendLastImm, "Send Last Immediate", kLast | kPayload | kRequest | kImmediate},
    {Operation::kSendOnly, "Send Only", kOnly | kPayload | kRequest},
    {Operation::kSendOnlyImm, "Send Only Immediate", kOnly | kPayload | kRequest | kImmediate},
    {Operation::kWriteFirst, "RDMA Write First", kFirst | kPayload | kRequest | kReth},
    {Operation::kWriteMiddle, "RDMA Write Middle", kPayload | kRequest},
    {Operation::kWriteLast, "RDMA Write Last", kLast | kPayload | kRequest},
    {Operation::kWriteLastImm, "RDMA Write Last Immediate", kLast | kPayload | kRequest | kImmediate},
    {Operation::kWriteOnly, "RDMA Write Only", kOnly | kPayload | kRequest | kReth},
    {Operation::kWriteOnlyImm, "RDMA Write Only Immediate", kOnly | kPayload | kRequest | kReth | kImmediate},
    {Operation::kReadRequest, "RDMA Read Request", kOnly | kRequest | kReth},
    {Operation::kReadResponseFirst, "RDMA Read Response First", kFirst | kPayload | kAeth},
    {Operation::kReadResponseMiddle, "RDMA Read Response Middle", kPayload},
    {Operation::kReadResponseLast, "RDMA Read Response Last", kLast | kPayload | kAeth},
    {Operation::kReadResponseOnly, "RDMA Read Response Only", kOnly | kPayload | kAeth},
    {Operation::kAcknowledge, "Acknowledge", kAeth},
    {Operation::kAtomicAcknowledge, "Atomic Acknowledge", kOnly | kAeth | kAtomicAckEth},
    {Operation::kCompareSwap, "Compare Swap", kOnly | kRequest | kAtomicEth},
    {Operation::kFetchAdd, "Fetch Add", kOnly | kRequest | kAtomicEth},
    {Operation::kSendLastInvalidate, "Send Last Invalidate", kLast | kPayload | kRequest | kInvalidate},
    {Operation::kSendOnlyInvalidate, "Send Only Invalidate", kOnly | kPayload | kRequest | kInvalidate},
    {Operation::kAtomicWrite, "Atomic Write", kOnly | kPayload | kRequest | kReth},
};

constexpr bool is_defined(Transport transport, Operation operation) {
  switch (transport) {
    case Transport::kRc:
      return true;
    case Transport::kXrc:
      return operation != Operation::kAtomicWrite;
    case Transport::kUc:  // sends and writes, which are not acknowledged
      return operation <= Operation::kWriteOnlyImm;
    case Transport::kUd:  // a message is one packet
      return operation == Operation::kSendOnly || operation == Operation::kSendOnlyImm;
    case Transport::kCnp:
      return false;  // has no operations
  }
  return false;
}

constexpr OpcodeInfo make_info(Transport transport, const OperationRow& row) {
  const std::uint32_t traits = row.traits;
  OpcodeInfo info;
  info.name = row.name;
  info.defined = true;
  info.begins_message = traits & kFirst;
  info.ends_message = traits & kLast;
  info.has_payload = traits & kPayload;
  info.is_request = traits & kRequest;
  info.has_reth = traits & kReth;
  info.has_aeth = traits & kAeth;
  info.has_atomic_eth = traits & kAtomicEth;
  info.has_atomic_ack_eth = traits & kAtomicAckEth;
  info.has_immediate = traits & kImmediate;
  info.has_invalidate = traits & kInvalidate;
  info.has_deth = transport == Transport::kUd;
  info.has_xrc_eth = transport == Transport::kXrc && info.is_request;  // IBA A14: requests only
  info.extended_header_bytes = static_cast<std::uint8_t>(
      (info.has_reth ? 16 : 0) + (info.has_aeth ? 4 : 0) + (info.has_atomic_eth ? 28 : 0) +
      (info.has_atomic_ack_eth ? 8 : 0) + (info.has_immediate ? 4 : 0) + (info.has_invalidate ? 4 : 0) +
      (info.has_deth ? 8 : 0) + (info.has_xrc_eth ? 4 : 0));
  return info;
}

constexpr std::array<OpcodeInfo, 256> make_table() {
  std::array<OpcodeInfo, 256> table{};
  for (const Transport transport : {Transport::kRc, Transport::kUc, Transport::kUd, Transport::kXrc}) {
    for (const OperationRow& row : kOperations) {
      if (!is_defined(transport, row.operation)) continue;
      table[static_cast<std::uint8_t>(make_opcode(transport, row.operation))] = make_info(transport, row);
    }
  }
  // Congestion notification: 16 reserved bytes after the BTH; 0x80 on InfiniBand (IBA A10.3.2), 0x81 on
  // RoCEv2 (A17.9.2).
  for (const std::uint8_t code : {0x80, 0x81}) {
    table[code].name = "CNP";
    table[code].defined = true;
    table[code].extended_header_bytes = 16;
  }
  return table;
}

}  // namespace

constinit const std::array<OpcodeInfo, 256> kOpcodeTable = make_table();

}  // namespace verbatim::ib
