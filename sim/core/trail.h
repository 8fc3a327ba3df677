// Where the time of a message goes, from the call that posts it to the entry in the completion queue: an
// unbroken row of named steps, each from the end of the one before to its own. What carries a message through
// the model (a doorbell, a work request, a packet) carries its trail along, and what takes time adds a step.
// A trail decides nothing; it is empty unless someone asked (Tracer::trail), and then everything here costs
// one branch.
//
// A copy goes on from where the original is and shares what lies behind: the packets of a work request, the
// acknowledgement of a packet, the copies of a multicast packet.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/time.h"

namespace verbatim {

enum class TrailKind : std::uint8_t {
  kDelay,   // a constant of a profile
  kCycles,  // `amount` whole cycles of a clock
  kBytes,   // `amount` bytes that pass a line
  kEdge,    // to the next edge of a clock
  kBusy,    // until a stage takes the next, because of those before
  kWait,    // for something that is busy, or that is not there yet
  kWaitFor, // until a component lets it go on; `amount` is its number
  kMark,    // no time: a place that is found again (Trail::last)
};

// `name` lives for ever; with `where` it says what the step is.
struct TrailPart {
  ComponentId where;
  const char* name = "";
  TrailKind kind = TrailKind::kWait;
  std::uint64_t amount = 0;
};

// The component that a part of kind kWaitFor waits for.
constexpr ComponentId waited_for(const TrailPart& part) { return ComponentId{static_cast<std::uint32_t>(part.amount)}; }

struct TrailStep {
  Instant end;
  TrailPart part;
};

// Why the fabric lost a packet of a message, where names are worth it: time lost is named by it.
enum class TrailLoss : std::uint8_t {
  kUnnamed,
  kFullBuffer,  // a switch's memory, or an input buffer, was full
  kDeadLink,    // the link failed, or is down and no route leads round it yet
};

// What was posted.
struct TrailMessage {
  ComponentId adapter;
  std::uint32_t queue_pair = 0;
  std::uint32_t work = 0;      // number of the work request in its queue
  std::string_view service, operation;  // "RC", "SEND"; live for ever
  std::uint64_t bytes = 0;
};

class Trail {
 public:
  Trail() = default;
  explicit Trail(Instant begin);
  Trail(const Trail& other) : node_(other.node_ == nullptr ? nullptr : fork(*other.node_)) {}
  Trail(Trail&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Trail& operator=(Trail other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Trail() {
    if (node_ != nullptr) [[unlikely]]
      drop(node_);
  }

  // Not empty.
  explicit operator bool() const { return node_ != nullptr; }

  // The time from the last step's end to `end` is spent with this; `end` is not before. Steps that take none
  // are left out.
  void add(Instant end, const TrailPart& part) {
    if (node_ != nullptr) [[unlikely]]
      append(end, part);
  }

  // A second handle to the same trail, for what adds to it from elsewhere.
  Trail shared() const;

  // The rest needs a trail that is not empty, or gives what an empty one has.
  void set_message(const TrailMessage& message);
  // Null until it is set, on this or on what it is a copy of.
  const TrailMessage* message() const;
  bool has_message_of(const Trail& other) const;

  // A packet of the message was lost at a component. The first loss since the last take_loss() counts.
  void note_loss(TrailLoss why, ComponentId where) const;
  struct Loss {
    TrailLoss why = TrailLoss::kUnnamed;
    ComponentId where;
  };
  Loss take_loss() const;

  Instant begin() const;
  Instant end() const;
  // From the beginning.
  std::vector<TrailStep> steps() const;
  // The end of the last step with this name (compared as a pointer), if there is one.
  std::optional<Instant> last(const char* name) const;
  // Adds those steps of `other` that end later than this does.
  void follow(const Trail& other);
  // As this was, or will have been, at `when`: without what comes later, `wait` when there was nothing for a
  // while.
  Trail until(Instant when, const TrailPart& wait) const;

 private:
  struct Node;
  struct Shared;
  explicit Trail(Node* node) : node_(node) {}
  static Node* fork(Node& from);
  static void drop(Node* node);
  void append(Instant end, const TrailPart& part);

  Node* node_ = nullptr;
};

// How the way of a message ended.
enum class MessageEnd : std::uint8_t {
  kCompleted,     // its completion is visible to the program that posted it
  kReceived,      // the completion of the receive that it has taken is visible
  kAcknowledged,  // it was to give no completion: it is known to be executed, or, unreliable, sent
};

struct MessageReport {
  MessageEnd end = MessageEnd::kCompleted;
  ComponentId adapter;           // where it ended
  std::uint32_t queue_pair = 0;  // likewise
  std::uint32_t status = 0;      // 0: success
  Instant at;
  const Trail& trail;  // with its message; ends at `at`
};

class MessageObserver {
 public:
  virtual ~MessageObserver() = default;
  virtual void on_message(const MessageReport& report) = 0;
};

}  // namespace verbatim
