// No code: the target that the test executables take their precompiled headers from has to have a source.
