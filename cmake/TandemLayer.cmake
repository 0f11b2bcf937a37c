# tandem_layer(NAME SOURCES file... [DEPENDS layer...] [LINKS library...])
#
# Adds one layer of Tandem. Layers are object libraries, so a shared library contains all of their
# code and the linker does not drop static registrations.
function(tandem_layer name)
  cmake_parse_arguments(LAYER "" "" "SOURCES;DEPENDS;LINKS" ${ARGN})
  list(TRANSFORM LAYER_DEPENDS PREPEND tandem_)
  add_library(tandem_${name} OBJECT ${LAYER_SOURCES})
  target_link_libraries(tandem_${name} PUBLIC tandem_options ${LAYER_DEPENDS} ${LAYER_LINKS})
endfunction()
