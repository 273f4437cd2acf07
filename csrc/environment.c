/* Values of environment variables, which no message shows since they may be secrets.

   Both the current variables count and those at the import of the module: programs remove a secret
   from the environment once they have read it. */
#include "base.h"

extern char **environ;

enum { SHORTEST = 4 }; /* bytes of a value; shorter ones occur by chance in too many texts */

static char **at_start; /* never freed */

int
environment_init(void)
{
    size_t count = 0;
    while (environ != NULL && environ[count] != NULL) count++;
    if (at_start != NULL || (at_start = mem_alloc(sizeof(char *) * (count + 1))) == NULL)
        return at_start == NULL ? -1 : 0;
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(environ[i]) + 1;
        if ((at_start[i] = mem_alloc(size)) == NULL) return -1;
        memcpy(at_start[i], environ[i], size);
    }
    return 0;
}

static bool
is_in(const char *text, char *const *variables)
{
    for (; variables != NULL && *variables != NULL; variables++) {
        const char *value = strchr(*variables, '=');
        if (value != NULL && strlen(value + 1) >= SHORTEST && strstr(text, value + 1) != NULL)
            return true;
    }
    return false;
}

bool
environment_holds(const char *text)
{
    return is_in(text, environ) || is_in(text, at_start);
}
