// Events of files, for those who watch them (protocol/file_events.h): what calls of programs do to files of the host's own is
// told, what the runtime does to them is not.
#pragma once

namespace verbatim::shim {

// Whether somebody on the host does.
bool files_are_watched();
// After a call that may have touched a file, where somebody does.
void tell_file_events();

// As long as it lives, the runtime itself looks at files or sets their attributes, and the program changes none.
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
