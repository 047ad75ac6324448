# What users run.
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1" CACHE STRING "") # asserts (BUG_ON) stay on
set(FGPU_TESTS OFF CACHE BOOL "")
