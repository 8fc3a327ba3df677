// Threads cancelled while they wait: in reads, sleeps, locks, accept; clean-up handlers run, masks of
// cancellation hold.
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/expect.h"

static int ends[2], listener;
static sem_t never;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int cleaned;

static void clean_up(void* what) {
  cleaned++;
  if (what != NULL) pthread_mutex_unlock(what);
}

static void in_read(void) {
  char c;
  (void)!read(ends[0], &c, 1);
}
static void in_sleep(void) { sleep(1000); }
static void in_semaphore(void) { sem_wait(&never); }
static void in_accept(void) { accept(listener, NULL, NULL); }
static void in_poll(void) { poll(NULL, 0, -1); }
static void in_wait(void) {
  waitpid(-1, NULL, 0);
  pause();
}
static void in_condition(void) {
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(clean_up, &mutex);
  while (1) pthread_cond_wait(&condition, &mutex);
  pthread_cleanup_pop(0);
}
static void in_computation(void) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  while (1) usleep(1000);
}

static void* run(void* function) {
  pthread_cleanup_push(clean_up, NULL);
  ((void (*)(void))function)();
  pthread_cleanup_pop(0);
  return NULL;
}

static void* stubborn(void* argument) {
  (void)argument;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  sleep_ms(40);
  cleaned = 100;
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  pthread_testcancel();
  return NULL;
}

int main(void) {
  EXPECT(pipe(ends) == 0 && sem_init(&never, 0, 0) == 0);
  listener = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(listen(listener, 1) == 0);
  const struct {
    const char* name;
    void (*function)(void);
  } places[] = {{"read", in_read},           {"sleep", in_sleep},
                {"sem_wait", in_semaphore},  {"accept", in_accept},
                {"cond_wait", in_condition}, {"poll", in_poll},
                {"wait", in_wait},           {"asynchronous", in_computation}};
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
    pthread_t thread;
    void* result;
    cleaned = 0;
    EXPECT(pthread_create(&thread, NULL, run, (void*)places[i].function) == 0);
    sleep_ms(20);
    EXPECT(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    printf("%s: cancelled %d, handlers %d\n", places[i].name, result == PTHREAD_CANCELED, cleaned);
  }
  pthread_t thread;
  void* result;
  EXPECT(pthread_create(&thread, NULL, stubborn, NULL) == 0);
  sleep_ms(10);
  EXPECT(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
  printf("disabled for a while: cancelled %d, after its work %d\n", result == PTHREAD_CANCELED,
         cleaned == 100);
  return 0;
}
