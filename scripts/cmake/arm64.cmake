# What users of arm64 run (Grace Hopper, GB200): the release profile by Debian's cross compiler.
include(${CMAKE_CURRENT_LIST_DIR}/release.cmake)
set(CMAKE_TOOLCHAIN_FILE ${CMAKE_CURRENT_LIST_DIR}/arm64-toolchain.cmake CACHE FILEPATH "")
