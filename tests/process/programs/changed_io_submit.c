// io_submit: another thread changes a request, its vector and the list of requests while the file makes the
// call wait. Linux reads each once, and writes the request's key before.
#include <linux/aio_abi.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "tests/process/changed_meanwhile.h"

static int ends[2];
static aio_context_t context;
static char bytes[2][8];
static struct iovec parts[2];
static struct iocb *requests[2], *request, behind;

static void change_request(void) {
  parts[0] = (struct iovec){NULL, 1};
  parts[1].iov_len = 0;
  *request = (struct iocb){.aio_lio_opcode = 99, .aio_data = 88, .aio_key = 77, .aio_fildes = (__u32)-1};
  requests[0] = NULL;
  behind.aio_data = 6;
  EXPECT(write(ends[1], "12345678behind", 14) == 14);
}

static void unmap_request(void) {
  EXPECT(munmap(request, 4096) == 0);
  EXPECT(write(ends[1], "again", 5) == 5);
}

static void print_events(int count) {
  struct io_event events[2];
  EXPECT(syscall(SYS_io_getevents, context, count, 2, events, NULL) == count);
  for (int i = 0; i < count; ++i) printf("  data %d, result %d\n", (int)events[i].data, (int)events[i].res);
}

int main(void) {
  struct change change;
  EXPECT(pipe(ends) == 0 && syscall(SYS_io_setup, 4, &context) == 0);
  request = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(request != MAP_FAILED);
  char last[16] = "";
  parts[0] = (struct iovec){bytes[0], 4};
  parts[1] = (struct iovec){bytes[1], 4};
  *request = (struct iocb){.aio_lio_opcode = IOCB_CMD_PREADV, .aio_data = 5, .aio_fildes = (__u32)ends[0]};
  request->aio_buf = (uintptr_t)parts;
  request->aio_nbytes = 2;
  behind = (struct iocb){.aio_lio_opcode = IOCB_CMD_PREAD, .aio_data = 1, .aio_fildes = (__u32)ends[0]};
  behind.aio_buf = (uintptr_t)last;
  behind.aio_nbytes = sizeof last;
  requests[0] = request;
  requests[1] = &behind;
  pthread_t thread = change_meanwhile(&change, change_request);
  printf("io_submit: %ld\n", syscall(SYS_io_submit, context, 2, requests));
  EXPECT(pthread_join(thread, NULL) == 0);
  print_events(2);
  printf("read: %.4s %.4s %s, key %u\n", bytes[0], bytes[1], last, request->aio_key);

  *request = (struct iocb){.aio_lio_opcode = IOCB_CMD_PREAD, .aio_data = 7, .aio_fildes = (__u32)ends[0]};
  request->aio_buf = (uintptr_t)bytes[0];
  request->aio_nbytes = 8;
  requests[0] = request;
  thread = change_meanwhile(&change, unmap_request);
  printf("io_submit of a request that is unmapped meanwhile: %ld\n",
         syscall(SYS_io_submit, context, 1, requests));
  EXPECT(pthread_join(thread, NULL) == 0);
  print_events(1);
  printf("read: %.5s\n", bytes[0]);
  return 0;
}
