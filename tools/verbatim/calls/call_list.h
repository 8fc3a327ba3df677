// The calls of a run's programs, one line each, in the order of virtual time: the output of `--calls`.
//
// Unsuccessful polls and reads of the clock that a thread repeats without another call in between are counted
// on one line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/supervisor/spec/program_call.h"
#include "tools/verbatim/calls/call_text.h"

namespace verbatim::cli {

class CallList {
 public:
  void on_call(const supervisor::ProgramCall& told);
  // Ends the run: threads that are in a call never left it. Passes every line, with its newline, to `write`.
  void finish(const std::function<void(const std::string& line)>& write);

 private:
  struct Begun {
    std::uint64_t place = 0;
    std::int64_t time_ps = 0;
    std::uint64_t order = 0;
    std::uint32_t number = 0;  // of a system call
    CallText text;
  };
  struct Row {
    std::uint64_t more = 0;  // number of repetitions
    std::int64_t since_ps = 0, until_ps = 0;
    std::uint64_t order = 0;
    std::string one;  // line of the second call, shown if there are just two
  };
  struct Caller {
    std::string who;           // "server 1000/1002"
    std::vector<Begun> begun;  // innermost call last: a signal handler makes calls within another one
    std::map<std::string, Row> rows;
  };
  struct Line {
    std::int64_t time_ps;
    std::uint64_t order;
    std::string text;
  };

  void begin(Caller& caller, Begun begun);
  void end(Caller& caller, const supervisor::ProgramCall& told);
  void add(const Caller& caller, const Begun& begun, const std::string& rest);
  void leave(Caller& caller, std::size_t kept);
  void end_rows(Caller& caller);

  std::map<std::pair<std::uint32_t, std::uint32_t>, Caller> callers_;  // by process and thread
  std::vector<Line> lines_;
  std::uint64_t order_ = 0;
};

}  // namespace verbatim::cli
