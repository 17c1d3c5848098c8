# Installs files where Unix users expect them, and makes a Debian package.  Completions are generated from the
# programs' own tables of flags; a page of man1 is installed with its program.  Programs that were not built are left
# out: the quickstart builds only two.
include(GNUInstallDirs)
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)

# The package of a build with PS_CUDA has a name of its own, and takes the place of the other: they have the same files.
set(CPACK_PACKAGE_NAME pskit)
if(PS_CUDA)
  set(CPACK_PACKAGE_NAME pskit-cuda)
endif()
set(PS_DOC_DIR ${CMAKE_INSTALL_DATAROOTDIR}/doc/${CPACK_PACKAGE_NAME})

# build/completion/SHELL/FILE, installed into the folder where that shell looks.
function(ps_completion program shell file destination)
  set(output ${CMAKE_BINARY_DIR}/completion/${shell}/${file})
  add_custom_command(OUTPUT ${output} DEPENDS ${program}
                     COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/completion/${shell}
                     COMMAND ${program} --dump-completion ${shell} > ${output}
                     COMMENT "Completion of ${program} for ${shell}")
  add_custom_target(completion_${program}_${shell} ALL DEPENDS ${output})
  install(FILES ${output} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/${destination} OPTIONAL)
endfunction()

foreach(program ${PS_PROGRAMS})
  install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)
  install(FILES ${CMAKE_SOURCE_DIR}/man/man1/${program}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
  ps_completion(${program} bash ${program} bash-completion/completions)
  ps_completion(${program} zsh _${program} zsh/vendor-completions)
  ps_completion(${program} fish ${program}.fish fish/vendor_completions.d)
endforeach()

foreach(section 5 7)
  file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/man/man${section}/*.${section})
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
# The tour by the name that people try: man pskit.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/man/pskit.7 CONTENT ".so man7/ps.7\n")
install(FILES ${CMAKE_BINARY_DIR}/man/pskit.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/share/jobs ${CMAKE_SOURCE_DIR}/share/recipes
        ${CMAKE_SOURCE_DIR}/share/launch ${CMAKE_SOURCE_DIR}/share/plots
        DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/pskit USE_SOURCE_PERMISSIONS)
install(PROGRAMS ${CMAKE_SOURCE_DIR}/share/heter_bars.sh ${CMAKE_SOURCE_DIR}/share/heter_plan.sh
        ${CMAKE_SOURCE_DIR}/share/heter_places.sh ${CMAKE_SOURCE_DIR}/share/heter_gpu.sh
        DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/pskit)
# Where systemd looks for the units of packages; it finds programs by name in /usr/local/bin and /usr/bin.
install(FILES ${CMAKE_SOURCE_DIR}/share/systemd/ps-serve@.service ${CMAKE_SOURCE_DIR}/share/systemd/ps-train@.service
        DESTINATION lib/systemd/system)

# The schema of job files, for editors, comes from the same specs that parse them.
set(schema ${CMAKE_BINARY_DIR}/schema/job.schema.json)
add_custom_command(OUTPUT ${schema} DEPENDS ps-train
                   COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/schema
                   COMMAND ps-train --print-schema > ${schema}
                   COMMENT "JSON Schema of job files")
add_custom_target(schema ALL DEPENDS ${schema})
install(FILES ${schema} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/pskit/schema OPTIONAL)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${PS_DOC_DIR})

# Rewrites what is generated in the manual pages.
add_custom_target(pages COMMAND ${CMAKE_SOURCE_DIR}/man/update.sh ${CMAKE_BINARY_DIR}/bin DEPENDS ${PS_PROGRAMS})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "The pskit authors")
set(CPACK_PACKAGE_CONTACT "The pskit authors <pskit@pskit.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "sparse training with parameter servers")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "A toolkit of small programs for training very sparse, very large models:
they read a job file, flags and pipes, keep the parameters in their own process
or on servers, and write models that other tools read.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
if(PS_CUDA)
  # NVIDIA's packages have the version of CUDA in their names, and dpkg-shlibdeps does not name libcublas where it was
  # installed without a package, so it is named here.  The driver comes with the GPU.
  string(REGEX MATCH "^([0-9]+)\\.([0-9]+)" cuda "${CUDAToolkit_VERSION}")
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libcublas-${CMAKE_MATCH_1}-${CMAKE_MATCH_2}")
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CUDAToolkit_LIBRARY_DIR})
  set(CPACK_DEBIAN_PACKAGE_PROVIDES "pskit (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
  set(CPACK_DEBIAN_PACKAGE_CONFLICTS pskit)
  set(CPACK_DEBIAN_PACKAGE_REPLACES pskit)
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${CPACK_PACKAGE_DESCRIPTION_SUMMARY}, on NVIDIA GPUs too")
endif()
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/share/cmake/debian/stage.cmake)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS ${CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
include(CPack)
