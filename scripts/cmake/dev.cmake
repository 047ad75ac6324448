# The inner loop: gcc, little optimisation, all unit tests.
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g3" CACHE STRING "")
