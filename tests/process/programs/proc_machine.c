// Machine information in /proc and /sys: uptime agrees with the clock, processors with sysconf, memory with
// sysinfo.
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tests/process/expect.h"

static char text[65536];
static const char* content_of(const char* path) {
  FILE* const file = fopen(path, "r");
  EXPECT(file != NULL);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  EXPECT(fclose(file) == 0);
  return text;
}

static long value_of(const char* name) {
  const char* const line = strstr(text, name);
  EXPECT(line != NULL);
  return strtol(line + strlen(name), NULL, 10);
}

int main(void) {
  double uptime, idle;
  EXPECT(sscanf(content_of("/proc/uptime"), "%lf %lf", &uptime, &idle) == 2);
  const double now = clock_ns(CLOCK_BOOTTIME) / 1e9;
  printf("uptime is the boot clock's: %d\n", uptime <= now && uptime > now - 1);
  sleep_ms(200);
  double later;
  EXPECT(sscanf(content_of("/proc/uptime"), "%lf", &later) == 1);
  printf("it goes on: %d\n", later - uptime >= 0.19 && later - uptime < 2);
  content_of("/proc/stat");
  const long boot = value_of("\nbtime ");
  const long expected = (long)(clock_ns(CLOCK_REALTIME) / 1000000000 - clock_ns(CLOCK_BOOTTIME) / 1000000000);
  printf("boot time: %d\n", labs(boot - expected) <= 2);
  int processors = 0;
  for (const char* line = text; (line = strstr(line, "\ncpu")) != NULL; ++line) ++processors;
  printf("processors of /proc/stat: %d\n", processors == sysconf(_SC_NPROCESSORS_CONF));
  cpu_set_t set;
  EXPECT(sched_getaffinity(0, sizeof set, &set) == 0);
  printf("affinity: %d\n", CPU_COUNT(&set) >= 1 && CPU_COUNT(&set) <= sysconf(_SC_NPROCESSORS_CONF));
  struct sysinfo info;
  EXPECT(sysinfo(&info) == 0);
  content_of("/proc/meminfo");
  printf("memory: %d\n", value_of("MemTotal:") == (long)(info.totalram / 1024 * info.mem_unit));
  float load[3];
  int running, all, last;
  EXPECT(sscanf(content_of("/proc/loadavg"), "%f %f %f %d/%d %d", load, load + 1, load + 2, &running, &all,
                &last) == 6);
  printf("load: %d\n", running >= 1 && all >= 1 && last > 0);
  struct utsname name;
  EXPECT(uname(&name) == 0);
  content_of("/proc/sys/kernel/hostname");
  printf("host name: %d\n", strncmp(text, name.nodename, strlen(name.nodename)) == 0);
  content_of("/proc/sys/kernel/osrelease");
  printf("release: %d\n", strncmp(text, name.release, strlen(name.release)) == 0);
  char first[64];
  strcpy(first, content_of("/proc/sys/kernel/random/boot_id"));
  printf("boot id: %zu, stays %d\n", strlen(first),
         strcmp(first, content_of("/proc/sys/kernel/random/boot_id")) == 0);
  strcpy(first, content_of("/proc/sys/kernel/random/uuid"));
  printf("uuid: %zu, new %d\n", strlen(first),
         strcmp(first, content_of("/proc/sys/kernel/random/uuid")) != 0);
  // nuttcp and memcached read settings of TCP, and sockperf one of IGMP; nuttcp does not check whether the file exists.
  for (const char* const* setting = (const char* const[]){"igmp_max_memberships", "tcp_adv_win_scale", "tcp_fin_timeout",
                                                         "tcp_keepalive_time", "tcp_sack", "tcp_timestamps", NULL};
       *setting != NULL; ++setting) {
    char path[64];
    snprintf(path, sizeof path, "/proc/sys/net/ipv4/%s", *setting);
    const char first_of_setting = content_of(path)[0];
    printf("%s is a number: %d\n", *setting, first_of_setting >= '0' && first_of_setting <= '9');
  }
  struct stat status;
  EXPECT(stat("/proc/stat", &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0);
  EXPECT(stat("/proc", &status) == 0 && S_ISDIR(status.st_mode) && stat("/proc/4000000", &status) == -1);
  EXPECT(stat("/sys/class/net", &status) == 0 && S_ISDIR(status.st_mode));
  EXPECT(access("/sys/class/net/lo/mtu", R_OK) == 0 && access("/sys/class/net/nothing/there", F_OK) == -1 &&
         errno == ENOENT);
  const int fd = open("/sys/class/net/lo/mtu", O_RDONLY);
  char bytes[16];
  EXPECT(read(fd, bytes, 2) == 2 && pread(fd, bytes + 2, 14, 2) > 0 && lseek(fd, 0, SEEK_SET) == 0);
  EXPECT(read(fd, bytes, 16) == 6 && memcmp(bytes, "65536\n", 6) == 0 && read(fd, bytes, 16) == 0);
  EXPECT(fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && close(fd) == 0);
  printf("mtu of lo: 65536\n");
  return 0;
}
