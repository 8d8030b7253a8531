/* SPDX-License-Identifier: Apache-2.0
 *
 * Linked into tests that crash simulated processes: a crash abandons the memory of
 * a process, so nobody looks for leaks. ASan asks this function.
 */
int __lsan_is_turned_off(void);

int
__lsan_is_turned_off(void)
{
  return 1;
}
