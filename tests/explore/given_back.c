// A lock by a plain word. One thread finds the word free and takes it by a store; another one takes the word and gives it back in
// between. The first thread then overwrites the value that it has seen, and works as if nothing had happened.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { kRounds = 10 };

// The lower half is the word, the upper half counts how often the other thread has held it.
static volatile union {
  uint64_t both;
  struct {
    uint32_t owner, turns;
  } half;
} word;

static void* hold_shortly(void* unused) {
  if (word.half.owner == 0) {
    word.half.owner = 2;
    usleep(1);
    ++word.half.turns;
    word.half.owner = 0;
  }
  return unused;
}

int main(void) {
  for (int round = 0; round < kRounds; ++round) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, hold_shortly, NULL) != 0) return 2;
    const uint64_t seen = word.both;
    if ((uint32_t)seen == 0) {
      word.half.owner = 1;
      if (word.both >> 32 != seen >> 32) {
        printf("the other thread has held the word meanwhile\n");
        return 1;
      }
      word.half.owner = 0;
    }
    pthread_join(thread, NULL);
  }
  return 0;
}
