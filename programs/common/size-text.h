/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of bytes for people.
 */
#ifndef PROG_SIZE_TEXT_H
#define PROG_SIZE_TEXT_H

char *cli_size_text(unsigned long long bytes, char buf[32]); /* "1.9GB" */

#endif
