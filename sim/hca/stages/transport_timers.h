// The timers of one queue pair's requester: the transport timer (IBA 9.7.6.1.3) and the RNR timer (IBA
// 9.7.5.2.8). Actions arm and cancel them (transport/actions.h).
#pragma once

#include <cstdint>

#include "sim/core/choice.h"
#include "sim/core/engine.h"
#include "sim/hca/transport/actions.h"

namespace verbatim::hca {

class TransportTimers {
 public:
  // Called when a timer expires.
  class Listener {
   public:
    virtual void on_ack_timeout() = 0;
    virtual void on_rnr_timeout() = 0;

   protected:
    ~Listener() = default;
  };

  // Events are of `component`. All outlive the timers.
  TransportTimers(Engine& engine, Choices& choices, ComponentId component, Listener& listener);

  // Executes an action that arms or cancels a timer. The duration counts from `from`, which is not before
  // now.
  void execute(const Action& action, Instant from);
  void stop();

 private:
  void arm_ack_timer(Duration interval, Instant from);
  void on_ack_timer();
  void on_rnr_timer() { listener_.on_rnr_timeout(); }

  Engine& engine_;
  Choices& choices_;
  const ComponentId component_;
  Listener& listener_;
  Instant ack_deadline_ = kNever;  // when it is later than the timer, the timer is only restarted
  Duration ack_interval_{};
  bool ack_is_late_ = false;  // the deadline is beyond the interval
  Timer ack_timer_;
  Timer rnr_timer_;
};

}  // namespace verbatim::hca
