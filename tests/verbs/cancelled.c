// Threads cancelled while they wait for events of an adapter: their clean-up handlers run, and the adapter still works.
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static int cleaned;
static void clean_up(void* arg) {
  (void)arg;
  ++cleaned;
}

static void* wait_for_completion(void* channel) {
  pthread_cleanup_push(clean_up, NULL);
  struct ibv_cq* cq;
  void* context;
  ibv_get_cq_event(channel, &cq, &context);
  pthread_cleanup_pop(0);
  return NULL;
}

static void* wait_for_trouble(void* context) {
  pthread_cleanup_push(clean_up, NULL);
  struct ibv_async_event event;
  ibv_get_async_event(context, &event);
  pthread_cleanup_pop(0);
  return NULL;
}

static int is_cancelled(void* (*body)(void*), void* argument, long wait_ns) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, argument) != 0) return 0;
  const struct timespec moment = {0, wait_ns};
  if (wait_ns > 0) nanosleep(&moment, NULL);
  void* result = NULL;
  pthread_cancel(thread);
  pthread_join(thread, &result);
  return result == PTHREAD_CANCELED;
}

int main(void) {
  struct ibv_device** devices = ibv_get_device_list(NULL);
  struct ibv_context* context = devices != NULL ? ibv_open_device(devices[0]) : NULL;
  struct ibv_comp_channel* channel = context != NULL ? ibv_create_comp_channel(context) : NULL;
  struct ibv_cq* cq = channel != NULL ? ibv_create_cq(context, 16, NULL, channel, 0) : NULL;
  if (cq == NULL) return 1;
  printf("waiting: %d %d\n", is_cancelled(wait_for_completion, channel, 1000000),
         is_cancelled(wait_for_trouble, context, 1000000));
  printf("before they wait: %d %d\n", is_cancelled(wait_for_completion, channel, 0),
         is_cancelled(wait_for_trouble, context, 0));
  printf("cleaned: %d\n", cleaned);
  struct ibv_port_attr port;
  printf("the adapter goes on: %d\n", ibv_query_port(context, 1, &port) == 0 && ibv_destroy_cq(cq) == 0 &&
                                          ibv_destroy_comp_channel(channel) == 0 && ibv_close_device(context) == 0);
  return 0;
}
