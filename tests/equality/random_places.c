// Rounds with memory of their own. One end allocates it, in one of several kinds, registers it, and uses it
// like real programs: changes, reads, moves, unmaps and advises it, forks, deregisters it. Meanwhile the other
// end writes, reads and counts there, and sends messages to it. Some of these operations are expected to fail.
#include <fcntl.h>
#include <poll.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/equality/random_program.h"

enum {
  kPage = 4096,
  kPages = 8,
  kPlace = kPages * kPage,
  kActionsMost = 10,
  kAnswersMost = 4,
  kChildrenMost = 3,
  kThreadStack = 1 << 18,
};

enum kind { kPrivate, kShared, kMemoryFile, kFile, kFilePrivate, kOwnStack, kThreadsStack, kKinds };
enum page_state { kUsual, kReadOnly, kNotToRead, kGone };

struct action {
  enum ibv_wr_opcode opcode;
  uint32_t offset, length;
};

// Properties of a round known to both ends.
struct plan {
  int is_owner;
  enum kind kind;
  int at_address_of_its_own;  // the region's addresses are not the program's
  int actions, receives, answers;
  struct action action[kActionsMost];
};

struct place {
  const struct plan* plan;
  uint8_t* bytes;
  enum page_state pages[kPages];
  int file;
  uint64_t address;  // of the region, for work requests
  struct ibv_mr* mr;
  int answered;
  pid_t children[kChildrenMost];
  int child_count;
};

static struct connection* own(void) { return &my.connections[kOwnQp]; }
static uint8_t* page_of(const struct place* p, int page) { return p->bytes + page * kPage; }
static volatile uint64_t* word_of(const struct place* p) { return (volatile uint64_t*)p->bytes; }
static int is_stack(const struct place* p) { return p->plan->kind == kOwnStack || p->plan->kind == kThreadsStack; }
static int can_read(const struct place* p, int page) { return p->pages[page] == kUsual || p->pages[page] == kReadOnly; }
static int is_shared(const struct place* p) {
  return p->plan->kind == kShared || p->plan->kind == kMemoryFile || p->plan->kind == kFile;
}

static struct plan draw_plan(void) {
  static const enum ibv_wr_opcode opcodes[] = {IBV_WR_RDMA_WRITE,           IBV_WR_RDMA_WRITE,
                                               IBV_WR_RDMA_READ,            IBV_WR_SEND,
                                               IBV_WR_RDMA_WRITE_WITH_IMM,  IBV_WR_ATOMIC_FETCH_AND_ADD,
                                               IBV_WR_ATOMIC_CMP_AND_SWP,   IBV_WR_RDMA_WRITE};
  struct plan plan = {.is_owner = (int)draw(&my.shared, 2) == my.is_client};
  plan.kind = (enum kind)draw(&my.shared, kKinds);
  plan.at_address_of_its_own = (int)draw(&my.shared, 2);
  // Packets contain no stack addresses, because the compiler decides on the size of frames.
  if (plan.kind == kOwnStack || plan.kind == kThreadsStack) plan.at_address_of_its_own = 1;
  plan.actions = 1 + (int)draw(&my.shared, kActionsMost);
  plan.answers = (int)draw(&my.shared, kAnswersMost);
  for (int i = 0; i < plan.actions; ++i) {
    struct action* const action = &plan.action[i];
    action->opcode = opcodes[draw(&my.shared, 8)];
    action->offset = 8 * (uint32_t)draw(&my.shared, (kPlace - kPage) / 8);
    action->length = (uint32_t)draw(&my.shared, draw(&my.shared, 2) ? 64 : kPage);
    if (draw(&my.shared, 3) == 0) action->offset = 0;
    const int is_atomic =
        action->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || action->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    if (is_atomic) action->length = 8;
    plan.receives += action->opcode == IBV_WR_SEND || action->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  }
  return plan;
}

static uint8_t* mapped(void* at, size_t bytes, int flags, int file) {
  uint8_t* const found = mmap(at, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE, file, 0);
  MUST(found == at);
  return found;
}

static void* const kPlaceAddress = (void*)0x18000000;
static uint8_t* const kElsewhere = (uint8_t*)0x19000000;

static void make(struct place* p, uint8_t* stack) {
  p->file = -1;
  if (p->plan->kind == kMemoryFile) p->file = memfd_create("place", 0);
  if (p->plan->kind == kFile) p->file = open("/tmp/place", O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (p->plan->kind == kFilePrivate) p->file = open("/dev/shm/place", O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (p->file >= 0) MUST(ftruncate(p->file, kPlace) == 0);
  if (is_stack(p)) {
    p->bytes = stack;
  } else {
    const int flags = (is_shared(p) ? MAP_SHARED : MAP_PRIVATE) | (p->file < 0 ? MAP_ANONYMOUS : 0);
    p->bytes = mapped(kPlaceAddress, kPlace, flags, p->file);
  }
  memset(p->bytes, 0, kPlace);
  if (draw(mine, 2) == 0) memset(p->bytes + kPage, (int)draw(mine, 256), kPlace - kPage);
}

static const int kAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

static void register_it(struct place* p) {
  p->address = p->plan->at_address_of_its_own ? 0x700000000 : (uint64_t)(uintptr_t)p->bytes;
  p->mr = p->plan->at_address_of_its_own ? ibv_reg_mr_iova(my.pd, p->bytes, kPlace, p->address, kAccess)
                                         : ibv_reg_mr(my.pd, p->bytes, kPlace, kAccess);
  MUST(p->mr != NULL);
}

static uint32_t sum_of(const struct place* p) {
  uint32_t sum = 0;
  for (int page = 0; page < kPages; ++page) {
    if (can_read(p, page)) sum = sum * 31 + checksum(page_of(p, page), kPage);
  }
  return sum;
}

static void change(const struct place* p) {
  const int page = (int)draw(mine, kPages);
  if (p->pages[page] == kUsual) page_of(p, page)[draw(mine, kPage)] += 1 + (uint8_t)draw(mine, 255);
}

static void protect(struct place* p) {
  const int page = (int)draw(mine, kPages);
  if (p->pages[page] == kGone) return;
  static const int protections[] = {[kUsual] = PROT_READ | PROT_WRITE, [kReadOnly] = PROT_READ, [kNotToRead] = PROT_NONE};
  p->pages[page] = (enum page_state)draw(mine, kGone);
  MUST(mprotect(page_of(p, page), kPage, protections[p->pages[page]]) == 0);
}

static void take_away(struct place* p) {
  const int page = (int)draw(mine, kPages);
  if (is_stack(p)) return;
  if (p->pages[page] != kGone) {
    MUST(munmap(page_of(p, page), kPage) == 0);
    p->pages[page] = kGone;
    if (draw(mine, 2) == 0) dawdle(1);
  }
  if (draw(mine, 2) == 0) {
    mapped(page_of(p, page), kPage, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    p->pages[page] = kUsual;
  }
}

// Away for a while, or for good.
static void move(struct place* p) {
  const int page = (int)draw(mine, kPages);
  if (is_stack(p) || !can_read(p, page)) return;
  void* const there = kElsewhere + page * kPage;
  const int stays = draw(mine, 4) == 0 && p->plan->kind == kPrivate ? 4 : 0;  // MREMAP_DONTUNMAP
  MUST(mremap(page_of(p, page), kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED | stays, there) == there);
  say("moved: %08x", checksum(there, kPage));
  dawdle((int)draw(mine, 2));
  if (draw(mine, 3) == 0) {
    MUST(munmap(there, kPage) == 0);
    if (!stays) p->pages[page] = kGone;
    return;
  }
  MUST(mremap(there, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, page_of(p, page)) == page_of(p, page));
}

static void advise(struct place* p) {
  static const int advice[] = {MADV_NORMAL,   MADV_RANDOM, MADV_WILLNEED, MADV_DONTNEED,   MADV_DONTNEED,
                               MADV_DONTNEED, MADV_FREE,   MADV_REMOVE,   MADV_HUGEPAGE,   MADV_DONTFORK,
                               MADV_DOFORK,   MADV_COLD,   MADV_PAGEOUT,  MADV_MERGEABLE,  MADV_DONTDUMP,
                               22,            23};  // MADV_POPULATE_READ and _WRITE, later than some headers
  const int page = (int)draw(mine, kPages), chosen = advice[draw(mine, sizeof advice / sizeof advice[0])];
  // A copy of a process whose stack has holes would not run.
  if (is_stack(p) && chosen == MADV_DONTFORK) return;
  const int count = 1 + (int)draw(mine, (uint64_t)(kPages - page));
  const int done = madvise(page_of(p, page), (size_t)count * kPage, chosen);
  say("advice %d: %d", chosen, done == 0 ? 0 : errno);
}

static void deregister(struct place* p) {
  if (p->mr == NULL) return;
  const uint64_t how = draw(mine, 8);
  if (how < 4) {
    say("access taken: %d", ibv_rereg_mr(p->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE));
    return;
  }
  if (how < 6) return;
  MUST(ibv_dereg_mr(p->mr) == 0);
  p->mr = NULL;
  say("deregistered at %lld", (long long)now_ns());
  for (int page = 0; page < kPages; ++page) {
    if (p->pages[page] != kUsual) return;
  }
  if (how == 7) register_it(p);  // with another key
}

static void use_file(const struct place* p) {
  static uint8_t bytes[kPage];
  if (p->file < 0) return;
  const off_t at = (off_t)draw(mine, kPlace - 64);
  switch (draw(mine, 4)) {
    case 0:
      MUST(pwrite(p->file, &at, sizeof at, at) == sizeof at);
      break;
    case 1:
      say("msync: %d", msync(p->bytes, kPage, MS_SYNC));
      break;
    default:
      MUST(pread(p->file, bytes, sizeof bytes, at & ~(off_t)(kPage - 1)) == kPage);
      say("file: %08x", checksum(bytes, sizeof bytes));
  }
}

// The kernel reads and writes there.
static void use_call(const struct place* p) {
  int ends[2];
  uint8_t copy[512];
  const int page = (int)draw(mine, kPages);
  if (!can_read(p, page)) return;
  MUST(pipe(ends) == 0);
  const ssize_t written = write(ends[1], page_of(p, page), sizeof copy);
  if (draw(mine, 2) == 0 && p->pages[page] == kUsual) {
    MUST(read(ends[0], page_of(p, page) + 1024, sizeof copy) == written);
  } else {
    MUST(read(ends[0], copy, sizeof copy) == written);
    say("through a pipe: %08x", checksum(copy, sizeof copy));
  }
  close(ends[0]);
  close(ends[1]);
}

// Waits until the first word changes, or for a limited time.
static void watch(const struct place* p) {
  if (!can_read(p, 0)) return;
  const uint64_t before = *word_of(p);
  const int64_t until = now_ns() + (int64_t)draw(mine, 20000);
  uint64_t turns = 0, how = draw(mine, 3);
  while (*word_of(p) == before && now_ns() < until) {
    ++turns;
    if (how == 1) nap(700);
    if (how == 2) look(own()->cq, 1);
  }
  say("word %llx after %llu looks at %lld", (unsigned long long)*word_of(p), (unsigned long long)turns, (long long)now_ns());
}

static void count_here(const struct place* p) {
  if (p->pages[0] != kUsual) return;
  say("counted from %llx", (unsigned long long)__atomic_fetch_add((uint64_t*)p->bytes, 1u << 20, __ATOMIC_SEQ_CST));
}

static void live_as_child(struct place* p) {
  const int times = 1 + (int)draw(mine, 4);
  struct ibv_context* const context = draw(mine, 3) == 0 ? open_first_device() : NULL;
  struct ibv_cq* const idle = context != NULL ? ibv_create_cq(context, 4, NULL, NULL, 0) : NULL;
  struct ibv_wc wc;
  for (int i = 0; i < times; ++i) {
    switch (draw(mine, 6)) {
      case 0:
        nap(draw(mine, 20000));
        break;
      case 1:
        change(p);
        break;
      case 2: {
        const int64_t until = now_ns() + (int64_t)draw(mine, 15000);
        const uint64_t before = *word_of(p);
        int turns = 0;
        while (*word_of(p) == before && now_ns() < until) {
          if (idle != NULL) MUST(ibv_poll_cq(idle, 1, &wc) == 0);
          ++turns;
        }
        say("child: %d looks", turns);
        break;
      }
      case 3:
        count_here(p);
        break;
      case 4:
        if (!is_stack(p)) protect(p);  // its own page tables only
        break;
      default:
        dawdle(1);
    }
    if (!can_read(p, 0)) break;
    say("child: %08x", sum_of(p));
  }
  if (draw(mine, 8) == 0) execl("/bin/true", "true", (char*)NULL);
  _exit(0);
}

static void make_child(struct place* p) {
  if (p->child_count == kChildrenMost) return;
  for (int page = 0; page < kPages; ++page) {
    if (p->pages[page] != kUsual) return;
  }
  // The copy must have the memory that it reads.
  if (!is_stack(p)) MUST(madvise(p->bytes, kPlace, MADV_DOFORK) == 0);
  const uint64_t seed = draw(mine, 1u << 30);
  const pid_t child = fork();
  MUST(child >= 0);
  if (child == 0) {
    mine->state = seed;
    live_as_child(p);
  }
  p->children[p->child_count++] = child;
}

static void send_answer(struct place* p) {
  if (p->answered == p->plan->answers || p->mr == NULL) return;
  struct ibv_sge sge = {p->address + 8 * draw(mine, 256), 1 + (uint32_t)draw(mine, 5000), p->mr->lkey};
  struct ibv_send_wr wr = {.wr_id = ++own()->sends_posted, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
  wr.send_flags = IBV_SEND_SIGNALED;
  ++p->answered;
  MUST(ibv_post_send(own()->qp, &wr, &bad) == 0);
}

static void own_it(struct place* p) {
  struct ibv_recv_wr* bad;
  for (int i = 0; i < p->plan->receives; ++i) {
    struct ibv_sge sge = {p->address + (uint64_t)(i % (kPages - 1)) * kPage, 2 * kPage, p->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = kFirstReceive + (uint64_t)i, .sg_list = &sge, .num_sge = 1};
    ++own()->receives_posted;
    MUST(ibv_post_recv(own()->qp, &wr, &bad) == 0);
    if (p->mr != NULL && draw(mine, 8) == 0) dawdle(1);
  }
  for (int steps = 2 + (int)draw(mine, 14); steps > 0; --steps) {
    switch (draw(mine, 16)) {
      case 0:
      case 1:
        say("place: %08x", sum_of(p));
        break;
      case 2:
        change(p);
        break;
      case 3:
        protect(p);
        break;
      case 4:
        take_away(p);
        break;
      case 5:
        move(p);
        break;
      case 6:
      case 7:
        advise(p);
        break;
      case 8:
        deregister(p);
        break;
      case 9:
        make_child(p);
        break;
      case 10:
        use_file(p);
        break;
      case 11:
        send_answer(p);
        break;
      case 12:
        count_here(p);
        break;
      case 13:
        watch(p);
        break;
      case 14:
        use_call(p);
        break;
      default:
        dawdle(2);
    }
    if (draw(mine, 3) == 0) look(own()->cq, 4);
  }
  wait_for_completions(own(), &own()->sends_done, own()->sends_posted);
  say("place: %08x", sum_of(p));
}

static void use_it(const struct plan* plan) {
  struct connection* const c = own();
  struct ibv_recv_wr* bad;
  for (int i = 0; i < plan->answers; ++i) {
    struct ibv_sge sge = {(uint64_t)(uintptr_t)arrival(1, i), kSlot, my.mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = kFirstReceive + (uint64_t)i, .sg_list = &sge, .num_sge = 1};
    MUST(ibv_post_recv(c->qp, &wr, &bad) == 0);
  }
  for (int i = 0; i < plan->actions; ++i) {
    const struct action* const action = &plan->action[i];
    const int reads = action->opcode == IBV_WR_RDMA_READ || action->length == 8;
    const int signaled = i + 1 == plan->actions || draw(mine, 2);
    uint8_t* const local = reads ? arrival(0, i % kMessagesMax) : departure(0, i % kMessagesMax);
    if (!reads) local[draw(mine, 64)] += 1;
    post(c, (struct job){action->opcode, local, c->theirs.address + action->offset, action->length,
                         signaled ? IBV_SEND_SIGNALED : 0});
    if (draw(mine, 2) == 0) dawdle((int)draw(mine, 3));
    if (draw(mine, 4) == 0) wait_for_completions(c, &c->sends_done, signaled ? c->sends_posted : 0);
  }
  wait_for_completions(c, &c->sends_done, c->sends_posted);
  for (int i = 0; i < kMessagesMax; ++i) say("read %d: %08x", i, checksum(arrival(0, i), 64));
}

static void tell_events(void) {
  struct pollfd ready = {my.context->async_fd, POLLIN, 0};
  struct ibv_async_event event;
  while (poll(&ready, 1, 0) > 0) {
    MUST(ibv_get_async_event(my.context, &event) == 0);
    say("event: %s", ibv_event_type_str(event.event_type));
    ibv_ack_async_event(&event);
  }
}

static void end(struct place* p) {
  for (int i = 0; i < p->child_count; ++i) {
    int status = -1;
    MUST(waitpid(p->children[i], &status, 0) == p->children[i]);
    say("child ended: %x", (unsigned)status);
  }
  if (p->mr != NULL) MUST(ibv_dereg_mr(p->mr) == 0);
  if (!is_stack(p)) {
    MUST(munmap(p->bytes, kPlace) == 0);
    MUST(munmap(kElsewhere, kPlace) == 0);
  } else {
    MUST(mprotect(p->bytes, kPlace, PROT_READ | PROT_WRITE) == 0);
  }
  if (p->file >= 0) close(p->file);
}

static void share_round(const struct plan* plan, uint8_t* stack) {
  struct place place = {.plan = plan};
  struct ibv_cq* const cq = ibv_create_cq(my.context, 256, (void*)(intptr_t)kOwnQp, my.channel, 0);
  MUST(cq != NULL);
  memset(own(), 0, sizeof *own());
  if (plan->is_owner) {
    make(&place, stack);
    register_it(&place);
  }
  connect_queue_pair(kOwnQp, cq, IBV_ACCESS_REMOTE_ATOMIC, plan->is_owner ? place.mr->rkey : my.mr->rkey,
                     plan->is_owner ? place.address : (uint64_t)(uintptr_t)my.memory);
  barrier();
  plan->is_owner ? own_it(&place) : use_it(plan);
  barrier();
  while (look(cq, 8) > 0) {
  }
  if (plan->is_owner) say("place at the end: %08x", sum_of(&place));
  MUST(ibv_destroy_qp(own()->qp) == 0);
  own()->qp = NULL;
  while (look(cq, 8) > 0) {
  }
  if (plan->is_owner) end(&place);
  tell_events();
  MUST(ibv_destroy_cq(cq) == 0);
}

static void __attribute__((noinline)) share_own_stack(const struct plan* plan) {
  uint8_t room[kPlace + kPage];
  share_round(plan, room + (kPage - (uintptr_t)room % kPage) % kPage);
}

struct round {
  const struct plan* plan;
  struct chance* chance;
};

static void* play_round(void* argument) {
  const struct round* const round = argument;
  mine = round->chance;
  share_own_stack(round->plan);
  return NULL;
}

void place_round(void) {
  const struct plan plan = draw_plan();
  if (!plan.is_owner || !(plan.kind == kOwnStack || plan.kind == kThreadsStack)) {
    share_round(&plan, NULL);
  } else if (plan.kind == kOwnStack) {
    share_own_stack(&plan);
  } else {
    struct round round = {&plan, mine};
    void* const stack = mapped((void*)0x1c000000, kThreadStack, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1);
    pthread_attr_t attributes;
    pthread_t thread;
    MUST(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, stack, kThreadStack) == 0);
    MUST(pthread_create(&thread, &attributes, play_round, &round) == 0);
    MUST(pthread_join(thread, NULL) == 0);
    MUST(munmap(stack, kThreadStack) == 0);
  }
}
