# Installs what a wheel contains, as the component `python`: the package, and in its folder the program with its
# configs and states, and Tandem's libraries. LibTorch comes from the package torch, which pip installs beside it.
# scripts/wheel adds the libraries from Debian, so that the wheel runs elsewhere.
set(wheel_libraries tandem_python tandem_core tandem_torch)
if(TARGET tandem_cuda)
  list(APPEND wheel_libraries tandem_cuda)
endif()
install(TARGETS ${wheel_libraries} LIBRARY DESTINATION tandem COMPONENT python EXCLUDE_FROM_ALL)
install(TARGETS tandem RUNTIME DESTINATION tandem/bin COMPONENT python EXCLUDE_FROM_ALL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs ${PROJECT_SOURCE_DIR}/data
        DESTINATION tandem/share/tandem COMPONENT python EXCLUDE_FROM_ALL)
install(FILES ${python_files} ${package}/_torch_version.py DESTINATION tandem COMPONENT python EXCLUDE_FROM_ALL)
if(NOT SKBUILD)
  set(SKBUILD_SCRIPTS_DIR tandem_trainer-${PROJECT_VERSION}.data/scripts)
endif()
install(PROGRAMS ${CMAKE_CURRENT_SOURCE_DIR}/program.py RENAME tandem
        DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python EXCLUDE_FROM_ALL)
install(CODE [[
  set(package $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/tandem)
  file(GLOB libraries ${package}/*.so)
  execute_process(COMMAND patchelf --set-rpath "$ORIGIN:$ORIGIN/../torch/lib:$ORIGIN/../nvidia/cu13/lib" ${libraries}
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND patchelf --set-rpath "$ORIGIN/.." ${package}/bin/tandem COMMAND_ERROR_IS_FATAL ANY)
]] COMPONENT python EXCLUDE_FROM_ALL)
