# What a wheel contains besides the Python files: the extension, the program with its configs and states,
# and Tandem's libraries. LibTorch comes from the package torch, which pip installs beside tandem/.
# scripts/wheel adds the libraries from Debian, so that the wheel runs elsewhere.
set(wheel_libraries tandem_python tandem_core tandem_torch)
if(TARGET tandem_cuda)
  list(APPEND wheel_libraries tandem_cuda)
endif()
set_target_properties(${wheel_libraries} PROPERTIES
                      INSTALL_RPATH "$ORIGIN;$ORIGIN/../torch/lib;$ORIGIN/../nvidia/cu13/lib")
set_target_properties(tandem PROPERTIES INSTALL_RPATH "$ORIGIN/..")
set_target_properties(${wheel_libraries} tandem PROPERTIES INSTALL_RPATH_USE_LINK_PATH OFF)

install(TARGETS ${wheel_libraries} LIBRARY DESTINATION tandem COMPONENT python)
install(TARGETS tandem RUNTIME DESTINATION tandem/bin COMPONENT python)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs ${PROJECT_SOURCE_DIR}/data
        DESTINATION tandem/share/tandem COMPONENT python)
install(FILES ${package}/_torch_version.py DESTINATION tandem COMPONENT python)
install(PROGRAMS ${CMAKE_CURRENT_SOURCE_DIR}/program.py RENAME tandem
        DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
