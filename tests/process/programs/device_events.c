// A monitor of device events, as udev's and SPDK's: nothing arrives.
#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void) {
  const int monitor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
  struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1};
  if (monitor < 0 || bind(monitor, (struct sockaddr*)&address, sizeof address) != 0) return perror("monitor"), 1;
  char event[256];
  if (recv(monitor, event, sizeof event, 0) >= 0 || errno != EAGAIN) return puts("unexpected event"), 1;
  struct pollfd wait = {.fd = monitor, .events = POLLIN};
  printf("%d events\n", poll(&wait, 1, 10));
  return close(monitor);
}
