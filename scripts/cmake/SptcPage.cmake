# SPDX-License-Identifier: Apache-2.0
# Pages of HTML that stand in the program as strings.

set(SPTC_PAGE_STYLE "${PROJECT_SOURCE_DIR}/sim/report/page.css")

# sptc_page(<sources> <page.html> <function>)
# Appends to <sources> a file that defines sptc::<folder>::<function>(): the page, with the style that all pages share
# (sim/report/page.css) where it says [[STYLE]].
function(sptc_page sources page function)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${page}" "${SPTC_PAGE_STYLE}")
  file(READ "${page}" SPTC_PAGE_TEXT)
  file(READ "${SPTC_PAGE_STYLE}" style)
  string(REPLACE "[[STYLE]]" "${style}" SPTC_PAGE_TEXT "${SPTC_PAGE_TEXT}")
  set(SPTC_PAGE_FUNCTION "${function}")
  get_filename_component(SPTC_PAGE_NAMESPACE "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  configure_file("${PROJECT_SOURCE_DIR}/sim/report/page.cpp.in" "${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp" @ONLY)
  set(${sources} ${${sources}} "${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp" PARENT_SCOPE)
endfunction()
