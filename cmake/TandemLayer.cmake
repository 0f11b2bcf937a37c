# tandem_layer(NAME SOURCES file... [DEPENDS layer...] [LINKS library...])
#
# One layer of Tandem. Layers are object libraries, so that a shared library holds all of them and
# the linker drops no static registration.
function(tandem_layer name)
  cmake_parse_arguments(LAYER "" "" "SOURCES;DEPENDS;LINKS" ${ARGN})
  list(TRANSFORM LAYER_DEPENDS PREPEND tandem_)
  add_library(tandem_${name} OBJECT ${LAYER_SOURCES})
  target_link_libraries(tandem_${name} PUBLIC tandem_options ${LAYER_DEPENDS} ${LAYER_LINKS})
endfunction()
