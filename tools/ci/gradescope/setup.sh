#!/bin/sh
# Gradescope runs this once, as root, when it builds the image: a compiler, the verbs headers, and Verbatim.
set -eu
autograder=${AUTOGRADER:-/autograder}
prefix=${VERBATIM_PREFIX:-/opt/verbatim}
if ! command -v make >/dev/null || ! command -v cc >/dev/null || [ ! -e /usr/include/infiniband/verbs.h ]; then
  apt-get update
  apt-get install -y --no-install-recommends gcc libc6-dev make libibverbs-dev librdmacm-dev
fi
mkdir -p "$prefix"
tar -xzf "$autograder/source/verbatim.tar.gz" -C "$prefix" --strip-components=1
"$prefix/bin/verbatim" doctor
