// XRC domains: named by a file's identity, or private to the process.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "verbs_shim/verbs/objects.h"

namespace verbatim::verbs {

ibv_xrcd* open_xrcd(ibv_context* handle, ibv_xrcd_init_attr* attributes) {
  constexpr std::uint32_t kNeeded = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  Context* context = context_of(handle);
  if (context == nullptr || attributes->comp_mask != kNeeded) {
    return refuse(refuse_with(EINVAL, "ibv_open_xrcd: comp_mask %#x must be FD and OFLAGS", attributes->comp_mask));
  }
  protocol::OpenXrcd command{};
  if (attributes->fd != -1) {
    struct stat found;
    if (long error = shim::system_call(SYS_fstat, attributes->fd, reinterpret_cast<long>(&found));
        error < 0) {
      return refuse(refuse_with(static_cast<int>(-error), "ibv_open_xrcd: fd %d is not open", attributes->fd));
    }
    command.inode = found.st_ino ^ (static_cast<std::uint64_t>(found.st_dev) << 40);
  }
  command.flags = static_cast<std::uint32_t>(attributes->oflags);
  auto* xrcd = allocate_object<Xrcd>();
  if (xrcd == nullptr) return nullptr;
  if (int error = execute(command, context->handle)) {
    release_object(xrcd);
    return refuse(error);
  }
  xrcd->base.context = handle;
  xrcd->handle = command.handle;
  return &xrcd->base;
}

int close_xrcd(ibv_xrcd* handle) {
  auto* xrcd = object<Xrcd>(handle);
  if (xrcd == nullptr) return EINVAL;
  int error = destroy(protocol::CommandType::kCloseXrcd, handle->context, xrcd->handle);
  if (error == 0) release_object(xrcd);
  return error;
}

}  // namespace verbatim::verbs
