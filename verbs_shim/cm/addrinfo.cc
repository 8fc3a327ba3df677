// rdma_getaddrinfo: name resolution needs no adapter. Routes and connection data are never filled in.
#include <netdb.h>

#include <cstring>

#include "verbs_shim/cm/cm_api.h"
#include "verbs_shim/runtime/runtime.h"

namespace {

using namespace verbatim;

constexpr int kPassive = RAI_PASSIVE;

// One allocation: the answer and the address behind it.
struct Answer {
  rdma_addrinfo info;
  sockaddr_storage address;
  sockaddr_storage source;
};

// Reliable connections unless a datagram QP or port space was asked for (rdma_getaddrinfo(3)).
void choose_service(rdma_addrinfo* info, const rdma_addrinfo* hints) {
  info->ai_qp_type = hints == nullptr ? 0 : hints->ai_qp_type;
  info->ai_port_space = hints == nullptr ? 0 : hints->ai_port_space;
  if (info->ai_port_space == 0) {
    info->ai_port_space = info->ai_qp_type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
  }
  if (info->ai_qp_type == 0) {
    info->ai_qp_type =
        info->ai_port_space == RDMA_PS_UDP || info->ai_port_space == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;
  }
}

addrinfo system_hints(const rdma_addrinfo* hints) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  if (hints == nullptr) return wanted;
  if ((hints->ai_flags & RAI_PASSIVE) != 0) wanted.ai_flags |= AI_PASSIVE;
  if ((hints->ai_flags & RAI_NUMERICHOST) != 0) wanted.ai_flags |= AI_NUMERICHOST;
  wanted.ai_family = hints->ai_family;
  return wanted;
}

}  // namespace

extern "C" int rdma_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints,
                                rdma_addrinfo** result) {
  if (node == nullptr && service == nullptr) return cm::fail(EINVAL);
  const addrinfo wanted = system_hints(hints);
  addrinfo* found = nullptr;
  if (int error = getaddrinfo(node, service, &wanted, &found)) return error;
  auto* answer = static_cast<Answer*>(shim::allocate(sizeof(Answer)));
  if (answer == nullptr || found->ai_addrlen > sizeof(answer->address)) {
    shim::release(answer);
    freeaddrinfo(found);
    return cm::fail(ENOMEM);
  }
  rdma_addrinfo& info = answer->info;
  info.ai_flags = hints == nullptr ? 0 : hints->ai_flags;
  info.ai_family = found->ai_family;
  choose_service(&info, hints);
  std::memcpy(&answer->address, found->ai_addr, found->ai_addrlen);
  auto* address = reinterpret_cast<sockaddr*>(&answer->address);
  if ((info.ai_flags & kPassive) != 0) {
    info.ai_src_addr = address;
    info.ai_src_len = found->ai_addrlen;
  } else {
    info.ai_dst_addr = address;
    info.ai_dst_len = found->ai_addrlen;
    if (hints != nullptr && hints->ai_src_addr != nullptr && hints->ai_src_len <= sizeof(answer->source)) {
      std::memcpy(&answer->source, hints->ai_src_addr, hints->ai_src_len);
      info.ai_src_addr = reinterpret_cast<sockaddr*>(&answer->source);
      info.ai_src_len = hints->ai_src_len;
    }
  }
  freeaddrinfo(found);
  *result = &info;
  return 0;
}

extern "C" void rdma_freeaddrinfo(rdma_addrinfo* result) {
  if (result != nullptr) verbatim::shim::release(result);
}
