// Signals that tell of a descriptor (fcntl(2): O_ASYNC, F_SETOWN, F_SETSIG): whom, which, and when.
//
// Each change to a pipe or socket that has something to read, or is at its end, is told as input, any other
// after which it can be written as output.
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
  // As f_owner_ex: F_OWNER_TID, F_OWNER_PID, F_OWNER_PGRP; 0: nobody.
  struct Owner {
    int type = 0;
    std::uint32_t id = 0;
  };
  using Send = std::function<void(const Owner&, int signal, const SignalOrigin&)>;

  // `file` keeps it.
  FileSignal(Engine& engine, ComponentId source, VirtualFile& file, Send send);

  Owner owner;
  int signal = 0;  // 0: SIGIO, which tells nothing more
  bool is_on() const { return is_on_; }
  // `descriptor`: what the signal names the file by.
  void turn(bool on, int descriptor);

  void wake(bool by_adapter_event = false) override;

 private:
  void on_timer();

  VirtualFile& file_;
  const Send send_;
  bool is_on_ = false;
  int descriptor_ = -1;
  std::vector<int> told_;  // si_code of each change that is still to be told
  Timer timer_;            // signals are sent when nobody is being told of a change
};

}  // namespace verbatim::supervisor
