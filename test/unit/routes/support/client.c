/* The server fixture and the blocking client of the HTTP layer's own tests. */
#include "httpd/support/client.c"
#include "httpd/support/fixture.c"
