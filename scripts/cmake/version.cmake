# Version strings for `fgpu version`, /version and fgpu_build_info. The commit is read when CMake configures, and a
# new commit or another branch makes it configure anew; a tree without git says "unknown".
find_package(Git QUIET)
set(FGPU_GIT_COMMIT unknown)
set(FGPU_DATE "January 1, 1970") # of the commit, in the manual pages
set(FGPU_DATE_RFC "Thu, 01 Jan 1970 00:00:00 +0000") # the same in the package's changelog
if(GIT_FOUND)
    execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --short=12 HEAD
                    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                    RESULT_VARIABLE failed)
    if(NOT failed)
        set(FGPU_GIT_COMMIT ${commit})
        execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${GIT_EXECUTABLE} show -s "--format=%cd" "--date=format:%B %-d, %Y" HEAD
                        WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE FGPU_DATE OUTPUT_STRIP_TRAILING_WHITESPACE)
        execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${GIT_EXECUTABLE} show -s --format=%cD HEAD
                        WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE FGPU_DATE_RFC OUTPUT_STRIP_TRAILING_WHITESPACE)
        execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --path-format=absolute --git-path logs/HEAD
                        WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                        OUTPUT_VARIABLE moves OUTPUT_STRIP_TRAILING_WHITESPACE)
        if(EXISTS "${moves}")
            set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${moves}")
        endif()
    endif()
endif()
add_compile_definitions(FGPU_VERSION="v${PROJECT_VERSION}")
# On one file only: a definition for all would compile everything anew after every commit.
set_source_files_properties(src/base/build_info.c PROPERTIES
                            COMPILE_DEFINITIONS "FGPU_GIT_COMMIT=\"${FGPU_GIT_COMMIT}\";FGPU_DATE=\"${FGPU_DATE}\"")
