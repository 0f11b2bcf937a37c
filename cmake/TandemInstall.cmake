# `cmake --install` installs the program with its libraries, and the headers and CMake package that
# plug-ins need: find_package(Tandem COMPONENTS domain).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(installed tandem tandem_core)
foreach(target tandem_torch tandem_cuda)
  if(TARGET ${target})
    list(APPEND installed ${target})
  endif()
endforeach()
set_target_properties(tandem PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
set_target_properties(${installed} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
foreach(target ${installed})
  if(NOT target STREQUAL "tandem")
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
  endif()
endforeach()
install(TARGETS ${installed} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
                             LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tandem ${TANDEM_INTERFACE_INCLUDE}/tandem
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Tandem)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/TandemConfig.cmake.in ${PROJECT_BINARY_DIR}/TandemConfig.cmake
  INSTALL_DESTINATION ${package_folder}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TandemConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TandemConfig.cmake
              ${PROJECT_BINARY_DIR}/TandemConfigVersion.cmake DESTINATION ${package_folder})
