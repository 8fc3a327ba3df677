// Signals on I/O readiness of a descriptor (fcntl(2): O_ASYNC, F_SETOWN, F_SETSIG): receiver, signal number
// and time.
//
// A change of the file sends POLL_IN if the file has input or is at its end, otherwise POLL_OUT if it is
// writable.
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
  bool is_on() const { return is_on_; }
  // `descriptor`: si_fd of the signals.
  void turn(bool on, int descriptor);

  void wake(bool by_adapter_event = false) override;

 private:
  void on_timer();

  VirtualFile& file_;
  const Send send_;
  bool is_on_ = false;
  int descriptor_ = -1;
  std::vector<int> pending_codes_;  // si_code of each change whose signal is not sent yet
  Timer timer_;            // sends signals outside the notification of waiters
};

}  // namespace verbatim::supervisor
