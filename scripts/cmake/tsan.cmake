# Data races. clang 14, which also keeps the tree clean under a second compiler.
set(CMAKE_C_COMPILER clang CACHE STRING "")
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g" CACHE STRING "")
set(FGPU_SANITIZE "thread" CACHE STRING "")
