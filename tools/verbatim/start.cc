#include "tools/verbatim/cli.h"

int main(int argc, char** argv) { return verbatim::cli::start(argc, argv); }
