# Generates tandem/interface_version.h, the version of the plug-in interface. A plug-in that was
# compiled with other public headers must not be loaded, so the version is a hash of the headers
# without their comments.
set(TANDEM_INTERFACE_INCLUDE ${PROJECT_BINARY_DIR}/include)
file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/tandem/*.h)
set(text "")
foreach(header ${public_headers})
  file(READ ${header} content)
  string(REGEX REPLACE "//[^\n]*" "" content "${content}")
  string(APPEND text "${content}")
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${public_headers})
string(REGEX REPLACE "[ \t\r\n]+" " " text "${text}")
string(SHA256 hash "${text}")
string(SUBSTRING ${hash} 0 12 TANDEM_INTERFACE_VERSION)
configure_file(${CMAKE_CURRENT_LIST_DIR}/interface_version.h.in
               ${TANDEM_INTERFACE_INCLUDE}/tandem/interface_version.h @ONLY)
