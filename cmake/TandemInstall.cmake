# `cmake --install` installs the program with its libraries, and the headers and CMake package for
# plug-ins, find_package(Tandem COMPONENTS domain), and for programs that embed training,
# find_package(Tandem COMPONENTS torch).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(installed tandem tandem_core)
foreach(target tandem_torch tandem_cuda)
  if(TARGET ${target})
    list(APPEND installed ${target})
  endif()
endforeach()
# Built files have the same search path as installed ones. If it were shorter, CMake would pad it with
# empty entries, which stand for the current folder.
set_target_properties(${installed} PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON
                                              BUILD_WITH_INSTALL_RPATH ON)
set_property(TARGET tandem APPEND PROPERTY INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(TARGETS ${installed} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
                             LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs ${PROJECT_SOURCE_DIR}/data
        DESTINATION ${CMAKE_INSTALL_DATADIR}/tandem)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tandem ${TANDEM_INTERFACE_INCLUDE}/tandem
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# The headers for programs that embed training, and all headers of src/ that they include. They go
# into a folder of their own, because only component `torch` has them.
set(TANDEM_TORCH_HEADERS config/choices.h config/config.h config/fields.h config/load.h nn/network.h
                         train/training.h)
if(TARGET tandem_torch)
  foreach(header ${TANDEM_TORCH_HEADERS})
    cmake_path(GET header PARENT_PATH layer)
    install(FILES ${PROJECT_SOURCE_DIR}/src/${header}
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tandem-torch/${layer})
  endforeach()
endif()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Tandem)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/TandemConfig.cmake.in ${PROJECT_BINARY_DIR}/TandemConfig.cmake
  INSTALL_DESTINATION ${package_folder}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TandemConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TandemConfig.cmake
              ${PROJECT_BINARY_DIR}/TandemConfigVersion.cmake DESTINATION ${package_folder})
