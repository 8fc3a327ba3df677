// Runs a command like a shell and keeps its output.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

namespace verbatim::cli {

inline const char kTopology[] = "topologies/two_hosts.json";

struct Finished {
  int code = -1;  // exit code; 128 + signal when one ended it
  std::string out, err;
};

inline std::string content_of(int fd) {
  std::string text;
  char buffer[65536];
  off_t at = 0;
  for (ssize_t n; (n = ::pread(fd, buffer, sizeof buffer, at)) > 0; at += n)
    text.append(buffer, static_cast<std::size_t>(n));
  ::close(fd);
  return text;
}

// `folder` is the working directory of the command: findings show paths as they were given. `prepare` is done in its process.
inline Finished run_command(std::vector<std::string> words, const std::string& folder = VERBATIM_SOURCE_DIR,
                            const std::function<void()>& prepare = {}) {
  const int out = ::memfd_create("out", 0);
  const int err = ::memfd_create("err", 0);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, 0);
    ::dup2(out, 1);
    ::dup2(err, 2);
    if (::chdir(folder.c_str()) != 0) ::_exit(126);
    if (prepare) prepare();
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  Finished result;
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = content_of(out);
  result.err = content_of(err);
  return result;
}

#ifdef VERBATIM_PROGRAM
inline Finished verbatim(std::vector<std::string> words, const std::string& folder = VERBATIM_SOURCE_DIR) {
  words.insert(words.begin(), VERBATIM_PROGRAM);
  return run_command(std::move(words), folder);
}
#endif

}  // namespace verbatim::cli
