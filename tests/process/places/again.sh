#!/bin/sh
# What a script is started by lies where it always does, too.
cat /proc/$$/maps | grep -v verbatim
exec grep -c . /proc/self/maps
