// Annotations for programs built with ThreadSanitizer: a thread's actions before the post of a work request
// happen before another thread's actions after the poll of its completion. Without them ThreadSanitizer,
// which does not see the adapter, would report a race between two threads that pass a buffer through it.
#pragma once

extern "C" {
// Defined by ThreadSanitizer's runtime; null elsewhere.
__attribute__((weak)) void __tsan_acquire(void* place);
__attribute__((weak)) void __tsan_release(void* place);
}

namespace verbatim::verbs {

// Work requests have been posted to `queue`.
template <typename Queue>
inline void order_before_completions(Queue& queue) {
  if (__tsan_release != nullptr) [[unlikely]]
    __tsan_release(&queue);
}

// A completion of `queue` has been polled.
template <typename Queue>
inline void order_after_posts(Queue& queue) {
  if (__tsan_acquire != nullptr) [[unlikely]]
    __tsan_acquire(&queue);
}

}  // namespace verbatim::verbs
