# The manual pages and the scripts of completion, which the programs write themselves (decision 0083). A tree that is
# cross-built without an emulator has none.
set(can_run_programs TRUE)
if(CMAKE_CROSSCOMPILING)
    set(can_run_programs FALSE)
    if(CMAKE_CROSSCOMPILING_EMULATOR)
        list(GET CMAKE_CROSSCOMPILING_EMULATOR 0 emulator)
        find_program(FGPU_EMULATOR ${emulator})
        if(FGPU_EMULATOR)
            set(can_run_programs TRUE)
        endif()
    endif()
endif()
if(can_run_programs)
    set(manual_dir ${CMAKE_BINARY_DIR}/man)
    set(completion_dir ${CMAKE_BINARY_DIR}/completions)
    add_custom_command(
        OUTPUT ${CMAKE_BINARY_DIR}/man.stamp
        COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual_dir} ${completion_dir}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${manual_dir} ${completion_dir}
        COMMAND fgpu man ${manual_dir}
        COMMAND fgpu-demo man ${manual_dir}
        COMMAND fgpu-node man ${manual_dir}
        COMMAND fgpu completion bash > ${completion_dir}/fgpu
        COMMAND fgpu completion zsh > ${completion_dir}/_fgpu
        COMMAND fgpu completion fish > ${completion_dir}/fgpu.fish
        COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/man.stamp
        DEPENDS fgpu fgpu-demo fgpu-node
        VERBATIM)
    add_custom_target(manual ALL DEPENDS ${CMAKE_BINARY_DIR}/man.stamp)
    install(DIRECTORY ${manual_dir}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1"
            PATTERN fgpu-demo.1 EXCLUDE PATTERN fgpu-apiserver.1 EXCLUDE)
    install(FILES ${manual_dir}/fgpu.yaml.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
    install(FILES ${manual_dir}/fgpu-demo.1 ${manual_dir}/fgpu-apiserver.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
            COMPONENT demo EXCLUDE_FROM_ALL)
    install(FILES ${manual_dir}/fgpu-node.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8 COMPONENT node EXCLUDE_FROM_ALL)
    install(FILES ${completion_dir}/fgpu DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${completion_dir}/_fgpu DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
    install(FILES ${completion_dir}/fgpu.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
