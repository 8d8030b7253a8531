/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of page/ as they are, in the read-only data of the program. The
 * assembler reads them; Makefile.inc says that they are needed.
 */
#include "programs/glusterishd/page/page.h"

#define FILE_OF(symbol, name) \
  extern const char symbol[], symbol##_end[]; \
  __asm__(".pushsection .rodata\n" \
          ".globl " #symbol ", " #symbol "_end\n" #symbol ":\n" \
          ".incbin \"" GD_PAGE_DIR "/" name "\"\n" #symbol "_end:\n" \
          ".byte 0\n" \
          ".popsection\n")

FILE_OF(gd_page_html, "page.html");
FILE_OF(gd_page_css, "page.css");
FILE_OF(gd_page_js, "page.js");
FILE_OF(gd_page_charts_js, "page-charts.js");
FILE_OF(gd_page_trace_js, "page-trace.js");
FILE_OF(gd_page_svg, "page.svg");

const struct gd_page_file gd_page_files[] = {
    {"/", "text/html; charset=utf-8", gd_page_html, gd_page_html_end},
    {"/page.css", "text/css; charset=utf-8", gd_page_css, gd_page_css_end},
    {"/page.js", "text/javascript; charset=utf-8", gd_page_js, gd_page_js_end},
    {"/page-charts.js", "text/javascript; charset=utf-8", gd_page_charts_js, gd_page_charts_js_end},
    {"/page-trace.js", "text/javascript; charset=utf-8", gd_page_trace_js, gd_page_trace_js_end},
    {"/page.svg", "image/svg+xml", gd_page_svg, gd_page_svg_end},
    {NULL},
};
