# tandem_layer(NAME [ONLY file...] [EXCEPT file...] [DEPENDS layer...]
#              [LINKS library...])
#
# Adds one layer of Tandem: every source of the folder NAME, or some sources. Layers are
# object libraries, so a shared library contains all of their code and the linker does not drop
# static registrations.
function(tandem_layer name)
  cmake_parse_arguments(LAYER "" "" "ONLY;EXCEPT;DEPENDS;LINKS" ${ARGN})
  if(LAYER_ONLY)
    set(sources ${LAYER_ONLY})
  else()
    file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${name}/*.cc)
    list(REMOVE_ITEM sources "" ${LAYER_EXCEPT})
  endif()
  list(TRANSFORM LAYER_DEPENDS PREPEND tandem_)
  add_library(tandem_${name} OBJECT ${sources})
  target_link_libraries(tandem_${name} PUBLIC tandem_options ${LAYER_DEPENDS} ${LAYER_LINKS})
endfunction()
