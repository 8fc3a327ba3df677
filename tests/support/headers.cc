// Empty: the target for the precompiled headers of test executables needs a source.
