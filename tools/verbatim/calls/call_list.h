// The calls of a run's programs, a line each, in the order of virtual time: what `--calls` writes.
//
// A call that asks in vain, or for the time, and is made again by the same thread with nothing but such calls
// between is counted: the rows of those who wait by asking are one line each.
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
  // The run is over: who is in a call has not left it. Every line with its newline, to `write`.
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
    std::uint64_t more = 0;  // behind the first
    std::int64_t since_ps = 0, until_ps = 0;
    std::uint64_t order = 0;
    std::string one;  // the second one's line: a row of two is shown as it is
  };
  struct Caller {
    std::string who;           // "server 1000/1002"
    std::vector<Begun> begun;  // the innermost last: a signal handler makes calls within another
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
