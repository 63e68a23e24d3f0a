# SPDX-License-Identifier: Apache-2.0
# Pages of HTML that stand in the program as strings.

# sptc_page(<sources> <page.html> <function>)
# Appends to <sources> a file that defines sptc::<folder>::<function>(): the page, with what all pages share:
# [[HEAD]] is sim/report/head.html, [[STYLE]] in it page.css, [[ROWS]] rows.html, [[FOOT]] foot.html,
# [[SCRIPT]] in it page.js, and [[END]] end.html.
function(sptc_page sources page function)
  file(READ "${page}" SPTC_PAGE_TEXT)
  set(shared "${PROJECT_SOURCE_DIR}/sim/report")
  set(parts HEAD "${shared}/head.html" STYLE "${shared}/page.css" ROWS "${shared}/rows.html" FOOT "${shared}/foot.html"
      END "${shared}/end.html" SCRIPT "${shared}/page.js")
  get_filename_component(folder "${page}" DIRECTORY)
  while(parts)
    list(POP_FRONT parts place file)
    file(READ "${file}" text)
    string(STRIP "${text}" text)
    string(REPLACE "[[${place}]]" "${text}" SPTC_PAGE_TEXT "${SPTC_PAGE_TEXT}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  endwhile()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${page}")
  set(SPTC_PAGE_FUNCTION "${function}")
  file(RELATIVE_PATH SPTC_PAGE_NAMESPACE "${PROJECT_SOURCE_DIR}/sim" "${folder}")
  string(REPLACE "/" "::" SPTC_PAGE_NAMESPACE "${SPTC_PAGE_NAMESPACE}")
  configure_file("${PROJECT_SOURCE_DIR}/sim/report/page.cpp.in" "${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp" @ONLY)
  set(${sources} ${${sources}} "${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp" PARENT_SCOPE)
endfunction()
