# config/examples/*.yaml as lines of text in fgpu-demo, for `fgpu demo --scenario`: what it shows is the file
# that an admin copies. Configured anew when a file changes or a new one comes.
file(GLOB example_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/config/examples/*.yaml)
set(example_tables "")
set(example_rows "")
set(example_n 0)
foreach(file IN LISTS example_files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(name ${file} NAME)
    file(READ ${file} text)
    string(REGEX REPLACE "\n$" "" text "${text}")
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\",\n    \"" text "${text}")
    string(APPEND example_tables "static const char *const lines_${example_n}[] = {\n    \"${text}\", NULL};\n")
    string(APPEND example_rows "    {\"${name}\", lines_${example_n}},\n")
    math(EXPR example_n "${example_n} + 1")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/scenario_examples.c @ONLY CONTENT [[
/* Made of config/examples by scripts/cmake/examples.cmake. */
#include "demo/scenarios/scenario.h"

#include <string.h>

@example_tables@
static const struct {
    const char *name;
    const char *const *lines;
} examples[] = {
@example_rows@};

const char *const *scenario_example(const char *name)
{
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        if (strcmp(examples[i].name, name) == 0) {
            return examples[i].lines;
        }
    }
    return NULL;
}
]])
target_sources(fgpu_demo PRIVATE ${CMAKE_BINARY_DIR}/generated/scenario_examples.c)
