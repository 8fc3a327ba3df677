#include "sim/core/trail.h"

#include <algorithm>

#include "sim/core/check.h"

namespace verbatim {

// State shared by all trails of a message.
struct Trail::Shared {
  TrailMessage message;
  Loss loss;
};

struct Trail::Node {
  std::uint32_t handles = 1;  // handles and child nodes
  Node* parent = nullptr;
  std::size_t parent_steps = 0;  // steps of the parent that precede this node
  Instant begin;
  std::shared_ptr<Shared> shared;
  std::vector<TrailStep> steps;

  Instant end() const { return steps.empty() ? begin : steps.back().end; }
};

Trail::Trail(Instant begin) : node_(new Node) { node_->begin = begin; }

Trail::Node* Trail::fork(Node& from) {
  Node* node = new Node;
  node->parent = &from;
  node->parent_steps = from.steps.size();
  node->begin = from.end();
  node->shared = from.shared;
  ++from.handles;
  return node;
}

void Trail::drop(Node* node) {
  while (node != nullptr && --node->handles == 0) {
    Node* parent = node->parent;
    delete node;
    node = parent;
  }
}

Trail Trail::shared() const {
  if (node_ != nullptr) ++node_->handles;
  return Trail(node_);
}

void Trail::append(Instant end, const TrailPart& part) {
  const Instant before = node_->end();
  CHECK(end >= before);
  if (end > before || part.kind == TrailKind::kMark) node_->steps.push_back({end, part});
}

void Trail::set_message(const TrailMessage& message) {
  if (node_ != nullptr) node_->shared = std::make_shared<Shared>(Shared{message, {}});
}

const TrailMessage* Trail::message() const {
  return node_ == nullptr || node_->shared == nullptr ? nullptr : &node_->shared->message;
}

void Trail::note_loss(TrailLoss why, ComponentId where) const {
  if (message() != nullptr && node_->shared->loss.why == TrailLoss::kUnnamed) node_->shared->loss = {why, where};
}

Trail::Loss Trail::take_loss() const { return message() == nullptr ? Loss{} : std::exchange(node_->shared->loss, {}); }

bool Trail::has_message_of(const Trail& other) const {
  return message() != nullptr && message() == other.message();
}

Instant Trail::begin() const {
  CHECK(node_ != nullptr);
  const Node* node = node_;
  while (node->parent != nullptr) node = node->parent;
  return node->begin;
}

Instant Trail::end() const {
  CHECK(node_ != nullptr);
  return node_->end();
}

std::vector<TrailStep> Trail::steps() const {
  std::vector<TrailStep> steps;
  std::size_t count = node_ == nullptr ? 0 : node_->steps.size();
  for (const Node* node = node_; node != nullptr; count = node->parent_steps, node = node->parent) {
    for (std::size_t i = count; i > 0; --i) steps.push_back(node->steps[i - 1]);
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

std::optional<Instant> Trail::last(const char* name) const {
  std::size_t count = node_ == nullptr ? 0 : node_->steps.size();
  for (const Node* node = node_; node != nullptr; count = node->parent_steps, node = node->parent) {
    for (std::size_t i = count; i > 0; --i) {
      if (node->steps[i - 1].part.name == name) return node->steps[i - 1].end;
    }
  }
  return std::nullopt;
}

void Trail::follow(const Trail& other) {
  if (node_ == nullptr) return;
  for (const TrailStep& step : other.steps()) {
    if (step.end > node_->end()) append(step.end, step.part);
  }
}

Trail Trail::until(Instant when, const TrailPart& wait) const {
  if (node_ == nullptr) return {};
  Trail trail(begin());
  trail.node_->shared = node_->shared;
  for (const TrailStep& step : steps()) {
    if (step.end > when) {
      trail.append(when, step.part);
      break;
    }
    trail.append(step.end, step.part);
  }
  trail.append(when, wait);
  return trail;
}

}  // namespace verbatim
