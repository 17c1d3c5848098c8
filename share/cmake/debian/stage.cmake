# Run by cpack over the staged tree: what Debian's policy asks for beyond a plain install.
file(GLOB_RECURSE usr_folders LIST_DIRECTORIES true ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*)
list(FILTER usr_folders INCLUDE REGEX "/usr$")
foreach(usr ${usr_folders})
  set(doc ${usr}/share/doc/pskit)
  # The licence is in /usr/share/common-licenses; the copyright file says so.
  file(REMOVE ${doc}/LICENSE)
  file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/copyright ${doc}/copyright)
  file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/changelog ${doc}/changelog.Debian)
  file(CHMOD ${doc}/copyright ${doc}/changelog.Debian PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  file(GLOB pages ${usr}/share/man/man*/*.[0-9])
  execute_process(COMMAND gzip -9n ${pages} ${doc}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
endforeach()
