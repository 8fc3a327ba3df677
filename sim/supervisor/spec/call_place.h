// Where in its program a thread did something that a decision of the run is about: for people.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/ids.h"

namespace verbatim::supervisor {

struct CallPlace {
  enum class Kind : std::uint8_t {
    kSend,           // a send was posted
    kReceive,        // a receive was posted, to a queue pair or a work queue
    kSharedReceive,  // to an SRQ
    kArm,            // an event was asked for
    kLate,           // the thread came late to a call, or late out of one
  };
  Kind kind{};
  ComponentId component;          // the adapter; with kLate the thread
  std::int64_t time_ps = 0;
  std::uint32_t number = 0;       // of the QP, SRQ or CQ
  std::uint64_t wr_id = 0;        // of the request
  std::string site;               // of the choice, with kLate
  std::uint64_t occurrence = 0;   // of this thread at that site
  std::string place;              // "app.c:88, from app.c:120"
};

}  // namespace verbatim::supervisor
