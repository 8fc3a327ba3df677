// Conversion between the structs of rdma/rdma_user_cm.h and those of sim/cm.
#pragma once

#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_cm.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/cm/rdma_cm.h"

namespace verbatim::supervisor::rdma_cm_abi {

// Family kNone if the family is unknown or the address does not fit into `storage`.
cm::Address address_from(std::span<const std::byte> storage);
template <class Storage>
cm::Address address_from(const Storage& storage) {
  return address_from(std::as_bytes(std::span(&storage, 1)));
}
// Stores as much of an address as fits into zeroed bytes, as Linux does; returns the full length.
std::size_t store_address(const cm::Address& address, std::span<std::byte> to);

cm::ConnectionParameters parameters_from(const rdma_ucm_conn_param& from, const rdma_ucm_ece& ece);

ib_uverbs_ah_attr address_handle_of(const management::Path& path, std::uint8_t sgid_index);

}  // namespace verbatim::supervisor::rdma_cm_abi
