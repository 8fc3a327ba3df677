// A program file with more parts than its first page can describe: each variable is in a part of its own.
#include <stdio.h>

#define PART(n) __attribute__((section(".part" #n))) volatile int part##n = n;
#define ADD(n) sum += part##n;
#define TEN(each, n) each(n##0) each(n##1) each(n##2) each(n##3) each(n##4) each(n##5) each(n##6) each(n##7) each(n##8) each(n##9)
#define ALL(each) \
  TEN(each, 1) TEN(each, 2) TEN(each, 3) TEN(each, 4) TEN(each, 5) TEN(each, 6) TEN(each, 7) TEN(each, 8)

ALL(PART)

int main(void) {
  int sum = 0;
  ALL(ADD)
  printf("%d\n", sum);
  return 0;
}
