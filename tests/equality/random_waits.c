// Methods of waiting: those of real programs, and similar ones.
#include <poll.h>
#include <sched.h>
#include <sys/select.h>
#include <x86intrin.h>

#include "tests/equality/random_program.h"

int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000ll + time.tv_nsec;
}

void nap(uint64_t ns) {
  const struct timespec time = {0, (long)ns};
  nanosleep(&time, NULL);  // an alarm may cut it short
}

// Window of the arriving bytes, small enough to be read often.
static uint32_t view(void) { return checksum(arrival(0, 0), 512) ^ checksum((const void*)flag(0), 256); }

void dawdle(int times) {
  struct ibv_wc wc;
  (void)wc;
  for (; times > 0; --times) {
    switch (draw(mine, 12)) {
      case 0:
        say("clock %lld", (long long)now_ns());
        break;
      case 1: {
        struct timeval time;
        gettimeofday(&time, NULL);
        say("day %ld.%06ld", (long)time.tv_sec, (long)time.tv_usec);
        break;
      }
      case 2:
        say("tsc %llu", (unsigned long long)__rdtsc());
        break;
      case 3:
        nap(draw(mine, 30000));
        break;
      case 4:
        usleep((useconds_t)draw(mine, 20));
        break;
      case 5:
        say("view %08x", view());
        break;
      case 6: {
        struct timeval time = {0, (suseconds_t)draw(mine, 15)};
        say("select %d", select(0, NULL, NULL, NULL, &time));
        break;
      }
      case 7: {
        const int64_t until = now_ns() + (int64_t)draw(mine, 8000);
        int turns = 0;
        while (now_ns() < until) ++turns;
        say("watched the clock %d times", turns);
        break;
      }
      case 8: {
        const uint64_t until = __rdtsc() + draw(mine, 10000);
        int turns = 0;
        while (__rdtsc() < until) ++turns;
        say("watched the counter %d times", turns);
        break;
      }
      case 9:
        sched_yield();
        break;
      case 10: {
        unsigned aux;
        const uint64_t a = __rdtscp(&aux), b = __rdtsc();
        say("tsc %llu and %llu later", (unsigned long long)a, (unsigned long long)(b - a));
        break;
      }
      default: {
        volatile unsigned sum = 0;
        for (unsigned i = 0; i < 2000; ++i) sum += i;
        (void)sum;
      }
    }
  }
}

// Requests of the queue pair that may fail complete one by one from the first that does.
static void book_failure(struct connection* c, const struct ibv_wc* wc) {
  say("completion %llx: %s", (unsigned long long)wc->wr_id, ibv_wc_status_str(wc->status));
  if (wc->wr_id < kFirstReceive) c->sends_done = wc->wr_id;
}

static void book(const struct ibv_wc* wc) {
  const struct ibv_qp* const own = my.connections[kOwnQp].qp;
  if (wc->status != IBV_WC_SUCCESS && own != NULL && own->qp_num == wc->qp_num) {
    book_failure(&my.connections[kOwnQp], wc);
    return;
  }
  if (wc->status != IBV_WC_SUCCESS) {
    say("completion %llx: %s", (unsigned long long)wc->wr_id, ibv_wc_status_str(wc->status));
    exit(1);
  }
  for (int i = 0; i <= kOwnQp; ++i) {
    struct connection* c = &my.connections[i];
    if (c->qp == NULL || c->qp->qp_num != wc->qp_num) continue;
    const int received = (wc->opcode & IBV_WC_RECV) != 0;
    // Work requests complete in order, so the id of a send is the number of completed ones. Another thread
    // may have counted a later one since this one was polled.
    if (received) {
      __atomic_fetch_add(&c->receives_done, 1, __ATOMIC_SEQ_CST);
      say("qp %d: received %u bytes, id %llx, flags %x", i, wc->byte_len, (unsigned long long)wc->wr_id,
          (unsigned)wc->wc_flags);
    } else {
      uint64_t done = __atomic_load_n(&c->sends_done, __ATOMIC_SEQ_CST);
      while (done < wc->wr_id && !__atomic_compare_exchange_n(&c->sends_done, &done, wc->wr_id, 0,
                                                              __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
      }
      say("qp %d: done up to %llu, opcode %d", i, (unsigned long long)wc->wr_id, (int)wc->opcode);
    }
  }
}

int look(struct ibv_cq* cq, int max) {
  struct ibv_wc wc[8];
  const int n = ibv_poll_cq(cq, max, wc);
  MUST(n >= 0);
  for (int i = 0; i < n; ++i) book(&wc[i]);
  return n;
}

// One turn: returns after at least one completion, or when another thread has counted ours.
static void wait_once(struct connection* c, const volatile uint64_t* counter, uint64_t target) {
  struct ibv_cq* const cq = c->cq;
  struct ibv_wc wc[8];
  int n = 0, turns = 0;
  // Two threads at one queue may take each other's completions, so each must look at the counter too.
  uint64_t style = draw(mine, 14);
  struct ibv_cq* const other = my.connections[c == &my.connections[0] ? 1 : 0].cq;
  if (my.with_threads && (style == 0 || style == 1 || style == 6 || style == 8 || style > 11)) style = 7;
  if (my.with_threads && style == 10) style = 3;
  switch (style) {
    case 0:
      while ((n = ibv_poll_cq(cq, 1, wc)) == 0) {
      }
      break;
    case 1:
      do {
        n = ibv_poll_cq(cq, 8, wc);
      } while (n == 0);
      break;
    case 2:
      while (*counter < target && (n = ibv_poll_cq(cq, 1, wc)) == 0) ++turns;
      say("%d empty polls", turns);
      break;
    case 3: {
      int64_t last = 0;
      while (*counter < target && (n = ibv_poll_cq(cq, 2, wc)) == 0) {
        last = now_ns();
        ++turns;
      }
      say("%d polls with a clock, last %lld", turns, (long long)last);
      break;
    }
    case 4: {
      uint32_t seen = view();
      while (*counter < target && (n = ibv_poll_cq(cq, 1, wc)) == 0) {
        const uint32_t now = view();
        ++turns;
        if (now != seen) say("poll %d: view %08x", turns, now);
        seen = now;
      }
      break;
    }
    case 5:
      while (*counter < target && (n = ibv_poll_cq(cq, 4, wc)) == 0) nap(500 + draw(mine, 3000));
      break;
    case 6: {
      while ((n = ibv_poll_cq(cq, 1, wc)) == 0 && (n = ibv_poll_cq(other, 1, wc)) == 0) {
      }
      say("one of two queues at %lld", (long long)now_ns());
      break;
    }
    case 7:
      while (*counter < target && (n = ibv_poll_cq(cq, 8, wc)) == 0) {
      }
      break;
    case 8: {
      const volatile uint32_t* const watched = flag((int)draw(mine, 8));
      const uint32_t seen = *watched;
      while (*watched == seen && (n = ibv_poll_cq(cq, 1, wc)) == 0) {
      }
      break;
    }
    case 9: {
      uint64_t last = 0;
      while (*counter < target && (n = ibv_poll_cq(cq, 1, wc)) == 0) last = __rdtsc();
      say("polled until counter %llu", (unsigned long long)last);
      break;
    }
    case 10: {
      MUST(ibv_req_notify_cq(cq, 0) == 0);
      n = ibv_poll_cq(cq, 8, wc);
      if (n == 0) {
        struct ibv_cq* source;
        void* cookie;
        if (draw(mine, 2) == 0) {
          struct pollfd ready = {my.channel->fd, POLLIN, 0};
          while (poll(&ready, 1, 1000) <= 0) {
          }
        }
        MUST(ibv_get_cq_event(my.channel, &source, &cookie) == 0);
        ibv_ack_cq_events(source, 1);
        say("event of queue %ld", (long)(intptr_t)cookie);
        n = ibv_poll_cq(cq, 8, wc);
      }
      break;
    }
    case 12: {
      struct ibv_cq* const ring[] = {cq, other, cq, other, other};
      const unsigned count = 3 + (unsigned)draw(mine, 3);
      unsigned next = 0;
      while ((n = ibv_poll_cq(ring[next], 2, wc)) == 0) next = next + 1 < count ? next + 1 : 0;
      say("place %u of a ring of %u at %lld", next, count, (long long)now_ns());
      break;
    }
    case 13: {
      // A flag read between two polls, and after the second, may have been written by the other end or not yet.
      const volatile uint32_t* const watched = flag((int)draw(mine, 8));
      const uint32_t seen = *watched;
      uint32_t between = seen, after = seen;
      while ((n = ibv_poll_cq(cq, 1, wc)) == 0 && (between = *watched) == seen &&
             (n = ibv_poll_cq(other, 1, wc)) == 0 && (after = *watched) == seen) {
      }
      say("flag %08x %08x %08x at %lld", seen, between, after, (long long)now_ns());
      break;
    }
    default:
      for (turns = 0; turns < 50 && *counter < target && n == 0; ++turns) {
        n = look(cq, 1);
        dawdle((int)draw(mine, 2));
        if (n > 0) n = 0, turns = 50;
      }
      break;
  }
  MUST(n >= 0);
  for (int i = 0; i < n; ++i) book(&wc[i]);
}

void wait_for_completions(struct connection* c, const uint64_t* counter, uint64_t target) {
  while (__atomic_load_n(counter, __ATOMIC_SEQ_CST) < target) wait_once(c, counter, target);
}

void wait_for_flag(int index, uint32_t value) {
  volatile uint32_t* const place = flag(index);
  int turns = 0;
  switch (draw(mine, 7)) {
    case 0:
      while (*place < value) {
      }
      break;
    case 1:
      while (*place < value) _mm_pause();
      break;
    case 2: {
      // Any of the flags' lowest bytes, as a program with many peers looks around.
      uint32_t highest;
      do {
        highest = 0;
        for (int i = 0; i < 4; ++i) highest |= *flag(i);
      } while (*place < value || highest == 0xffffffff);
      break;
    }
    case 3:
      while (*place < value) {
        ++turns;
        sched_yield();
      }
      say("yielded %d times", turns);
      break;
    case 4: {
      int64_t last = 0;
      while (*place < value) last = now_ns(), ++turns;
      say("%d clock reads, last %lld", turns, (long long)last);
      break;
    }
    case 5:
      while (*place < value) {
        look(my.connections[0].cq, 1);
        ++turns;
      }
      say("%d polls", turns);
      break;
    default:
      while (*place < value) nap(1000);
      break;
  }
  say("flag %d is %u at %lld, view %08x", index, *place, (long long)now_ns(), view());
}
