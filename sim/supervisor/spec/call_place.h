// Place in a program at which a thread did something that a decision of the run concerns; for people.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/ids.h"

namespace verbatim::supervisor {

struct CallPlace {
  enum class Kind : std::uint8_t {
    kSend,           // a send was posted
    kReceive,        // a receive was posted to a queue pair or a work queue
    kSharedReceive,  // a receive was posted to an SRQ
    kArm,            // a completion queue was armed
    kLate,           // the thread was late before a call or an access, or after a wait
  };
  Kind kind{};
  ComponentId component;          // adapter; with kLate the thread
  std::int64_t time_ps = 0;
  std::uint32_t number = 0;       // of QP, SRQ or CQ
  std::uint64_t wr_id = 0;        // of the work request
  std::string site;               // with kLate: site of the choice
  std::uint64_t occurrence = 0;   // with kLate: number of the choice of this thread at that site
  std::string place;              // "app.c:88, from app.c:120"
  std::uint32_t thread = 0;       // virtual id of the thread
};

}  // namespace verbatim::supervisor
