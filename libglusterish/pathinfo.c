/* SPDX-License-Identifier: Apache-2.0
 *
 * Which machines a pathinfo attribute names: see pathinfo.h.
 */
#include "libglusterish/pathinfo.h"

#include <string.h>
#include <sys/utsname.h>

bool
gi_pathinfo_names(const char *pathinfo, const char *host)
{
  size_t len = strlen(host);

  for (const char *p = strstr(pathinfo, "):"); p; p = strstr(p + 1, "):"))
    if (strncmp(p + 2, host, len) == 0 && p[2 + len] == ':')
      return true;
  return false;
}

bool
gi_pathinfo_is_here(const char *pathinfo)
{
  struct utsname uts;

  return uname(&uts) == 0 && gi_pathinfo_names(pathinfo, uts.nodename);
}
