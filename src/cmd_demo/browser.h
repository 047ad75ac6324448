/* cmd_demo/browser.h - shows the web page of the demonstration in the user's browser, if there is one. */
#ifndef CMD_DEMO_BROWSER_H
#define CMD_DEMO_BROWSER_H

#include <stdbool.h>

/* Starts xdg-open with `url` and does not wait for it. False: nobody would see a browser (no display and no BROWSER in
 * the environment, or standard output is no terminal), or xdg-open cannot be started. */
bool browser_open(const char *url);

#endif
