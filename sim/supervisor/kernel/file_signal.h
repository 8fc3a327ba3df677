// SIGIO, or another signal, when a file becomes ready (fcntl(2): O_ASYNC, F_SETOWN, F_SETSIG). Its si_code is
// POLL_IN if the file has input or is at its end, otherwise POLL_OUT.
#pragma once

#include <csignal>
#include <functional>
#include <vector>

#include "sim/core/engine.h"
#include "sim/supervisor/files/virtual_file.h"
#include "sim/supervisor/tasks/signal_queue.h"

namespace verbatim::supervisor {

class FileSignal final : public Waiter {
 public:
  // As f_owner_ex: type is F_OWNER_TID, F_OWNER_PID or F_OWNER_PGRP; id 0: no receiver.
  struct Owner {
    int type = 0;
    std::uint32_t id = 0;
  };
  using Send = std::function<void(const Owner&, int signal, const SignalOrigin&)>;

  // Owned by `file`.
  FileSignal(Engine& engine, ComponentId source, VirtualFile& file, Send send);

  Owner owner;
  int signal = 0;  // 0: SIGIO without siginfo
  bool is_async() const { return is_async_; }
  // Sets or clears O_ASYNC. `descriptor`: si_fd of the signals.
  void set_async(bool async, int descriptor);

  void wake(bool by_adapter_event = false) override;

 private:
  void on_timer();

  VirtualFile& file_;
  const Send send_;
  bool is_async_ = false;
  int descriptor_ = -1;
  std::vector<int> pending_codes_;  // si_code of each signal that is not sent yet
  Timer timer_;  // sends the signals, because wake() must change no other waiter
};

}  // namespace verbatim::supervisor
