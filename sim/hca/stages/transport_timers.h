// The timers of one queue pair's requester: the transport timer, for an answer (IBA 9.7.6.1.3), and that of a receiver which was
// not ready (IBA 9.7.5.2.8). Actions arm and cancel them (transport/actions.h).
#pragma once

#include <cstdint>

#include "sim/core/choice.h"
#include "sim/core/engine.h"
#include "sim/hca/transport/actions.h"

namespace verbatim::hca {

class TransportTimers {
 public:
  // Learns that a timer has expired.
  class Listener {
   public:
    virtual void on_ack_timeout() = 0;
    virtual void on_rnr_timeout() = 0;

   protected:
    ~Listener() = default;
  };

  // Events are of `component`. All outlive the timers.
  TransportTimers(Engine& engine, Choices& choices, ComponentId component, Listener& listener);

  // An action to arm or cancel one. The time counts from `from`, which is not before now.
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
  Instant ack_deadline_ = kNever;  // may be later than the timer, which then only moves on
  Duration ack_interval_{};
  bool ack_is_late_ = false;  // the deadline is beyond the interval
  Timer ack_timer_;
  Timer rnr_timer_;
};

}  // namespace verbatim::hca
