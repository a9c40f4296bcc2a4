# SPDX-License-Identifier: ISC
# dragoman's own configure macros: probing flags, and libraries whose absence is reported by Debian package.

# DG_TRY_CFLAGS(VARIABLE, FLAGS): adds each flag that the compiler takes to VARIABLE and substitutes it.
AC_DEFUN([DG_TRY_CFLAGS], [
  for dg_flag in $2; do
    AC_MSG_CHECKING([whether $CC takes $dg_flag])
    dg_save_CFLAGS="$CFLAGS"
    CFLAGS="$CFLAGS -Werror $dg_flag"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
      [$1="$$1 $dg_flag"; AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])])
    CFLAGS="$dg_save_CFLAGS"
  done
  AC_SUBST([$1])
])

# DG_NEED(PREFIX, PKG-CONFIG-MODULES, DEBIAN-PACKAGE): finds a library or notes what to install.
AC_DEFUN([DG_NEED], [
  PKG_CHECK_MODULES([$1], [$2], [], [
    dg_missing="$dg_missing m4_bpatsubst([$2], [ .*], [])"
    dg_missing_debs="$dg_missing_debs $3"
  ])
])

# DG_FIND_LLHTTP: by pkg-config, or as the C sources in LLHTTP_SRC, which is where Debian 12's node-llhttp installs
# them unless somebody says otherwise (quickstart does). Those are compiled from where they lie (in strict mode), never copied into this tree.
AC_DEFUN([DG_FIND_LLHTTP], [
  AC_ARG_VAR([LLHTTP_SRC], [folder of llhttp.c, api.c, http.c and llhttp.h, where there is no libllhttp])
  dg_llhttp=no
  PKG_CHECK_MODULES([LLHTTP], [libllhttp], [dg_llhttp="pkg-config"; LLHTTP_SRC=""], [
    AS_IF([test "x$LLHTTP_SRC" = x], [LLHTTP_SRC=/usr/share/llhttp])
    dg_llhttp_include="$LLHTTP_SRC"
    AS_IF([test ! -r "$LLHTTP_SRC/llhttp.h"], [dg_llhttp_include=/usr/share/include/llhttp])
    AC_MSG_CHECKING([for llhttp's sources in $LLHTTP_SRC])
    AS_IF([test -r "$LLHTTP_SRC/llhttp.c" && test -r "$dg_llhttp_include/llhttp.h"], [
      dg_llhttp="sources in $LLHTTP_SRC"
      LLHTTP_CFLAGS="-I$dg_llhttp_include"
      LLHTTP_LIBS=""
      AC_MSG_RESULT([yes])
    ], [
      AC_MSG_RESULT([no])
      LLHTTP_SRC=""
      dg_missing="$dg_missing llhttp"
      dg_missing_debs="$dg_missing_debs node-llhttp"
    ])
  ])
  AM_CONDITIONAL([DG_LLHTTP_SRC], [test "x$LLHTTP_SRC" != x])
])

# DG_FIND_WSLAY: by pkg-config, or by its header and library (Debian 12's libwslay-dev has no .pc file).
AC_DEFUN([DG_FIND_WSLAY], [
  PKG_CHECK_MODULES([WSLAY], [libwslay], [], [
    dg_save_LIBS="$LIBS"
    AC_CHECK_HEADER([wslay/wslay.h],
      [AC_CHECK_LIB([wslay], [wslay_frame_context_init], [dg_wslay=yes], [dg_wslay=no])], [dg_wslay=no])
    LIBS="$dg_save_LIBS"
    AS_IF([test "x$dg_wslay" = xyes], [WSLAY_CFLAGS=""; WSLAY_LIBS="-lwslay"],
      [dg_missing="$dg_missing wslay"; dg_missing_debs="$dg_missing_debs libwslay-dev"])
  ])
])

# DG_REPORT_MISSING: one error for everything that DG_NEED did not find.
AC_DEFUN([DG_REPORT_MISSING], [
  AS_IF([test "x$dg_missing" != x], [
    AC_MSG_ERROR([missing:$dg_missing
  On Debian and its relatives: apt-get install$dg_missing_debs])
  ])
])
