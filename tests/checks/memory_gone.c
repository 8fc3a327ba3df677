// Removes the memory of a posted receive by the method named by the argument: `memory_gone WAY`. No peer is
// needed, because a queue pair in INIT accepts receives.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>

#include "tests/litmus/litmus.h"

enum { kSize = 64 << 10, kPage = 4096, kSmall = 256 };

static struct ibv_pd* pd;
static struct ibv_qp* qp;
static struct ibv_mr* mr;
void *keep, *keep_too;  // so that no compiler leaves allocations out

static void post_in(void* memory, size_t size) {
  mr = ibv_reg_mr(pd, memory, size, IBV_ACCESS_LOCAL_WRITE);
  MUST(mr != NULL);
  struct ibv_sge sge = {.addr = (uintptr_t)memory + size - 64, .length = 64, .lkey = mr->lkey};
  struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1}, *bad;
  MUST(ibv_post_recv(qp, &wr, &bad) == 0);
}

static void* map(int flags) {
  void* memory = mmap(NULL, kSize, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
  MUST(memory != MAP_FAILED);
  return memory;
}

// 16 KiB below what glibc keeps of a stack when its thread ends.
static void* end_with_stack_buffer(void* unused) {
  volatile char buffer[kSize];
  buffer[0] = 0;
  post_in((void*)buffer, 128);
  return unused;
}

int main(int argc, char** argv) {
  MUST(argc == 2);
  // The first free of the process is of the error of the first look, within the second.
  MUST(dlsym(RTLD_DEFAULT, "there_is_no_such_name") == NULL && dlsym(RTLD_DEFAULT, "nor_such_a_name") == NULL);
  const char* way = argv[1];
  int count;
  struct ibv_device** devices = ibv_get_device_list(&count);
  MUST(devices != NULL && count > 0);
  struct ibv_context* context = ibv_open_device(devices[0]);
  pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 16, NULL, NULL, 0);
  struct ibv_qp_init_attr init = {.send_cq = cq,
                                  .recv_cq = cq,
                                  .qp_type = IBV_QPT_RC,
                                  .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
  qp = ibv_create_qp(pd, &init);
  MUST(qp != NULL);
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  MUST(ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);

  if (strcmp(way, "thread") == 0) {
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, end_with_stack_buffer, NULL) == 0 && pthread_join(thread, NULL) == 0);
  } else if (strcmp(way, "brk") == 0) {
    char* const end = sbrk(kSize);
    post_in(end, kSize);
    MUST(sbrk(-kSize) != (void*)-1);
  } else if (strcmp(way, "shmdt") == 0) {
    void* const memory = shmat(shmget(IPC_PRIVATE, kSize, IPC_CREAT | 0600), NULL, 0);
    MUST(memory != (void*)-1);
    post_in(memory, kSize);
    MUST(shmdt(memory) == 0);
  } else {
    const int is_shared = strcmp(way, "shared_dontneed") == 0 || strcmp(way, "remove") == 0;
    char* const memory = map(is_shared ? MAP_SHARED : MAP_PRIVATE);
    post_in(memory, kSize);
    if (strcmp(way, "munmap") == 0) MUST(munmap(memory, kSize) == 0);
    if (strcmp(way, "free") == 0) {  // from within a library
      char* const large = malloc(1 << 20);
      post_in(large, 1 << 20);
      free(large);
    }
    if (strcmp(way, "free_small") == 0) {
      char* const small = malloc(kSmall);
      post_in(small, kSmall);
      free(small);
    }
    if (strcmp(way, "realloc") == 0) {  // there is no room for more where it is
      char* const small = malloc(kSmall);
      keep = malloc(kSmall);
      post_in(small, kSmall);
      keep_too = realloc(small, kSize);
    }
    if (strcmp(way, "realloc_shorter") == 0) {
      char* const block = malloc(kPage);
      keep = malloc(kSmall);
      post_in(block, kPage);
      keep_too = realloc(block, kSmall);
    }
    if (strcmp(way, "mremap") == 0) MUST(mremap(memory, kSize, kSize / 2, 0) == memory);
    if (strcmp(way, "map_over") == 0)
      MUST(mmap(memory + kSize - kPage, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
    if (strcmp(way, "dontneed") == 0 || strcmp(way, "shared_dontneed") == 0) MUST(madvise(memory, kSize, MADV_DONTNEED) == 0);
    if (strcmp(way, "remove") == 0) MUST(madvise(memory, kSize, MADV_REMOVE) == 0);
    // Methods that remove no memory of a request.
    if (strcmp(way, "beside") == 0) MUST(munmap(memory, kSize - kPage) == 0);
    if (strcmp(way, "deregistered") == 0) MUST(ibv_dereg_mr(mr) == 0 && munmap(memory, kSize) == 0);
    if (strcmp(way, "other_block") == 0) {
      char* const small = malloc(kSmall);
      char* const next = malloc(kSmall);
      post_in(small, kSmall);
      free(next);
    }
    if (strcmp(way, "block_deregistered") == 0) {
      char* const small = malloc(kSmall);
      post_in(small, kSmall);
      MUST(ibv_dereg_mr(mr) == 0);
      free(small);
    }
    if (strcmp(way, "rest_of_block") == 0) {  // the receive names the end of what is kept
      char* const block = malloc(kPage);
      keep = malloc(kSmall);
      post_in(block, kSmall);
      MUST(realloc(block, 2 * kSmall) == block);
    }
    if (strcmp(way, "refused") == 0) MUST(munmap(memory + 1, kSize) != 0);
    if (strcmp(way, "reset") == 0) {
      attributes.qp_state = IBV_QPS_RESET;
      MUST(ibv_modify_qp(qp, &attributes, IBV_QP_STATE) == 0 && munmap(memory, kSize) == 0);
    }
    if (strcmp(way, "child") == 0) {
      const pid_t child = fork();
      if (child == 0) _exit(munmap(memory, kSize));
      int status;
      MUST(waitpid(child, &status, 0) == child && status == 0);
    }
  }
  return 0;
}
