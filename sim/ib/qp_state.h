// Valid state transitions of a queue pair, with their required and optional attributes: IBA 10.3.1 and tables
// 91 and 92, as the Linux core applies them to every adapter.
#pragma once

#include <cstdint>
#include <string>

#include "sim/ib/types.h"

namespace verbatim::ib {

constexpr const char* name_of(QpState state) {
  constexpr const char* kNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  return kNames[static_cast<unsigned>(state)];
}

struct QpTransition {
  bool valid = false;
  std::uint32_t required = 0;  // QpAttributeMask, without kQpState
  std::uint32_t optional = 0;
};

QpTransition qp_transition(QpState from, QpState to, QpType type);

// Whether the transition is valid with exactly the attributes in `mask`.
bool is_modify_allowed(QpState from, QpState to, QpType type, std::uint32_t mask);

// The bits of an attr_mask as text: "IBV_QP_AV | IBV_QP_PATH_MTU"; "nothing" for 0.
std::string names_of_attributes(std::uint32_t mask);

}  // namespace verbatim::ib
