// File events for inotify watches (protocol/file_events.h). Changes that programs make to files in the host's
// own folders are reported, those that the runtime makes are not.
#pragma once

namespace verbatim::shim {

// Whether a program on the host watches files.
bool files_are_watched();
// Reports the events of a call that may have accessed a file.
void report_file_events();

// Scope in which the runtime itself reads or sets attributes of files, and the program changes none.
class OwnFileWork {
 public:
  OwnFileWork();
  ~OwnFileWork();
  OwnFileWork(const OwnFileWork&) = delete;
  OwnFileWork& operator=(const OwnFileWork&) = delete;

 private:
  bool watched_;
};

}  // namespace verbatim::shim
