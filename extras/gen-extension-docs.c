/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes doc/protocol-extensions.md; tests/tidy/extensions.t compares.
 */
#include "libglusterish/extension.h"

int
main(void)
{
  gi_extension_doc(stdout);
  return 0;
}
