// XRC domains (IBA A14), and the receiving queue pairs that belong to a domain instead of a program: whoever
// has opened the domain may open them, and they live until the last user is gone.
#include <cerrno>

#include "sim/hca/commands/hca_impl.h"

namespace verbatim::hca {

namespace {

// Open flags as Linux encodes them.
constexpr std::uint32_t kCreate = 0100, kExclusive = 0200;

}  // namespace

XrcOpening* Hca::Impl::find_xrcd(Context& context, std::uint32_t handle) {
  const auto it = context.objects.xrcds.find(handle);
  return it == context.objects.xrcds.end() ? nullptr : &it->second;
}

int Hca::Impl::open_xrcd(Context& context, protocol::OpenXrcd& command) {
  std::uint32_t domain = 0;
  if (command.inode != 0) {
    for (const auto& [number, known] : xrc_domains_) {
      if (known.file == command.inode) domain = number;
    }
    // ibv_open_xrcd(3): creation has to be asked for, and may be insisted on.
    if (domain == 0 && (command.flags & kCreate) == 0) {
      return refuse(EAGAIN, "there is no XRC domain for this file yet, and oflags have no O_CREAT");
    }
    if (domain != 0 && (command.flags & kExclusive) != 0) {
      return refuse(EINVAL, "there is already an XRC domain for this file, and oflags have O_EXCL");
    }
  }
  if (domain == 0) {
    domain = ++last_domain_;
    xrc_domains_[domain].file = command.inode;
  }
  ++xrc_domains_[domain].openings;
  command.handle = take_handle(context);
  context.objects.xrcds[command.handle] = {domain, 0};
  return 0;
}

void Hca::Impl::close_xrc_opening(Context& context, std::uint32_t handle) {
  const std::uint32_t domain = context.objects.xrcds.at(handle).domain;
  context.objects.xrcds.erase(handle);
  if (--xrc_domains_.at(domain).openings == 0) xrc_domains_.erase(domain);
}

int Hca::Impl::close_xrcd(Context& context, protocol::DestroyObject& command) {
  const XrcOpening* xrcd = find_xrcd(context, command.handle);
  if (xrcd == nullptr) return no_object_to_destroy("XRC domain", command.handle);
  if (xrcd->users > 0) return refuse(EBUSY, xrcd->users, " queue pairs and shared receive queues of it still exist");
  close_xrc_opening(context, command.handle);
  command.events_reported = command.async_events_reported = 0;
  return 0;
}

void Hca::Impl::add_opening(const Ref<QueuePair>& qp, Context& context, std::uint32_t handle,
                            std::uint64_t cookie, std::uint32_t xrcd) {
  qp.get()->openings.push_back({context.self, handle, cookie, xrcd});
  context.objects.qps[handle] = qp;
  ++context.objects.xrcds.at(xrcd).users;
}

int Hca::Impl::create_xrc_receiver(Context& context, protocol::CreateQp& command) {
  const XrcOpening* xrcd = find_xrcd(context, command.xrcd);
  if (xrcd == nullptr) return no_object("XRC domain", command.xrcd);
  if (command.srq != 0) return refuse(EINVAL, "an XRC receiver takes shared receive queues by number, not by srq");
  QueuePairParams params;
  params.handle = take_handle(context);
  params.number = take_qp_number();
  params.type = ib::QpType::kXrcReceive;
  params.domain = xrcd->domain;
  const Ref<QueuePair> qp = qp_pool_.create(adapter, *own_context_.get(), params, WorkQueue(), WorkQueue());
  add_qp(qp);
  add_opening(qp, context, params.handle, command.cookie, command.xrcd);
  command.capabilities = {};
  command.handle = params.handle;
  command.number = params.number;
  command.send_entries = command.send_stride = command.recv_entries = command.recv_stride = 0;
  command.send_offset = command.recv_offset = command.record_offset = context.program.arena_offset;
  return 0;
}

int Hca::Impl::open_qp(Context& context, protocol::OpenQp& command) {
  const XrcOpening* xrcd = find_xrcd(context, command.xrcd);
  QueuePair* qp = adapter.qp_by_number(ib::Qpn{command.number});
  if (xrcd == nullptr) return no_object("XRC domain", command.xrcd);
  if (qp == nullptr) return refuse(EINVAL, "there is no queue pair ", command.number);
  if (!qp->is_xrc_receiver() || qp->params.domain != xrcd->domain) {
    return refuse(EINVAL, "queue pair ", command.number, " is not an XRC receiver of this domain");
  }
  command.handle = take_handle(context);
  add_opening(qp->self, context, command.handle, command.cookie, command.xrcd);
  command.state = static_cast<std::uint32_t>(qp->state());
  return 0;
}

}  // namespace verbatim::hca
