// The steps of a message's latency, from the call that posts it to the completion queue entry: each step
// has a name and extends from the end of the step before to its own end. A doorbell, work request or packet
// carries its trail through the model, and each stage that takes time adds a step. A trail does not affect
// results. It is empty unless an observer wants trails (Tracer::trail); every function then costs one
// branch.
//
// A copy continues from the end of the original and shares its steps: the packets of a work request, the
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
  kBytes,   // `amount` bytes pass a line
  kEdge,    // until the next edge of a clock
  kBusy,    // until a stage accepts the next item, because of earlier ones
  kWait,    // for a resource that is busy or missing
  kWaitFor, // until component `amount` permits it
  kMark,    // takes no time; found by Trail::last()
};

// `name` must be a literal; it identifies the step together with `where`.
struct TrailPart {
  ComponentId where;
  const char* name = "";
  TrailKind kind = TrailKind::kWait;
  std::uint64_t amount = 0;
};

// The component that a step of kind kWaitFor waits for.
constexpr ComponentId waited_for(const TrailPart& part) { return ComponentId{static_cast<std::uint32_t>(part.amount)}; }

struct TrailStep {
  Instant end;
  TrailPart part;
};

// Cause of a packet loss in the fabric; the time lost by it is named after it.
enum class TrailLoss : std::uint8_t {
  kUnnamed,
  kFullBuffer,  // a switch's memory, or an input buffer, was full
  kDeadLink,    // the link failed, or is down and no other route is in use yet
};

// The posted work request.
struct TrailMessage {
  ComponentId adapter;
  std::uint32_t queue_pair = 0;
  std::uint32_t work = 0;      // index of the work request in its queue
  std::string_view service, operation;  // "RC", "SEND"; literals
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

  // Whether the trail is not empty.
  explicit operator bool() const { return node_ != nullptr; }

  // Adds a step from the end of the last one to `end`, which must not be earlier. A step of length zero is
  // left out, unless it is a mark.
  void add(Instant end, const TrailPart& part) {
    if (node_ != nullptr) [[unlikely]]
      append(end, part);
  }

  // A second handle to the same trail, for adding steps from elsewhere.
  Trail shared() const;

  // The functions below have no effect on an empty trail and return empty values, except begin() and end(),
  // which need a trail.
  void set_message(const TrailMessage& message);
  // Null until set_message() of this trail or of one that it was copied from.
  const TrailMessage* message() const;
  bool has_message_of(const Trail& other) const;

  // Notes the loss of a packet of the message at a component. Only the first loss since the last
  // take_loss() is kept.
  void note_loss(TrailLoss why, ComponentId where) const;
  struct Loss {
    TrailLoss why = TrailLoss::kUnnamed;
    ComponentId where;
  };
  Loss take_loss() const;

  Instant begin() const;
  Instant end() const;
  // Steps from the beginning.
  std::vector<TrailStep> steps() const;
  // End of the last step with this name (compared as a pointer), if any.
  std::optional<Instant> last(const char* name) const;
  // Adds the steps of `other` that end later than this trail.
  void follow(const Trail& other);
  // The trail as it was, or will be, at `when`: without later steps, and with `wait` for the time after its
  // last step.
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

// Event that ends a message's trail.
enum class MessageEnd : std::uint8_t {
  kCompleted,     // its completion is visible to the program that posted it
  kReceived,      // the completion of the receive that it consumed is visible
  kAcknowledged,  // unsignaled: it is known to be executed or, on an unreliable service, sent
};

struct MessageReport {
  MessageEnd end = MessageEnd::kCompleted;
  ComponentId adapter;           // at which it ended
  std::uint32_t queue_pair = 0;  // at which it ended
  std::uint32_t status = 0;      // 0: success
  Instant at;
  const Trail& trail;  // has its message; ends at `at`
};

class MessageObserver {
 public:
  virtual ~MessageObserver() = default;
  virtual void on_message(const MessageReport& report) = 0;
};

}  // namespace verbatim
