// What ThreadSanitizer is told in programs that are built with it: whatever a thread did before it posted a work request happens
// before what another one does after it has polled the completion. Without that it would take the adapter's work for nothing, and
// two threads that hand a buffer to each other by way of it for a race.
#pragma once

extern "C" {
// Of ThreadSanitizer's runtime; elsewhere they are null.
__attribute__((weak)) void __tsan_acquire(void* place);
__attribute__((weak)) void __tsan_release(void* place);
}

namespace verbatim::verbs {

// Work requests were posted to `queue`.
template <typename Queue>
inline void order_before_completions(Queue& queue) {
  if (__tsan_release != nullptr) [[unlikely]]
    __tsan_release(&queue);
}

// A completion of `queue` was polled.
template <typename Queue>
inline void order_after_posts(Queue& queue) {
  if (__tsan_acquire != nullptr) [[unlikely]]
    __tsan_acquire(&queue);
}

}  // namespace verbatim::verbs
