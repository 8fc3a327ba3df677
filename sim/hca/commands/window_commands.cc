// Allocating memory windows and giving them back; a window is bound by a work request (memory_window.h).
#include <cerrno>

#include "sim/hca/commands/hca_impl.h"
#include "sim/hca/datapath/memory_window.h"

namespace verbatim::hca {

int Hca::Impl::alloc_mw(Context& context, protocol::AllocMw& command) {
  const auto pd = context.objects.pds.find(command.pd);
  if (pd == context.objects.pds.end()) return no_object("protection domain", command.pd);
  if (command.type != MemoryWindow::kType1 && command.type != MemoryWindow::kType2) {
    return refuse(EINVAL, "there is no memory window type ", command.type);
  }
  if (mw_count_ >= adapter.profile.max_mw) return refuse(ENOMEM, "all of max_mw ", adapter.profile.max_mw, " are in use");
  auto window = std::make_unique<MemoryWindow>();
  window->pd = command.pd;
  window->type = command.type;
  window->context = &context;
  window->key = adapter.keys.add(*window, choose_key());
  if (window->key == 0) return refuse(ENOMEM, "all keys are in use");
  ++mw_count_;
  ++pd->second.users;
  command.handle = take_handle(context);
  command.rkey = window->key;
  context.objects.mws[command.handle] = std::move(window);
  return 0;
}

int Hca::Impl::dealloc_mw(Context& context, protocol::DestroyObject& command) {
  const auto it = context.objects.mws.find(command.handle);
  if (it == context.objects.mws.end()) return no_object_to_destroy("memory window", command.handle);
  unbind(adapter, *it->second);
  adapter.keys.remove(it->second->key);
  --context.objects.pds.at(it->second->pd).users;
  context.objects.mws.erase(it);
  --mw_count_;
  command.events_reported = command.async_events_reported = 0;
  return 0;
}

}  // namespace verbatim::hca
